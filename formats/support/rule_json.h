// Rules of support lists as native JSON.
#pragma once

#include "core/support/rule.h"
#include "formats/json/text.h"

namespace cleave {

// An allow rule as a value on one line, such as formats/support/support_rule.h reads. The rule must not ask
// for an operator's schema version: native lists cannot say that.
void write_allow_rule(JsonText& json, const Rule& rule);

// A deny rule, likewise, with its reason.
void write_deny_rule(JsonText& json, const Rule& rule);

}  // namespace cleave
