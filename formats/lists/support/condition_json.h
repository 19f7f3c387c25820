// The conditions of a rule as the fields of native JSON that formats/lists/support/condition_fields.h
// reads.
#pragma once

#include "core/support/rule.h"
#include "formats/base/json/text.h"

namespace cleave {

// These three write fields of the current object, as far as the rule has them: "shapes", with ranks
// and dims; "inputs", if one set of types is for all inputs; and those of condition_fields().
void write_shapes(JsonText& json, const Rule& rule);
void write_every_input(JsonText& json, const Rule& rule);
void write_condition_fields(JsonText& json, const Rule& rule);

// Writes a list of the types' names.
void write_types(JsonText& json, const TypeSet& types);

// Writes a number, a text or a list of these.
void write_attribute_value(JsonText& json, const AttributeValue& value);

}  // namespace cleave
