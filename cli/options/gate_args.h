// The options of `check` that set gates.
#pragma once

#include "cli/options/options.h"
#include "formats/report/check/check.h"

namespace cleave {

// The limits that are given, and what is required. Throws OptionRefused.
CheckRequest gates_of(const Given& given);
// True when a gate can fail.
bool asks_anything(const CheckRequest& gates);
// The gates with the default one of a baseline without other limits: no new CPU nodes.
CheckRequest with_default_gate(CheckRequest gates);

}  // namespace cleave
