#include "formats/report/words/progress_text.h"

#include <algorithm>
#include <cmath>

#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

constexpr std::size_t kMostBar = 20;  // columns between the brackets
constexpr std::size_t kLeastBar = 8;

std::string amount_text(double amount, std::string_view unit) {
  const auto whole = static_cast<std::uint64_t>(std::llround(amount));
  return unit == "bytes" ? bytes_text(whole) : count_text(whole);
}

std::string bar_of(double share, std::size_t columns) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(columns));
  return "[" + std::string(full, '#') + std::string(columns - full, '.') + "] ";
}

// "25%, 52 MiB of 208 MiB, 71 MiB/s, 3 s left"
std::string numbers_of(const WorkDone& work, double share, double seconds) {
  const auto done = static_cast<double>(work.done);
  const std::string of_unit = work.unit == "bytes" ? "" : " " + std::string(work.unit);
  std::string text = std::to_string(static_cast<int>(share * 100)) + "%, " +
                     amount_text(done, work.unit) + " of " +
                     amount_text(static_cast<double>(work.total), work.unit) + of_unit;
  if (work.done == 0 || seconds <= 0) return text;
  const double rate = done / seconds;
  const std::string per_second = rate < 10 && work.unit != "bytes"
                                     ? std::to_string(std::lround(rate * 60)) + " a minute"
                                     : amount_text(rate, work.unit) + "/s";
  return text + ", " + per_second + ", " + time_left_text(seconds / share - seconds) + " left";
}

}  // namespace

std::string time_left_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(std::clamp(seconds, 0.0, 1e9)));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return count_text(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

std::string progress_line(const WorkDone& work, std::string_view subject, double seconds,
                          std::size_t columns) {
  const double share =
      work.total == 0
          ? 0
          : std::min(1.0, static_cast<double>(work.done) / static_cast<double>(work.total));
  std::string task(work.task);
  if (!subject.empty()) task += " " + fitted(escaped(subject), 40);
  const std::string numbers = numbers_of(work, share, seconds);
  const std::size_t taken = text_columns(task) + text_columns(numbers) + std::size_t{4};
  if (columns < taken + kLeastBar) {
    return fitted(task + " " + numbers, std::max<std::size_t>(columns, 4));
  }
  return task + " " + bar_of(share, std::min(kMostBar, columns - taken)) + numbers;
}

std::string log_line(const WorkDone& work, std::string_view subject, double seconds) {
  std::string text(work.task.empty() ? "starting" : work.task);
  if (!subject.empty()) text += " " + escaped(subject);
  if (work.total > 0) {
    text += ": " + amount_text(static_cast<double>(work.done), work.unit) + " of " +
            amount_text(static_cast<double>(work.total), work.unit);
    if (work.unit != "bytes") text += " " + std::string(work.unit);
  }
  return text + ", " + time_left_text(seconds) + " so far";
}

}  // namespace cleave
