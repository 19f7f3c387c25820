// Files that one command line would both read and write, or write twice.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace cleave {

// What is wrong with the files that the parsed command is to write: one is also read, or two are
// the same, under whatever names; or a file is also a folder that is written. "" when they can all be
// written. `app` is the program: --config is its option. Only regular files and folders count:
// /dev/null takes any number.
std::string file_clash(CLI::App& app, CLI::App& command);

// Records the files that the command's options name as inputs: see formats/io/input_record.h.
void record_inputs(CLI::App& app, CLI::App& command);

}  // namespace cleave
