// Rules and patterns of support lists as native JSON.
#pragma once

#include "core/support/support_list.h"
#include "formats/base/json/text.h"

namespace cleave {

// The conditions of a rule as the fields of native JSON that formats/lists/support/condition_fields.h
// reads.

// These three write fields of the current object, as far as the rule has them: "shapes", with ranks
// and dims; "inputs", if one set of types is for all inputs; and those of condition_fields().
void write_shapes(JsonText& json, const Rule& rule);
void write_every_input(JsonText& json, const Rule& rule);
void write_condition_fields(JsonText& json, const Rule& rule);

// Writes a list of the types' names.
void write_types(JsonText& json, const TypeSet& types);

// Writes a number, a text or a list of these.
void write_attribute_value(JsonText& json, const AttributeValue& value);

// Writes an allow rule as a value on one line, which formats/lists/support/support_rule.h can read. The
// rule must not ask for an operator's schema version: native lists cannot express that.
void write_allow_rule(JsonText& json, const Rule& rule);

// Writes a deny rule in the same way.
void write_deny_rule(JsonText& json, const Rule& rule);

// Writes a pattern, with its ops as allow rules, one a line.
void write_pattern(JsonText& json, const Pattern& pattern);

}  // namespace cleave
