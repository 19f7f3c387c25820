#include "core/base/number_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/base/decimal.h"
#include "core/base/quantity.h"

namespace cleave {

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string bytes_text(std::uint64_t bytes) { return byte_amount(static_cast<double>(bytes)); }

std::string flops_text(double flops) {
  static constexpr std::array<std::string_view, 7> kUnits = {"FLOP",  "kFLOP", "MFLOP", "GFLOP",
                                                             "TFLOP", "PFLOP", "EFLOP"};
  if (!std::isfinite(flops) || flops < 0 || flops >= 1e24) return "? FLOP";
  return with_unit(flops, 1000, kUnits);
}

std::string joules_text(double millijoules) {
  static constexpr std::array<std::string_view, 5> kUnits = {"pJ", "nJ", "uJ", "mJ", "J"};
  if (!std::isfinite(millijoules) || millijoules < 0 || millijoules >= 1e24) return "? J";
  return with_unit(millijoules * 1e9, 1000, kUnits);
}

std::string duration_text(double microseconds) {
  static constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  if (!std::isfinite(microseconds) || microseconds < 0 || microseconds >= 1e24) return "? s";
  return with_unit(microseconds * 1000, 1000, kUnits);
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return count_text(count) + " " + std::string(count == 1 ? one : many);
}

std::string counted(std::uint64_t count, std::string_view thing) {
  return count_text(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

std::string percent_text(double ratio) {
  double percent = ratio * 100;
  if (ratio < 1) percent = std::min(percent, 99.9);
  if (ratio > 0 && percent < 0.1) return "<0.1%";
  std::string digits = fixed_text(percent, 1);
  if (digits.ends_with(".0")) digits.erase(digits.size() - 2);
  return digits + "%";
}

std::string rate_text(double rate) {
  if (rate >= 100 && rate < 1e15) return count_text(static_cast<std::uint64_t>(std::llround(rate)));
  return rounded_text(rate, 3);
}

}  // namespace cleave
