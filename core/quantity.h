// Quantities as people write them: a number and a unit. Link bandwidths and bytes: see link.h.
#pragma once

#include <cstdint>
#include <optional>
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

// "", "k", "M", ... "P": powers of 1000; "Ki", "Mi", ...: of 1024.
std::optional<std::uint64_t> prefix_factor(std::string_view prefix);

// Seconds: `12ms`, `300us`, `1.5s`, `2min`. Nothing when there is no such unit.
std::optional<double> parse_duration(std::string_view text);

// Floating-point operations a second: `10T`, `312TFLOP/s`, `1.5GFLOPS`, `1e12`. Above 0.
std::optional<double> parse_flops_rate(std::string_view text);

}  // namespace cleave
