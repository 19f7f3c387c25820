#include "formats/models/format_options.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("an option for models of other formats is told with those that it is for") {
  CHECK(option_misfit("--bundle", ModelFormat::onnx) ==
        "--bundle is for TensorFlow Lite and torch.export models, of which one file can hold "
        "several");
  CHECK(option_misfit("--fold write", ModelFormat::pt2) == "--fold write is for ONNX models");
  CHECK(option_misfit("--lift-state", ModelFormat::graph_json) ==
        "--lift-state is for TensorFlow Lite models, whose partitions keep variables");
}

TEST_CASE("an option that fits the format, or that no format lacks, is no misfit") {
  CHECK(option_misfit("--bundle", ModelFormat::pt2).empty());
  CHECK(option_misfit("--lift-state", ModelFormat::tflite).empty());
  CHECK(option_misfit("--infer off", ModelFormat::onnx).empty());
  CHECK(option_misfit("--dim N=1", ModelFormat::graph_json).empty());
}

}  // namespace
}  // namespace cleave
