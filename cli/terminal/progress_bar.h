// A progress bar on standard error, for work that takes over a second.
#pragma once

#include <chrono>
#include <string>

#include "core/base/progress.h"

namespace cleave {

// Shows the progress that its observer receives, and erases it when it goes out of scope; nothing
// else may be printed before that. Shows nothing with --quiet, when standard error is not a
// terminal that can erase, or while standard output is a pipe, whose reader may draw on the same
// terminal.
class ProgressBar {
 public:
  // `subject` is what the work is done on, such as a file's name; may be empty.
  explicit ProgressBar(std::string subject);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Refers to this object; empty when there is nothing to show.
  Progress observer();

 private:
  using Clock = std::chrono::steady_clock;
  void show(const WorkDone& work);

  std::string subject_;
  std::string task_;  // starts again when its name changes, or the amount done decreases
  std::uint64_t done_ = 0;
  Clock::time_point task_begin_;
  Clock::time_point shown_at_;
  bool is_shown_ = false;
};

}  // namespace cleave
