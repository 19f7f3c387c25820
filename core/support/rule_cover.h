// Cover: does one rule match every node that another matches? Told only when it is sure.
#pragma once

#include "core/support/rule.h"

namespace cleave {

// True when `wide` matches whatever `narrow` matches: its op is the same or a glob over it, and
// each of its conditions follows from one of the narrow rule's. A narrow rule that leaves a
// condition out is not covered by a wide one that states it.
bool covers(const Rule& wide, const Rule& narrow);

}  // namespace cleave
