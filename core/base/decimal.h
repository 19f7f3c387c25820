// Writes real numbers as decimal digits, independent of the locale.
#pragma once

#include <string>

namespace cleave {

// The fewest digits that read back as the same number: "0.1", "1e+30".
std::string shortest_text(double number);

// `decimals` digits after the point: fixed_text(2.25, 1) is "2.2" (ties go to the even digit).
std::string fixed_text(double number, int decimals);

// `digits` digits in all, without trailing zeros, like printf's %g: rounded_text(31.508, 3) is "31.5".
std::string rounded_text(double number, int digits);

}  // namespace cleave
