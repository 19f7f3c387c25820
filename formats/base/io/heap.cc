// Measured by reading and splitting 10,000,000 nodes: keeping freed memory lowers 1,202,000 page
// faults to 617,000, and large pages to 39,000; large pages also lower the user time by a sixth
// (fewer misses of address translation).
#include "formats/base/io/heap.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cleave {

// Other C libraries have no such setting: there it has no effect.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);         // every block comes from the heap...
  mallopt(M_TRIM_THRESHOLD, -1);  // ... which never shrinks
#endif
}

void prefer_large_pages(std::size_t bytes) {
  constexpr std::uintptr_t kPage = std::uintptr_t{2} << 20U;
  constexpr std::size_t kMost = std::size_t{1} << 40U;  // more than any machine has
  if (bytes < 32 * kPage || bytes > kMost) return;
  // When freed, the block is the top of the heap, from which the next blocks are cut.
  void* const block = std::malloc(bytes);
  if (block == nullptr) return;
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t begin = (at + kPage - 1) & ~(kPage - 1);
  const std::uintptr_t end = (at + bytes) & ~(kPage - 1);
#ifdef MADV_HUGEPAGE
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // may be refused
#else
  static_cast<void>(begin);
  static_cast<void>(end);
#endif
  std::free(block);
}

}  // namespace cleave
