// Gap keys: nodes that fail a rule in the same way have the same key.
#pragma once

#include <string>

#include "core/support/failed_part.h"
#include "core/support/rule_check.h"

namespace cleave {

// Appends one failed condition to a key. `part` is what failed_parts() says of the condition. Two
// nodes that fail the condition with different values get different keys where the rule asks for a
// value (a dtype, an attribute, a rank), and the same key where it sets a bound. Whether the model
// or the operator states an attribute's value makes no difference.
void append_key(const FailedCondition& failed, const FailedPart& part, std::string& key);

}  // namespace cleave
