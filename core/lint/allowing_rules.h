// Allowing rules: everything in a list that names ops that it accepts.
#pragma once

#include <vector>

#include "core/support/support_list.h"

namespace cleave {

// The list's allow rules, then the ops of its patterns. Linear: copies them.
std::vector<Rule> allowing_rules(const SupportList& list);

}  // namespace cleave
