#include "formats/models/bind/loaded_model.h"

#include <utility>

namespace cleave {

Diagnostics faults_of(const SourceFile& source, std::span<const GraphFault> faults) {
  Diagnostics diagnostics;
  for (const GraphFault& fault : faults) {
    diagnostics.push_back(diagnostic_of(source.path(), fault.message));
    diagnostics.back().notes = fault.notes;
  }
  return diagnostics;
}

Fault refusal_of(const LoadedModel& model, const Error& error) {
  Diagnostic fault = diagnostic_of(model.source.path(), error.message);
  fault.notes = error.notes;
  return input_fault({std::move(fault)});
}

std::vector<ByteSource> byte_sources(const LoadedModel& model) {
  return {{.fd = model.source.fd(), .path = model.source.path(), .stamp = model.source.stamp()}};
}

}  // namespace cleave
