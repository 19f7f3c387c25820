// Cover: whether one rule matches every node that another matches. True only when that is certain.
#pragma once

#include "core/support/rule.h"

namespace cleave {

// True when `wide` matches every node that `narrow` matches: its op is the same or a glob over it,
// and each of its conditions follows from one of the narrow rule's. A wide rule that states a
// condition does not cover a narrow one that leaves it out.
bool covers(const Rule& wide, const Rule& narrow);

}  // namespace cleave
