// Quantities as people write and read them: a number and a unit. For link bandwidths and byte
// counts see link.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cleave {

struct Quantity {
  double value = 0;                    // finite, not below 0
  std::optional<std::uint64_t> whole;  // set when it is written as a whole number that fits 64 bits
  std::string_view unit;               // the text after the number, without white space around it
};

// Parses "12", "1.5 GiB", "1e9". nullopt when the text does not begin with a number of 0 or more.
std::optional<Quantity> parse_quantity(std::string_view text);

// True for a number without a unit.
bool is_bare_number(std::string_view text);

// "", "k", "M", ... "P" are powers of 1000; "Ki", "Mi", ... are powers of 1024.
std::optional<std::uint64_t> prefix_factor(std::string_view prefix);

// Parses a duration into seconds: `12ms`, `300us`, `1.5s`, `2min`. nullopt for other units.
std::optional<double> parse_duration(std::string_view text);

// Parses a share from 0 to 1: "0.95", "95%". Returns the nearest double. nullopt for other texts.
std::optional<double> parse_share(std::string_view text);

// Parses floating-point operations per second: `10T`, `312TFLOP/s`, `1.5GFLOPS`, `1e12 FLOP/s`.
// Must be above 0 and have a unit.
std::optional<double> parse_flops_rate(std::string_view text);

// Says what is wrong with a text that is not a bandwidth (core/base/link.h) and what to write
// instead. It follows the quoted text: " has no unit: write 100GB/s or 100GiB/s, ...".
std::string bandwidth_refusal(std::string_view text);

// The number with three digits, in the first unit in which the rounded number is below `step`; the
// last unit takes what is left. Each unit is `step` times the one before. "9.19 MiB", "64 B".
std::string with_unit(double number, double step, std::span<const std::string_view> units);

// "512 B", "9.19 MiB": a number of bytes, which need not be whole.
std::string byte_amount(double bytes);

}  // namespace cleave
