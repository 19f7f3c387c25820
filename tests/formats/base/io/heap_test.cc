#include "formats/base/io/heap.h"

#include <sys/resource.h>

#include <cstddef>
#include <vector>

#include "tests/catch2.h"

namespace cleave {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasOwnHeap = true;
#elif defined(__has_feature)
constexpr bool kHasOwnHeap = __has_feature(address_sanitizer);
#else
constexpr bool kHasOwnHeap = false;
#endif

long page_faults() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// Page faults while writing all of a new table of 96 MiB.
long faults_of_table() {
  const long before = page_faults();
  const std::vector<char> table(std::size_t{96} << 20U, 'x');
  CHECK(table.back() == 'x');
  return page_faults() - before;
}

TEST_CASE("the memory of a large table serves the next one") {
  if (kHasOwnHeap) return;  // a sanitizer's heap, which has other rules
  keep_freed_memory();
  prefer_large_pages(std::size_t{96} << 20U);
  faults_of_table();
  CHECK(faults_of_table() < 100);  // of 24,576 pages
}

TEST_CASE("large pages cannot be asked for more memory than there is") {
  prefer_large_pages(static_cast<std::size_t>(-1) / 2);
  CHECK(faults_of_table() >= 0);
}

}  // namespace
}  // namespace cleave
