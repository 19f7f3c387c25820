// The children that this process has started and not yet waited for. There is one table per
// process, since a signal handler has no arguments to pass it in.
#pragma once

#include "formats/base/io/child.h"

namespace cleave {

// False when the table is full (kMostChildren).
bool register_child(int pid, ChildKind kind);
void forget_child(int pid);
bool is_registered_child(int pid);

inline constexpr int kMostChildren = 1024;

}  // namespace cleave
