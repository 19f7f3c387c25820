// Repeat files: what a finding's folder needs to show the failure again without cleave.
//
//   backend.json   the backend file; of a backend given as a command, one made from it
//   backend/       the scripts that it names below {here}, such as the worker
//   repeat.py      passes model.onnx to the backend, and compares values
//   command.sh     calls it; says what has to be installed
#pragma once

#include <string>

#include "formats/base/text/diagnostic.h"
#include "formats/run/backend/backend.h"

namespace cleave {

struct RepeatFiles {
  std::string folder;  // must exist
  const Backend& backend;
  std::string title;             // the backend and its version
  bool has_data = false;         // test_data_set_0 is there: the model is run, too
  bool compares_values = false;  // the failure is one of values; only with data
};

// Writes them. Error: what cannot be written.
Status<Error> write_repeat_files(const RepeatFiles& files);

}  // namespace cleave
