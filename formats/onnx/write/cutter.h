// Cutter: pieces of an ONNX model as models of their own, one after the other. What all pieces need
// to know of the model is found once, so that a piece costs what it holds.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/model/loaded_model.h"
#include "formats/onnx/write/part.h"
#include "formats/onnx/write/writer.h"

namespace cleave {

struct CutPiece {
  std::vector<ValueId> inputs, outputs;  // in the order in which the written model has them
};

class OnnxCutter {
 public:
  // Linear in the model. `model` must be ONNX and outlive this. With RootWeights::reference, weights
  // stay where they are, for pieces that are written to the folder `references_from`: see
  // references.h; else they are copied. Errors: external data that is not there; for references, a
  // folder from which no runtime would follow them.
  static Result<OnnxCutter, WriteFault> open(const LoadedModel& model, RootWeights weights,
                                             const std::string& references_from);
  // The same; weights are copied.
  static Result<OnnxCutter, WriteFault> open(const LoadedModel& model) {
    return open(model, RootWeights::inlined, {});
  }

  OnnxCutter(OnnxCutter&&) noexcept;
  OnnxCutter& operator=(OnnxCutter&&) noexcept;
  ~OnnxCutter();

  // Writes the model of `nodes`, which are in model order and convex, to `output`, and weights that
  // it has no room for to a file beside it, `<output>.data`. A piece that nothing reads gives what its last node makes.
  // Linear in the piece's edges and the bytes written, plus clearing about 10 bytes for each value
  // of the model.
  Result<CutPiece, WriteFault> write(std::span<const NodeId> nodes, const OutputPath& output);

 private:
  struct State;
  explicit OnnxCutter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cleave
