// The terminal and its progress bar.
#include "cli/terminal/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

#include "formats/base/files.h"
#include "formats/base/text.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- terminal ----

namespace {

TerminalOptions g_options;

bool is_colour_wanted(int fd) {
  const char* const no_color = std::getenv("NO_COLOR");
  if (g_options.colour != Colour::automatic) return g_options.colour == Colour::always;
  return (no_color == nullptr || *no_color == '\0') && ::isatty(fd) == 1;
}

// COLUMNS is what the user says of the terminal; in a pipe no line is broken, whatever it says.
Screen screen_of(int fd) {
  Screen screen{.has_colour = is_colour_wanted(fd)};
  winsize size{};
  if (::isatty(fd) != 1) return screen;
  const bool is_known = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  screen.columns = is_known ? size.ws_col : 80;
  screen.rows = is_known && size.ws_row > 0 ? size.ws_row : 24;
  const char* const columns = std::getenv("COLUMNS");
  const long stated = columns == nullptr ? 0 : std::strtol(columns, nullptr, 10);
  if (stated > 0) screen.columns = static_cast<std::size_t>(stated);
  return screen;
}

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// On GitHub printed text may contain commands: formats/base/text.h has the forms.
bool is_read_by_ci() {
  const char* const actions = std::getenv("GITHUB_ACTIONS");
  return actions != nullptr && *actions != '\0';
}

void log_lines(spdlog::level::level_enum level, std::string_view text) {
  std::string safe;
  if (is_read_by_ci()) text = safe = without_ci_commands(text);
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  spdlog::log(level, "{}", text);
}

// Another process may have set the descriptor to non-blocking: waits until it can be written.
void wait_for_room(int fd) {
  ::pollfd room = {.fd = fd, .events = POLLOUT, .revents = 0};
  ::poll(&room, 1, -1);
}

}  // namespace

void write_stdout(std::string_view text, const std::vector<std::string>& written_before) {
  const Screen screen = screen_of(STDOUT_FILENO);
  const bool is_plain = g_options.is_document || (screen.columns == 0 && !screen.has_colour);
  write_document(is_plain ? text : shown_on(text, screen), written_before);
}

void write_document(std::string_view text, const std::vector<std::string>& written_before) {
  if (!is_read_by_ci()) return write_commands(text, written_before);
  write_commands(without_ci_commands(text), written_before);
}

void write_commands(std::string_view text, const std::vector<std::string>& written_before) {
  if (const char* const changed = changed_input()) throw InputChanged{changed};
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EPIPE) {
      return;
    } else if (errno == EAGAIN) {
      wait_for_room(STDOUT_FILENO);
    } else if (errno != EINTR) {
      throw OutputFailed{std::strerror(errno), written_before};
    }
  }
}

std::size_t stdout_columns() {
  const std::size_t columns = screen_of(STDOUT_FILENO).columns;
  return columns > 0 ? columns : kTextColumns;
}

void print_diagnostics(const std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic diagnostic : diagnostics) {
    if (diagnostic.file.empty()) diagnostic.file = "cleave";
    const bool error = diagnostic.severity == Severity::error;
    log_lines(error ? spdlog::level::err : spdlog::level::warn, format_diagnostic(diagnostic));
  }
}

void print_error(std::string_view message, const std::vector<std::string>& notes) {
  log_lines(spdlog::level::err, "cleave: error: " + escaped_lines(message));
  for (const std::string& note : notes) {
    log_lines(spdlog::level::err, "note: " + escaped_lines(note));
  }
}

void print_warning(std::string_view message) {
  log_lines(spdlog::level::warn, "cleave: warning: " + escaped_lines(message));
}

void print_info(std::string_view message) {
  log_lines(spdlog::level::info, escaped_lines(message));
}

