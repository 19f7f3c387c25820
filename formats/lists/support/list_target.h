// The numbers of the accelerator that a support list states:
//
//   "target": {"launch": "100us", "flops": "4TFLOP/s", "bandwidth": "50GB/s", "link": "gen4x4"}
#pragma once

#include <optional>
#include <string>

#include "core/cost/target_spec.h"
#include "core/support/support_list.h"
#include "formats/base/json/walk.h"

namespace cleave {

// The numbers in the list's text; nullopt when it states none, or is not JSON. Linear in the text.
std::optional<TargetSpec> list_target(const SupportList& list);

// The object as the list has it, for a list that is made from this one; "" when it states none.
std::string list_target_text(const SupportList& list);

// Reads the value of "target", and says what is wrong with it.
TargetSpec read_target_numbers(JsonWalk& json, TextFaults& faults);

}  // namespace cleave
