// Checks for options that are numbers. CLI11 reads "-3" as 2^64 - 3 where the variable has no sign, and
// its ranges let NaN pass, which is neither below nor above anything.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <sstream>
#include <string>

namespace cleave {

// Holds for a whole number from 0 to 2^63 - 1.
inline CLI::Validator whole_number() {
  const auto refusal = [](const std::string& text) -> std::string {
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec == std::errc() && read.ptr == end && number >= 0) return {};
    return "\"" + text + "\" is not a whole number of 0 or more";
  };
  return {refusal, "", "whole number"};
}

// Holds for a number from `least` to `most`, which NaN and the infinities are not.
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
