// Fault: why work was not done, and who can fix it. A caller prints the diagnostics and turns the cause
// into an exit code, or into what its own users expect.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

enum class FaultCause : std::uint8_t {
  request,     // the request contradicts itself or the model
  input,       // a file is not valid, cannot be read, or has changed
  output,      // a file cannot be written
  program,     // an external program failed
  infeasible,  // the request is sound, but nothing meets it
};

struct Fault {
  FaultCause cause = FaultCause::request;
  Diagnostics faults;  // at least one error; earlier warnings come first

  // What the first error says, for those who have no room for more.
  const std::string& message() const {
    const auto error = std::find_if(faults.begin(), faults.end(), [](const Diagnostic& one) {
      return one.severity == Severity::error;
    });
    return error == faults.end() ? faults.front().message : error->message;
  }
};

// Faults of files.
inline Fault input_fault(Diagnostics faults) { return {FaultCause::input, std::move(faults)}; }
inline Fault output_fault(Diagnostics faults) { return {FaultCause::output, std::move(faults)}; }

// The fault, preceded by the warnings that came before it.
inline Fault after(const Diagnostics& warnings, Fault fault) {
  fault.faults.insert(fault.faults.begin(), warnings.begin(), warnings.end());
  return fault;
}

// A fault that does not concern a file.
inline Fault fault_of(FaultCause cause, std::string message, std::vector<std::string> notes = {}) {
  return {cause,
          {Diagnostic{.file = {}, .message = std::move(message), .notes = std::move(notes)}}};
}
inline Fault fault_of(FaultCause cause, const Error& error) {
  return fault_of(cause, error.message, error.notes);
}

}  // namespace cleave
