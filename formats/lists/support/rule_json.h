// Rules and patterns of support lists as native JSON.
#pragma once

#include "core/support/pattern.h"
#include "core/support/rule.h"
#include "formats/base/json/text.h"

namespace cleave {

// Writes an allow rule as a value on one line, which formats/lists/support/support_rule.h can read. The
// rule must not ask for an operator's schema version: native lists cannot express that.
void write_allow_rule(JsonText& json, const Rule& rule);

// Writes a deny rule in the same way.
void write_deny_rule(JsonText& json, const Rule& rule);

// Writes a pattern, with its ops as allow rules, one a line.
void write_pattern(JsonText& json, const Pattern& pattern);

}  // namespace cleave
