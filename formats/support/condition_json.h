// The conditions of a rule as the fields of native JSON that formats/support/condition_fields.h
// reads.
#pragma once

#include "core/support/rule.h"
#include "formats/json/text.h"

namespace cleave {

// Each writes fields of the object that is open, and nothing when the rule has none of them:
// "shapes", with ranks and dims; "inputs" where they are of one set of types for all; and those of
// condition_fields().
void write_shapes(JsonText& json, const Rule& rule);
void write_every_input(JsonText& json, const Rule& rule);
void write_condition_fields(JsonText& json, const Rule& rule);

// A list of names.
void write_types(JsonText& json, const TypeSet& types);

// A number, a text or a list of these.
void write_attribute_value(JsonText& json, const AttributeValue& value);

}  // namespace cleave
