// What `cleave split` leaves to scripts in Python, on the files that it has just written:
//
//   --capture   runs the parts in ONNX Runtime or torch, in call order, and writes the inputs and outputs
//               of each as test data (scripts/capture_inputs.py, scripts/capture_torch.py)
//   --opset N   converts the parts and the root to another opset (scripts/convert_opset.py)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/terminal/exit_code.h"
#include "formats/base/io/output_folder.h"
#include "formats/models/bind/loaded_model.h"

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
ExitCode capture_parts(const OutputFolder& folder, const CaptureArgs& args, ModelFormat format);

// Converts the ONNX files in `folder`. Returns bad_input, after printing which part is to blame, when ONNX's
// converter cannot do it.
ExitCode convert_opset(const OutputFolder& folder, std::uint32_t opset);
// The same for one file in `folder`, a model.
ExitCode convert_opset(const OutputFolder& folder, const std::string& file, std::uint32_t opset);

}  // namespace cleave
