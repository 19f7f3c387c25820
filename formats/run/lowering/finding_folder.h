// Finding folder: everything needed to file an issue about a finding, or to try it again.
//
//   model.onnx, .tflite  the smallest piece that was seen to fail
//   test_data_set_0/     its inputs and the reference's outputs, if the reference ran
//   command.sh           repeats the failure; with the files of write_repeat_files()
//   stderr.txt           the backend's message
//   README.md            what fails, versions, how to repeat it
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/base/text/diagnostic.h"
#include "formats/run/backend/backend.h"
#include "formats/run/lowering/lower_outcome.h"
#include "formats/run/lowering/piece_lowerer.h"

namespace cleave {

// The script scripts/backends/repeat_finding.py, which is part of the program: each finding's folder
// gets a copy.

extern const std::string_view kRepeatScript;

// Repeat files: what a finding's folder needs to show the failure again without cleave.
//
//   backend.json   the backend file; of a backend given as a command, one made from it
//   backend/       the scripts that it names below {here} or {cleave}, such as the worker
//   repeat.py      passes the model to the backend, and compares values
//   command.sh     calls it; says what has to be installed
struct RepeatFiles {
  std::string folder;  // must exist
  const Backend& backend;
  std::string title;             // the backend and its version
  bool has_data = false;         // test_data_set_0 is there: the model is run, too
  bool compares_values = false;  // the failure is one of values; only with data
  bool pins = false;             // see PieceFiles::pins; only with data
};

// Writes them. Error: what cannot be written.
Status<Error> write_repeat_files(const RepeatFiles& files);

struct FindingFolder {
  std::string path;  // is made, with its parents
  const LowerFinding& finding;
  const LoadedModel& model;
  const Backend& backend;
  const std::string& identity;  // of the backend
  std::span<const ReferenceRun> samples;
  std::string_view command = "lower";  // of cleave, that found it
};

// Writes the folder. `lowerer` is that of the backend. Linear in the piece. Error: what cannot be
// written.
Status<Error> write_finding(const FindingFolder& folder, PieceLowerer& lowerer);

}  // namespace cleave
