// Gap keys: nodes that fail a rule in the same way have the same key.
#pragma once

#include <string>

#include "core/support/failed_part.h"
#include "core/support/rule_check.h"

namespace cleave {

// Appends one failed condition to a key. `part` is the entry of failed_parts() for the condition.
// Two nodes that fail the condition with different values get different keys when the rule asks for
// a value (a dtype, an attribute, a rank), and the same key when it sets a bound. Whether the model
// states an attribute's value or the operator's default applies makes no difference.
void append_key(const FailedCondition& failed, const FailedPart& part, std::string& key);

}  // namespace cleave
