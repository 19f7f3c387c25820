// The heap of a process that reads models: what the C library does with large blocks. To be called
// by programs; a library function never changes how its program allocates.
#pragma once

#include <cstddef>

namespace cleave {

// Freed memory stays with the process and serves the next table. By itself the C library gives each
// block beyond 32 MiB back to the system, and takes the pages of the next one anew, one fault and
// one clearing each: for tables of ten million entries that is most of what a pass takes.
void keep_freed_memory();

// Of the memory that the heap grows into next, so many bytes are asked for in pages of 2 MiB: a
// walk over tables of gigabytes misses fewer translations, and memory comes with fewer faults.
// Takes no memory by itself. Nothing happens where the system has no such pages, or below 64 MiB,
// or where keep_freed_memory() was not called.
void prefer_large_pages(std::size_t bytes);

}  // namespace cleave
