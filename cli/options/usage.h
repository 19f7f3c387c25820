// The command line around CLI11: spellings it does not know, and its errors in cleave's words.
#pragma once

#include <string>
#include <vector>

#include "cli/terminal/exit_code.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace cleave {

// The arguments in CLI11's order (last first), with underscores in option names turned into dashes:
// the reference system writes --min_acc_module_size.
std::vector<std::string> arguments_for_cli11(std::vector<std::string> arguments);

// What is wrong with the values of the command's options, although each can be parsed: a file or
// folder with an empty name. "" when all are valid.
std::string fault_of_values(CLI::App& command);

// Prints help or version if asked for; otherwise an error on standard error, with the nearest
// option or command, or the line of the configuration file. `arguments` are those of the command
// line. Returns the exit code: 0 or 2.
ExitCode report_usage(const CLI::App& app, const CLI::ParseError& error,
                      const std::vector<std::string>& arguments);

}  // namespace cleave
