#include "formats/number_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <span>
#include <string_view>
#include <system_error>

namespace cleave {
namespace {

// Three digits, without the zeros that end a fraction: "9.19", "64", "1000" stays whole.
std::string three_digits(double number) {
  const int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  std::array<char, 32> text{};
  const auto [end, fault] = std::to_chars(text.data(), text.data() + text.size(), number,
                                          std::chars_format::fixed, decimals);
  if (fault != std::errc{}) return "?";
  std::string digits(text.data(), end);
  if (decimals == 0) return digits;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits;
}

// In the first unit in which the number, rounded, stays below `step`; the last one takes all.
std::string with_unit(double number, double step, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && number >= step - 0.5) {
    number /= step;
    ++unit;
  }
  return three_digits(number) + " " + std::string(units[unit]);
}

}  // namespace

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                             "TiB", "PiB", "EiB"};
  return with_unit(static_cast<double>(bytes), 1024, kUnits);
}

std::string flops_text(double flops) {
  static constexpr std::array<std::string_view, 7> kUnits = {"FLOP",  "kFLOP", "MFLOP", "GFLOP",
                                                             "TFLOP", "PFLOP", "EFLOP"};
  if (!std::isfinite(flops) || flops < 0 || flops >= 1e24) return "? FLOP";
  return with_unit(flops, 1000, kUnits);
}

std::string duration_text(double microseconds) {
  static constexpr std::array<std::string_view, 4> kUnits = {"ns", "us", "ms", "s"};
  if (!std::isfinite(microseconds) || microseconds < 0 || microseconds >= 1e24) return "? s";
  return with_unit(microseconds * 1000, 1000, kUnits);
}

}  // namespace cleave
