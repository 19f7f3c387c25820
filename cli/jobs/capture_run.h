// `split --capture`: runs the parts of a split that was just written, in call order in ONNX Runtime, and
// writes what each takes and makes as test data, by scripts/capture_inputs.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/terminal/exit_code.h"
#include "formats/io/output_folder.h"

namespace CLI {
class App;
}

namespace cleave {

struct CaptureArgs {
  bool is_wanted = false;
  std::string inputs;  // "": drawn
  std::uint64_t seed = 0;
  void add_to(CLI::App& app);
};

// Adds the folder `captured` to `folder`, whose manifest must be written; the caller writes it anew. Prints
// what was captured on standard error, and what went wrong. `check_failed`: some parts could not
// be.
ExitCode capture_parts(const OutputFolder& folder, const CaptureArgs& args);

}  // namespace cleave
