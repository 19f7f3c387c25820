// The children that this process has started and not yet waited for. A table of the whole process,
// since a signal handler can be given nothing.
#pragma once

namespace cleave {

// False when the table is full (kMostChildren).
bool register_child(int pid);
void forget_child(int pid);
bool is_registered_child(int pid);

inline constexpr int kMostChildren = 1024;

}  // namespace cleave
