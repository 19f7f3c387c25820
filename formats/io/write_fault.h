// WriteFault: why a copy of an input was not written, and which of the two is to blame.
#pragma once

#include <utility>

#include "formats/text/diagnostic.h"

namespace cleave {

struct WriteFault {
  Diagnostics faults;
  bool is_of_input = false;  // it cannot be read or has changed; else: the output cannot be written
};

inline WriteFault output_fault(Diagnostics faults) { return {.faults = std::move(faults)}; }
inline WriteFault input_fault(Diagnostics faults) {
  return {.faults = std::move(faults), .is_of_input = true};
}

}  // namespace cleave
