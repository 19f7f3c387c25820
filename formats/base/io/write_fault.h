// WriteFault: why a copy of an input was not written, and whether the input or the output is to
// blame.
#pragma once

#include <utility>

#include "formats/base/text/diagnostic.h"

namespace cleave {

struct WriteFault {
  Diagnostics faults;
  // the input cannot be read or has changed; else the output cannot be written
  bool is_of_input = false;
};

inline WriteFault output_fault(Diagnostics faults) { return {.faults = std::move(faults)}; }
inline WriteFault input_fault(Diagnostics faults) {
  return {.faults = std::move(faults), .is_of_input = true};
}

}  // namespace cleave
