#include "cli/terminal/terminal.h"

#include <poll.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "formats/base/io/input_watch.h"
#include "formats/base/text/ci_text.h"

namespace cleave {
namespace {

bool colour_wanted() {
  const char* const no_color = std::getenv("NO_COLOR");
  return (no_color == nullptr || *no_color == '\0') && ::isatty(STDERR_FILENO) == 1;
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

// On GitHub printed text may contain commands: see ci_text.h.
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

bool is_progress_wanted() {
  const char* const terminal = std::getenv("TERM");
  const bool can_erase = terminal != nullptr && std::string_view(terminal) != "dumb";
  struct stat output {};
  const bool is_pipe = ::fstat(STDOUT_FILENO, &output) == 0 && S_ISFIFO(output.st_mode);
  return can_erase && !is_pipe && ::isatty(STDERR_FILENO) == 1 && is_info_wanted();
}

bool is_info_wanted() { return spdlog::should_log(spdlog::level::info); }

void set_up_terminal(const TerminalOptions& options) {
  const auto mode = colour_wanted() ? spdlog::color_mode::always : spdlog::color_mode::never;
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

}  // namespace cleave
