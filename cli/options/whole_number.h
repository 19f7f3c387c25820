// Checks for number options. For an unsigned variable CLI11 reads "-3" as 2^64 - 3, and its ranges
// accept NaN, which is neither below nor above any number. It also reads "010" as 8 and "0x10" as
// 16.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <sstream>
#include <string>

namespace cleave {

// Accepts a whole number from 0 to 2^63 - 1, without leading zeros.
inline CLI::Validator whole_number() {
  const auto refusal = [](const std::string& text) -> std::string {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    const bool is_octal = text.size() > 1 && text[0] == '0';
    if (read.ec == std::errc() && read.ptr == end && number >= 0 && !is_octal) return {};
    return "\"" + text + "\" is not a whole number of 0 or more";
  };
  return {refusal, "", "whole number"};
}

// Accepts a number from `least` to `most`, but not NaN or infinities.
inline CLI::Validator finite_number(double least, double most) {
  const auto refusal = [least, most](const std::string& text) -> std::string {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end && number >= least && number <= most) return {};
    std::ostringstream range;
    range << least << " to " << most;
    return "\"" + text + "\" is not a number from " + range.str();
  };
  return {refusal, "", "finite number"};
}

}  // namespace cleave
