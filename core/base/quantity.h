// Quantities as people write and read them: a number and a unit. Link bandwidths and bytes: see
// link.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cleave {

// Without white space at its ends.
std::string_view trimmed(std::string_view text);

struct Quantity {
  double value = 0;                    // finite, not below 0
  std::optional<std::uint64_t> whole;  // when it is written as a whole number of 64 bits
  std::string_view unit;               // what follows, without white space around
};

// "12", "1.5 GiB", "1e9"; nothing when the text does not begin with such a number.
std::optional<Quantity> parse_quantity(std::string_view text);

// True of a number that no unit follows.
bool is_bare_number(std::string_view text);

// "", "k", "M", ... "P": powers of 1000; "Ki", "Mi", ...: of 1024.
std::optional<std::uint64_t> prefix_factor(std::string_view prefix);

// Seconds: `12ms`, `300us`, `1.5s`, `2min`. Nothing when there is no such unit.
std::optional<double> parse_duration(std::string_view text);

// Floating-point operations a second: `10T`, `312TFLOP/s`, `1.5GFLOPS`, `1e12 FLOP/s`. Above 0, and
// no bare number.
std::optional<double> parse_flops_rate(std::string_view text);

// What is wrong with a text that is no bandwidth (core/base/link.h), and what to write instead, to stand
// behind the text in quotes: " has no unit: write 100GB/s or 100GiB/s, ...".
std::string bandwidth_refusal(std::string_view text);

// The number with three digits in the first of the units in which, rounded, it stays below `step`
// (the last one takes all); a unit is `step` times the one before. "9.19 MiB", "64 B", "1.5 GiB".
std::string with_unit(double number, double step, std::span<const std::string_view> units);

// "512 B", "9.19 MiB", of a number of bytes that need not be whole.
std::string byte_amount(double bytes);

}  // namespace cleave
