// A rule of a native support list, and what the list says for all of its allow rules.
#pragma once

#include <cstdint>

#include "core/support/rule.h"
#include "formats/json/walk.h"

namespace cleave {

enum class Verdict : std::uint8_t { allow, deny };

// Which of the fields that "defaults" may give a rule states itself: a bit each.
using StatedFields = std::uint32_t;

// Reads the rule at the cursor, the bare name of an op or an object, into `rule`.
StatedFields read_rule(JsonWalk& json, Verdict verdict, Rule& rule);

// Reads "defaults": the fields opset, inputs, input_shape and max_rank.
void read_defaults(JsonWalk& json, Rule& defaults);

// Gives the rule the defaults of the fields that it does not state.
void apply_defaults(const Rule& defaults, StatedFields stated, Rule& rule);

// Adds the type that is named at the cursor.
void read_type(JsonWalk& json, TypeSet& types);

}  // namespace cleave
