// PieceCutter: cuts pieces out of a model, as models of its own format that compilers take.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "formats/base/text/fault.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/write/cutter.h"

namespace cleave {

class PieceCutter {
 public:
  // Whether pieces of models of the format can be cut: of all that are not native JSON.
  static bool can_cut(ModelFormat format);
  // The model must be of such a format, and outlive this. Errors: those of OnnxCutter::open().
  static Result<PieceCutter, Fault> open(const LoadedModel& model);

  // Writes the model of `nodes`, which are in model order and convex. Linear in the piece and the
  // bytes written for ONNX, in the model's nodes for torch, in its tables for TensorFlow Lite.
  Result<CutPiece, Fault> write(std::span<const NodeId> nodes, const OutputPath& output);

 private:
  explicit PieceCutter(const LoadedModel& model) : model_(&model) {}
  Result<CutPiece, Fault> write_pt2(const Partition& piece, const OutputPath& output) const;
  const LoadedModel* model_;
  std::optional<OnnxCutter> onnx_;  // of an ONNX model
  std::vector<ValueId> values_;     // of a program of torch: by number in it
};

// How names of files with pieces of the model end: ".onnx", ".tflite", ".pt2".
std::string_view piece_ending(const LoadedModel& model);

}  // namespace cleave
