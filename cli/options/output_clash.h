// Files that one command line would both read and write, or write twice.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace cleave {

// What is wrong with the files that the parsed command is to write: one is also read, or two are
// the same, under whatever names. "": nothing. Only regular files count: /dev/null takes any
// number.
std::string output_clash(const CLI::App& command);

}  // namespace cleave
