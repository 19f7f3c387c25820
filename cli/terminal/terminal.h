// What is printed where: the terminal, progress, signals, exit codes.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/base.h"
#include "formats/base/faults.h"
#include "formats/base/process.h"

namespace cleave {

// ---- exit code ----
//
// The exit codes of the process.

enum class ExitCode {
  done = 0,
  check_failed = 1,     // a gate failed, or no stage assignment meets the constraints
  usage = 2,            // options or arguments are wrong
  bad_input = 3,        // the input is invalid or cannot be read
  cannot_write = 4,     // an output could not be written, or exists already
  external_failed = 5,  // an external program or library failed
  bug = 70,
  out_of_memory = 71,
};

// ---- terminal ----
//
// Where output goes: reports to standard output, all else to standard error.

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

// Writes all of a report to standard output; on a terminal it is shown as shown_on() says. If the reader has gone
// (`cleave draw ... | head`), the rest is dropped, and the exit code is that of the work. `written_before`: the files
// and folders that the command has written, which are complete even where this fails. With GITHUB_ACTIONS set, names
// cannot act as commands to the runner: formats/base/text.h says how.
void write_stdout(std::string_view text, const std::vector<std::string>& written_before = {});
// The same for a text that a program reads: --json, a drawing, a list. It is never shown in another way.
void write_document(std::string_view text, const std::vector<std::string>& written_before = {});
// The same for a text that is meant as commands to the runner.
void write_commands(std::string_view text, const std::vector<std::string>& written_before = {});

// How wide the terminal is that standard output is; where it is none, that of a text that is easily read.
std::size_t stdout_columns();

// Prints diagnostics to standard error, in colour if that is a terminal: see TerminalOptions.
void print_diagnostics(const std::vector<Diagnostic>& diagnostics);
// "cleave: error: <message>" and its notes on standard error.
void print_error(std::string_view message, const std::vector<std::string>& notes = {});
void print_warning(std::string_view message);
// Prints a line for people on standard error, unless --quiet is given.
void print_info(std::string_view message);

// The least important messages that are printed on standard error.
enum class LogLevel { debug, info, warning, error };

enum class Colour { automatic, always, never };

struct TerminalOptions {
  LogLevel level = LogLevel::info;
  Colour colour = Colour::automatic;  // on a terminal, unless NO_COLOR is set
  bool is_document = false;           // what write_stdout() writes is for a program
};
void set_up_terminal(const TerminalOptions& options);

// Prints the diagnostics and returns the exit code: `code`, or bad_input if an input has changed in
// the meantime.
ExitCode refuse(const std::vector<Diagnostic>& diagnostics, ExitCode code = ExitCode::bad_input);

// ---- progress bar ----
//
// A progress bar on standard error, for work that takes over a second.

// What is shown where no bar can be: a log has a line every 30 seconds of work that may take minutes.
enum class InLog : std::uint8_t { nothing, lines };

// Shows the progress that its observer receives, and erases it when it goes out of scope; nothing
// else may be printed before that. Shows no bar when standard error is not a terminal that can erase, or while
// standard output is a pipe, whose reader may draw on the same terminal; nothing at all with --quiet.
class ProgressBar : Pinned {
 public:
  // `subject` is what the work is done on, such as a file's name; may be empty.
  explicit ProgressBar(std::string subject, InLog in_log = InLog::nothing);
  ~ProgressBar();

  // Refers to this object; empty when there is nothing to show.
  Progress observer();
  // Before messages, until there is more to show.
  void erase();

 private:
  using Clock = std::chrono::steady_clock;
  void show(const WorkDone& work);
  void note(const WorkDone& work);
  void write_line();

  std::string subject_;
  InLog in_log_;
  std::string task_;  // starts again when its name changes, or the amount done decreases
  std::uint64_t done_ = 0;
  Clock::time_point task_begin_;
  Clock::time_point shown_at_;
  bool is_shown_ = false;
  // For lines in a log. The mutex guards what note() keeps: every thread that works calls it.
  std::mutex mutex_;
  Clock::time_point begin_;
  std::string unit_;
  std::uint64_t total_ = 0;
  std::optional<Ticker> ticker_;  // last: it calls write_line()
};

// ---- signals ----
//
// What the process does when a signal ends it: it removes temporaries and reports faults of inputs.

// Call this first of all.
//   SIGINT, SIGTERM, SIGHUP   and all others that end a process by default: temporaries are
//                             removed, then the signal has its usual effect; an ignored one stays
//                             ignored (nohup)
//   SIGBUS, SIGSEGV, SIGABRT  and other faults: if an input changed while it was mapped, prints that
//                             and exits with 3; else removes temporaries and ends as without a handler
//   SIGPIPE, SIGXFSZ          become errors of write()
//   no memory                 removes temporaries, prints an error and exits with 71: unwinding the
//                             stack would itself need memory
//   an exception that         removes temporaries, says that this is a bug and prints the calls that
//   nothing catches           led to it, where the C library can, and exits with 70; if an input
//                             changed, prints that and exits with 3
// Also opens those of the descriptors 0 to 2 that are closed, in a way that using them remains an
// error: a file opened later must not get the number of standard output.
void set_up_signals();

// What is printed on standard error when such a signal ends the process from now on; "": nothing.
void say_when_stopped(const std::string& text);

}  // namespace cleave
