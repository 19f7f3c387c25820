// Finding folder: all that is needed to file an issue on a finding, or to try it again.
//
//   model.onnx           the smallest piece that was seen to fail
//   test_data_set_0/     its inputs and what the reference makes of them, where it ran
//   backend.json         the backend file, where there is one
//   command.sh           repeats it
//   stderr.txt           what the backend said
//   README.md            what fails, versions, how to repeat it
#pragma once

#include <span>
#include <string>

#include "formats/lowering/lower_outcome.h"
#include "formats/lowering/piece_lowerer.h"

namespace cleave {

struct FindingFolder {
  std::string path;  // made, with its parents
  const LowerFinding& finding;
  const LoadedModel& model;
  const Backend& backend;
  const std::string& identity;  // of the backend
  std::span<const ReferenceRun> samples;
};

// Writes the folder. `lowerer`: of the backend. Linear in the piece. Error: what cannot be written.
Status<Error> write_finding(const FindingFolder& folder, PieceLowerer& lowerer);

}  // namespace cleave
