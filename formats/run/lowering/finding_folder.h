// Finding folder: everything needed to file an issue about a finding, or to try it again.
//
//   model.onnx           the smallest piece that was seen to fail
//   test_data_set_0/     its inputs and the reference's outputs, if the reference ran
//   command.sh           repeats the failure; with the files of repeat_files.h
//   stderr.txt           the backend's message
//   README.md            what fails, versions, how to repeat it
#pragma once

#include <span>
#include <string>

#include "formats/run/lowering/lower_outcome.h"
#include "formats/run/lowering/piece_lowerer.h"

namespace cleave {

struct FindingFolder {
  std::string path;  // is made, with its parents
  const LowerFinding& finding;
  const LoadedModel& model;
  const Backend& backend;
  const std::string& identity;  // of the backend
  std::span<const ReferenceRun> samples;
};

// Writes the folder. `lowerer` is that of the backend. Linear in the piece. Error: what cannot be
// written.
Status<Error> write_finding(const FindingFolder& folder, PieceLowerer& lowerer);

}  // namespace cleave
