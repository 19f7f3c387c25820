#include "formats/run/lowering/piece_cutter.h"

#include <utility>

#include "core/split/piece.h"
#include "formats/models/tflite/write/writer.h"

namespace cleave {

bool PieceCutter::can_cut(ModelFormat format) {
  return format == ModelFormat::onnx || format == ModelFormat::tflite;
}

Result<PieceCutter, WriteFault> PieceCutter::open(const LoadedModel& model) {
  PieceCutter cutter(model);
  if (model.format() != ModelFormat::onnx) return cutter;
  auto onnx = OnnxCutter::open(model);
  if (!onnx) return std::move(onnx).error();
  cutter.onnx_.emplace(*std::move(onnx));
  return cutter;
}

Result<CutPiece, WriteFault> PieceCutter::write(std::span<const NodeId> nodes,
                                                const OutputPath& output) {
  if (onnx_) return onnx_->write(nodes, output);
  // All pieces have one name: equal pieces are equal files.
  const Partition piece = make_piece(model_->graph, nodes, "piece");
  // Compilers for devices leave variables to the CPU.
  const auto written = write_tflite_piece(*model_, piece, TfliteLift::all, output);
  if (!written) return written.error();
  const Boundaries boundary = find_piece_boundary(model_->graph, piece);
  const auto inputs = boundary.inputs[PartId{0}], outputs = boundary.outputs[PartId{0}];
  return CutPiece{{inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}};
}

std::string_view piece_ending(const LoadedModel& model) {
  return model.format() == ModelFormat::tflite ? ".tflite" : ".onnx";
}

}  // namespace cleave
