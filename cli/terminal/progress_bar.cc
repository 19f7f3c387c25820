#include "cli/terminal/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

#include "cli/terminal/terminal.h"
#include "formats/report/words/progress_text.h"

namespace cleave {
namespace {

// A task is shown after this time, if it will take at least kLeastSeconds.
constexpr double kSecondsUnseen = 0.4;
constexpr double kLeastSeconds = 1;
constexpr double kSecondsBetween = 0.1;
constexpr double kSecondsBetweenLines = 30;

void write_stderr(const std::string& text) {
  // A lost terminal is no reason to stop the work.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// Leaves the last column free: some terminals wrap when it is written.
std::size_t terminal_columns() {
  winsize size{};
  const bool is_known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return (is_known ? size.ws_col : std::size_t{80}) - 1;
}

double seconds_between(std::chrono::steady_clock::time_point a,
                       std::chrono::steady_clock::time_point b) {
  return std::chrono::duration<double>(b - a).count();
}

}  // namespace

ProgressBar::ProgressBar(std::string subject, InLog in_log)
    : subject_(std::move(subject)), in_log_(in_log) {}

ProgressBar::~ProgressBar() {
  if (is_shown_) write_stderr("\r\x1b[K");
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
  write_stderr("\r" + progress_line(work, subject_, seconds, terminal_columns()) + "\x1b[K");
}

}  // namespace cleave
