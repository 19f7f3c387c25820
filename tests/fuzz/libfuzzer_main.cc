// A libFuzzer program of the target that CLEAVE_FUZZ_TARGET names.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  cleave::fuzz::CLEAVE_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
