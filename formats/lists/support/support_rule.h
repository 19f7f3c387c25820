// Reads a rule of a native support list, and the list's defaults for all allow rules.
#pragma once

#include <cstdint>
#include <vector>

#include "core/support/support_list.h"
#include "formats/base/json/walk.h"
#include "formats/lists/support/support_reader.h"

namespace cleave {

enum class Verdict : std::uint8_t { allow, deny };

// A bit for each field that "defaults" may give: set when the rule states it itself.
using StatedFields = std::uint32_t;

// Reads the rule at the cursor, the bare name of an op or an object, into `rule`.
StatedFields read_rule(JsonWalk& json, Verdict verdict, Rule& rule);

// Reads "defaults": the fields opset, inputs, input_shape and max_rank.
void read_defaults(JsonWalk& json, Rule& defaults);

// Gives the rule the defaults of the fields that it does not state.
void apply_defaults(const Rule& defaults, StatedFields stated, Rule& rule);

// Adds the type that is named at the cursor.
void read_type(JsonWalk& json, TypeSet& types);

// Reads a pattern of a native support list.
//
//   {"name": "conv relu", "ops": ["Conv", {"op": "Relu"}], "edges": [[0, 1]]}

// Reads the pattern at the cursor; returns the fields that each of its ops states.
std::vector<StatedFields> read_pattern(JsonWalk& json, PlaceCounter& places, Pattern& pattern);

}  // namespace cleave
