// Where output goes: reports to standard output, all else to standard error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/terminal/exit_code.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

// Thrown by write_stdout when standard output cannot be written, with the system's words.
struct OutputFailed {
  std::string why;
  std::vector<std::string> written = {};  // files and folders that are nevertheless complete
};

// Thrown by write_stdout, before it writes, when an input has changed since it was read: the report
// would describe a file that no longer exists. main exits with 3.
struct InputChanged {
  std::string path;
};

// Writes all of the text to standard output. If the reader has gone (`cleave draw ... | head`), the
// rest is dropped, and the exit code is that of the work. `written` lists what the command has
// written before and is complete. With GITHUB_ACTIONS set, names cannot act as commands to the
// runner: see ci_text.h.
void write_stdout(std::string_view text, const std::vector<std::string>& written = {});
// The same for a text that is meant as commands to the runner.
void write_commands(std::string_view text, const std::vector<std::string>& written = {});

// Prints diagnostics to standard error, in colour if that is a terminal and NO_COLOR is not set.
void print_diagnostics(const std::vector<Diagnostic>& diagnostics);
// "cleave: error: <message>" and its notes on standard error.
void print_error(std::string_view message, const std::vector<std::string>& notes = {});
void print_warning(std::string_view message);
// Prints a line for people on standard error, unless --quiet is given.
void print_info(std::string_view message);

// True when a person watches: standard error is a terminal that can erase a line, messages are not
// turned off, and standard output is not a pipe, whose reader may draw on the same terminal.
bool is_progress_wanted();
// True unless --quiet is given: see print_info().
bool is_info_wanted();

// The least important messages that are printed on standard error.
enum class LogLevel { debug, info, warning, error };

struct TerminalOptions {
  LogLevel level = LogLevel::info;
};
void set_up_terminal(const TerminalOptions& options);

// Prints the diagnostics and returns the exit code: `code`, or bad_input if an input has changed in
// the meantime.
ExitCode refuse(const std::vector<Diagnostic>& diagnostics, ExitCode code = ExitCode::bad_input);

}  // namespace cleave
