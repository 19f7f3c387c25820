// `split --capture`: runs the parts of a split that was just written, in call order, in ONNX
// Runtime, and writes the inputs and outputs of each as test data, with scripts/capture_inputs.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/terminal/exit_code.h"
#include "formats/base/io/output_folder.h"

namespace CLI {
class App;
}

namespace cleave {

struct CaptureArgs {
  bool is_wanted = false;
  std::string inputs;  // "": random
  std::uint64_t seed = 0;
  void add_to(CLI::App& app);
};

// Adds the folder `captured` to `folder`, whose manifest must exist; the caller must write the
// manifest again afterwards. Prints what was captured, and what went wrong, on standard error.
// Returns check_failed when some parts could not be captured.
ExitCode capture_parts(const OutputFolder& folder, const CaptureArgs& args);

}  // namespace cleave
