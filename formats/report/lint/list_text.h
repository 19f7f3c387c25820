// A support list in words: `cleave lists show NAME`.
#pragma once

#include <string>

#include "core/support/support_list.h"

namespace cleave {

// Where the list is from, its limits, then each op with its conditions and what is accepted on trust,
// denials last. At most 100 columns.
std::string list_text(const SupportList& list);

}  // namespace cleave
