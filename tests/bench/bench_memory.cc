#include "tests/bench/bench_memory.h"

#include <malloc.h>

#include <fstream>
#include <string>

namespace cleave::bench {
namespace {

// A field of /proc/self/status, which gives it in kB.
std::uint64_t status_field(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == name + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

std::uint64_t resident_bytes() { return status_field("VmRSS"); }
std::uint64_t peak_resident_bytes() { return status_field("VmHWM"); }

void restart_peak() {
  std::ofstream("/proc/self/clear_refs") << "5";  // proc(5): resets the peak resident set size
}

void release_freed_memory() { malloc_trim(0); }

}  // namespace cleave::bench
