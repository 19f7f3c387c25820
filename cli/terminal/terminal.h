// Where output goes: reports to standard output, everything else to standard error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/exit_code.h"
#include "formats/text/diagnostic.h"

namespace cleave {

// Thrown by write_stdout when standard output cannot be written, with the system's words.
struct OutputFailed {
  std::string why;
  std::vector<std::string> written = {};  // files and folders that are complete all the same
};

// Thrown by write_stdout, before it writes, when an input has changed since it was read: what would
// be told of it is true of nothing. main exits with 3.
struct InputChanged {
  std::string path;
};

// Writes the text to standard output, all of it. What nobody reads any more (`cleave draw ... |
// head`) is dropped: the exit code is that of what was done.
// `written`: what the command has written before, and is complete.
// Where GITHUB_ACTIONS is set, names in it give no orders to the runner: see ci_text.h.
void write_stdout(std::string_view text, const std::vector<std::string>& written = {});
// The same, where the text is meant to be commands to the runner.
void write_commands(std::string_view text, const std::vector<std::string>& written = {});

// Prints diagnostics to standard error, in colour when that is a terminal (and NO_COLOR is not
// set).
void print_diagnostics(const std::vector<Diagnostic>& diagnostics);
// "cleave: error: <message>" and its notes on standard error.
void print_error(std::string_view message, const std::vector<std::string>& notes = {});
void print_warning(std::string_view message);
// A line for a person on standard error; nothing with --quiet.
void print_info(std::string_view message);

// True when a person watches: standard error is a terminal that can erase a line, messages are not
// turned off, and standard output is no pipe, whose reader may draw on the same terminal.
bool is_progress_wanted();

// What is said on standard error: this and all that is more important.
enum class LogLevel { debug, info, warning, error };

struct TerminalOptions {
  LogLevel level = LogLevel::info;
};
void set_up_terminal(const TerminalOptions& options);

// Prints the diagnostics and returns the exit code they stand for: bad_input whatever `code` says
// when an input has changed meanwhile.
ExitCode refuse(const std::vector<Diagnostic>& diagnostics, ExitCode code = ExitCode::bad_input);

}  // namespace cleave
