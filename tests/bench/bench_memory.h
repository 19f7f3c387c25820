// The memory of this process, from /proc.
#pragma once

#include <cstdint>

namespace cleave::bench {

std::uint64_t resident_bytes();

// The most that was resident since restart_peak(), or since the process started if the system does
// not allow to restart it.
std::uint64_t peak_resident_bytes();
void restart_peak();

// Returns freed memory to the system, so that the next measurement starts low.
void release_freed_memory();

}  // namespace cleave::bench
