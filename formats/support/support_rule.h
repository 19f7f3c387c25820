// A rule of a native support list.
#pragma once

#include <cstdint>

#include "core/support/rule.h"
#include "formats/json/walk.h"

namespace cleave {

enum class Verdict : std::uint8_t { allow, deny };

// Reads the rule at the cursor, the bare name of an op or an object, into `rule`.
void read_rule(JsonWalk& json, Verdict verdict, Rule& rule);

}  // namespace cleave
