// A progress bar on standard error, for work that takes over a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/progress.h"
#include "formats/base/io/ticker.h"

namespace cleave {

// What is shown where no bar can be: a log has a line every 30 seconds of work that may take minutes.
enum class InLog : std::uint8_t { nothing, lines };

// Shows the progress that its observer receives, and erases it when it goes out of scope; nothing
// else may be printed before that. Shows no bar when standard error is not a terminal that can erase, or while
// standard output is a pipe, whose reader may draw on the same terminal; nothing at all with --quiet.
class ProgressBar {
 public:
  // `subject` is what the work is done on, such as a file's name; may be empty.
  explicit ProgressBar(std::string subject, InLog in_log = InLog::nothing);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Refers to this object; empty when there is nothing to show.
  Progress observer();

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

}  // namespace cleave
