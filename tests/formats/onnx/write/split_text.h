// Splits of ONNX models that are files, for tests of the writers.
#pragma once

#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

#include "formats/onnx/write/writer.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

// The bytes of a model from the text of its graph alone: opset 17, the given IR version.
std::string onnx_model(const std::string& graph, const ModelEdit& edit = nullptr,
                       int ir_version = 8);

onnx::ModelProto parsed(const std::string& bytes);

// A model read from its file, and split where CPU and accelerator meet.
class OnnxSplitText {
 public:
  // All nodes but those of one op type are on the accelerator.
  OnnxSplitText(const std::string& path, std::string_view cpu_op);

  const LoadedModel& model() const { return model_; }
  const Partition& partition() const { return partition_; }

  // Writes to a new folder; with RootWeights::reference to an existing one.
  Loaded<OnnxWritten> write(const std::string& folder, const OnnxWriteOptions& options,
                            bool force = false) const;

 private:
  LoadedModel model_;
  Partition partition_;
  Boundaries boundaries_;
};

}  // namespace cleave
