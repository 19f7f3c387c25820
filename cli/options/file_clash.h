// Files that one command line would both read and write, or write twice.
#pragma once

#include <string>

#include "formats/base/text/diagnostic.h"

namespace CLI {
class App;
}

namespace cleave {

// What is wrong with the files that the parsed command writes: one is also read, or two are the
// same under any names, or a file is also a folder that is written. "" when all can be written.
// `app` is the program, which has the option --config. Only regular files and folders count:
// /dev/null may be written any number of times.
std::string file_clash(CLI::App& app, CLI::App& command);

// Records the files that the command's options name as inputs (see formats/base/io/input_record.h), and
// every file in a folder that an option names. In a folder that is an argument only the models are read:
// the command finds and records these. Error: what cannot be looked at.
Status<Diagnostics> record_inputs(CLI::App& app, CLI::App& command);

}  // namespace cleave
