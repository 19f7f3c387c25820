// The numbers of the CPU, the accelerator and the link in reports.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/cost/device.h"
#include "formats/base/json/text.h"

namespace cleave {

// The field "machine" of reports: a number that is unknown is null. Calibrated times are left out.
void write_machine(JsonText& json, const Machine& machine);

// What differs between two machines: "launch: 9 ms, was 500 us".
std::vector<std::string> changed_numbers(const Machine& before, const Machine& now);

// "times (--costs, --target): all on the CPU 30 ms, was 20 ms"; "" when they are equal or unknown.
std::string changed_times(std::optional<double> was_us, std::optional<double> is_us);

}  // namespace cleave
