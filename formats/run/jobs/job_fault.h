// JobFault: why a job was not done, and who can fix it. A caller prints the diagnostics and turns
// the cause into an exit code, or into what its own users expect.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/write_fault.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

enum class FaultCause : std::uint8_t {
  request,     // the request contradicts itself or the model
  input,       // a file is not valid or cannot be read
  output,      // a file cannot be written
  program,     // an external program failed
  infeasible,  // the request is sound, but nothing meets it
};

struct JobFault {
  FaultCause cause = FaultCause::request;
  Diagnostics faults;  // at least one error; earlier warnings come first
};

// A fault that does not concern a file.
inline JobFault job_fault(FaultCause cause, const Error& error) {
  return {cause, {Diagnostic{.file = {}, .message = error.message, .notes = error.notes}}};
}

inline JobFault job_fault(WriteFault fault) {
  return {fault.is_of_input ? FaultCause::input : FaultCause::output, std::move(fault.faults)};
}

}  // namespace cleave
