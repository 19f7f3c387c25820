// The heap of a process that reads models: how the C library treats large blocks. Only programs
// call these; a library must not change how its program allocates.
#pragma once

#include <cstddef>

namespace cleave {

// Keeps freed memory in the process for the next table. By default the C library returns each block
// beyond 32 MiB to the system and gets the pages of the next one again, with a fault and a clearing
// each: for tables of ten million entries that takes most of a pass's time.
void keep_freed_memory();

// Asks for pages of 2 MiB for the next `bytes` bytes by which the heap grows: walks over tables of
// gigabytes miss fewer translations, and there are fewer page faults. Takes no memory by itself.
// Has no effect when the system has no such pages, below 64 MiB, or without keep_freed_memory().
void prefer_large_pages(std::size_t bytes);

}  // namespace cleave
