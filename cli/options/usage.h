// The command line around CLI11: spellings it does not know, and its errors in our words.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/exit_code.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace cleave {

// The arguments as CLI11 wants them (last first), with underscores in option names made dashes:
// --min_acc_module_size is what the reference system calls it.
std::vector<std::string> arguments_for_cli11(std::vector<std::string> arguments);

// What is wrong with the values of the command's options, though each can be read: a file or folder
// of an empty name. "": nothing.
std::string fault_of_values(CLI::App& command);

// Prints help or version when that was asked; else what is wrong, with the nearest option or
// command, or the line of the configuration file, on standard error. `arguments` are those of the
// command line. Returns the exit code: 0 or 2.
ExitCode report_usage(const CLI::App& app, const CLI::ParseError& error,
                      const std::vector<std::string>& arguments);

}  // namespace cleave
