// A progress bar on standard error, for work that takes over a second.
#pragma once

#include <chrono>
#include <string>

#include "core/base/progress.h"

namespace cleave {

// Shows how far work is that tells its observer, and erases what it showed when it goes out of
// scope: nothing else may be printed before. Shows nothing with --quiet, or unless standard error
// is a terminal that can erase; or while standard output is a pipe, whose reader may draw on the
// same terminal.
class ProgressBar {
 public:
  // `subject`: what the work is done on, such as a file's name; may be empty.
  explicit ProgressBar(std::string subject);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Refers to this; empty where nothing is to be shown.
  Progress observer();

 private:
  using Clock = std::chrono::steady_clock;
  void show(const WorkDone& work);

  std::string subject_;
  std::string task_;  // begins anew when its name changes, or less is done than before
  std::uint64_t done_ = 0;
  Clock::time_point task_begin_;
  Clock::time_point shown_at_;
  bool is_shown_ = false;
};

}  // namespace cleave