namespace {

// True unless --quiet is given: see print_info().
bool is_info_wanted() { return spdlog::should_log(spdlog::level::info); }

// True when a person watches: standard error is a terminal that can erase a line, messages are not
// turned off, and standard output is not a pipe, whose reader may draw on the same terminal.
bool is_progress_wanted() {
  const char* const terminal = std::getenv("TERM");
  const bool can_erase = terminal != nullptr && std::string_view(terminal) != "dumb";
  struct stat output {};
  const bool is_pipe = ::fstat(STDOUT_FILENO, &output) == 0 && S_ISFIFO(output.st_mode);
  return can_erase && !is_pipe && ::isatty(STDERR_FILENO) == 1 && is_info_wanted();
}

}  // namespace

void set_up_terminal(const TerminalOptions& options) {
  g_options = options;
  const auto mode =
      is_colour_wanted(STDERR_FILENO) ? spdlog::color_mode::always : spdlog::color_mode::never;
  auto sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_st>(mode);
  auto logger = std::make_shared<spdlog::logger>("cleave", sink);
  logger->set_pattern("%^%v%$");
  logger->set_level(level_of(options.level));
  spdlog::set_default_logger(std::move(logger));
}

ExitCode refuse(const std::vector<Diagnostic>& diagnostics, ExitCode code) {
  print_diagnostics(diagnostics);
  return changed_input() != nullptr ? ExitCode::bad_input : code;
}

// ---- progress bar ----

namespace {

// A task is shown after this time, if it will take at least kLeastSeconds.
constexpr double kSecondsUnseen = 0.4;
constexpr double kLeastSeconds = 1;
// Ten times a second looks steady and costs nothing; in a log, a line each half minute shows that
// the work goes on without filling it.
constexpr double kSecondsBetween = 0.1;
constexpr double kSecondsBetweenLines = 30;

void write_stderr(const std::string& text) {
  // A lost terminal is no reason to stop the work.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

ProgressBar::ProgressBar(std::string subject, InLog in_log)
    : subject_(std::move(subject)), in_log_(in_log) {}

ProgressBar::~ProgressBar() { erase(); }

void ProgressBar::erase() {
  if (is_shown_) write_stderr("\r\x1b[K");
  is_shown_ = false;
}

Progress ProgressBar::observer() {
  if (is_progress_wanted()) return [this](const WorkDone& work) { show(work); };
  if (in_log_ == InLog::nothing || !is_info_wanted()) return {};
  begin_ = Clock::now();
  ticker_.emplace(kSecondsBetweenLines, [this] { write_line(); });
  return [this](const WorkDone& work) { note(work); };
}

void ProgressBar::note(const WorkDone& work) {
  const std::lock_guard lock(mutex_);
  task_ = work.task;
  unit_ = work.unit;
  done_ = work.done;
  total_ = work.total;
}

void ProgressBar::write_line() {
  const std::lock_guard lock(mutex_);
  const WorkDone work{task_, unit_, done_, total_};
  write_stderr(log_line(work, subject_, seconds_between(begin_, Clock::now())) + "\n");
}

void ProgressBar::show(const WorkDone& work) {
  const Clock::time_point now = Clock::now();
  if (task_ != work.task || work.done < done_) {
    task_ = work.task;
    task_begin_ = now;
    shown_at_ = {};
  }
  done_ = work.done;
  const double seconds = seconds_between(task_begin_, now);
  const bool is_long =
      seconds * static_cast<double>(work.total) >= kLeastSeconds * static_cast<double>(work.done);
  if (seconds < kSecondsUnseen || !is_long) return;
  if (seconds_between(shown_at_, now) < kSecondsBetween) return;
  shown_at_ = now;
  is_shown_ = true;
  // The last column stays free: some terminals wrap when it is written. A terminal that has gone has none.
  const std::size_t columns = std::max<std::size_t>(screen_of(STDERR_FILENO).columns, 1) - 1;
  write_stderr("\r" + progress_line(work, subject_, seconds, columns) + "\x1b[K");
}

}  // namespace cleave
