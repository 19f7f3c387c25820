// Cutter: writes pieces of an ONNX model as models of their own, one after another. Data about the
// whole model is computed once, so that a piece only costs its own size.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/split/piece.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/write/writer.h"
#include "formats/models/onnx/write/written_models.h"

namespace cleave {

struct CutPiece {
  std::vector<ValueId> inputs, outputs;  // in the order of the written model
  // Inputs of unknown type: ONNX Runtime does not load the piece.
  std::vector<ValueId> untyped = {};
};

class OnnxCutter {
 public:
  // Linear in the model. `model` must be ONNX and outlive this. With RootWeights::reference,
  // weights stay where they are, for pieces written to the folder `references_from` (see
  // source.h); otherwise they are copied. Errors: missing external data; with references, a
  // folder from which runtimes do not follow them.
  static Result<OnnxCutter, Fault> open(const LoadedModel& model, RootWeights weights,
                                        const std::string& references_from);
  // As above; copies weights.
  static Result<OnnxCutter, Fault> open(const LoadedModel& model) {
    return open(model, RootWeights::inlined, {});
  }

  OnnxCutter(OnnxCutter&&) noexcept;
  OnnxCutter& operator=(OnnxCutter&&) noexcept;
  ~OnnxCutter();

  // Writes the model of `nodes`, which are in model order and convex, to `output`, and weights that
  // do not fit to a file next to it, `<output>.data`, and the files that its EPContext nodes name to
  // where they name them. A piece whose values are not read outputs what its last node makes; with
  // `ends`, nodes need not be convex: see find_piece_boundary(). Linear in the piece's edges and the bytes written, plus clearing
  // about 10 bytes for each value of the model.
  Result<CutPiece, Fault> write(std::span<const NodeId> nodes, const OutputPath& output,
                                const PieceEnds* ends = nullptr);

 private:
  struct State;
  explicit OnnxCutter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cleave
