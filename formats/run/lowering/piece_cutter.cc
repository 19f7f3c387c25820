#include "formats/run/lowering/piece_cutter.h"

#include <utility>

#include "core/split/piece.h"
#include "formats/models/pt2/model.h"
#include "formats/models/pt2/write/writer.h"
#include "formats/models/tflite/write/writer.h"

namespace cleave {

bool PieceCutter::can_cut(ModelFormat format) {
  return format == ModelFormat::onnx || format == ModelFormat::tflite || format == ModelFormat::pt2;
}

Result<PieceCutter, Fault> PieceCutter::open(const LoadedModel& model) {
  PieceCutter cutter(model);
  if (const Pt2Model* const pt2 = model.pt2()) {
    cutter.values_.resize(pt2->program.values.size(), kNone<ValueId>);
    for (std::size_t i = 0; i < model.graph.value_count(); ++i) {
      const auto value = static_cast<ValueId>(i);
      const std::uint32_t number = pt2->value_numbers[value];
      if (number != kNoPt2) cutter.values_[number] = value;
    }
  }
  if (model.format() != ModelFormat::onnx) return cutter;
  auto onnx = OnnxCutter::open(model);
  if (!onnx) return std::move(onnx).error();
  cutter.onnx_.emplace(*std::move(onnx));
  return cutter;
}

Result<CutPiece, Fault> PieceCutter::write(std::span<const NodeId> nodes,
                                           const OutputPath& output) {
  if (onnx_) return onnx_->write(nodes, output);
  // All pieces have one name: equal pieces are equal files.
  const Partition piece = make_piece(model_->graph, nodes, "piece");
  if (model_->format() == ModelFormat::pt2) return write_pt2(piece, output);
  // Compilers for devices leave variables to the CPU.
  const auto written = write_tflite_piece(*model_, piece, TfliteLift::all, output);
  if (!written) return written.error();
  const Boundaries boundary = find_piece_boundary(model_->graph, piece);
  const auto inputs = boundary.inputs[PartId{0}], outputs = boundary.outputs[PartId{0}];
  return CutPiece{{inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}};
}

Result<CutPiece, Fault> PieceCutter::write_pt2(const Partition& piece,
                                               const OutputPath& output) const {
  const auto written = write_pt2_piece(*model_, piece, output);
  if (!written) return written.error();
  CutPiece cut;
  for (const std::uint32_t number : written->inputs) cut.inputs.push_back(values_[number]);
  for (const std::uint32_t number : written->outputs) cut.outputs.push_back(values_[number]);
  return cut;
}

std::string_view piece_ending(const LoadedModel& model) {
  if (model.format() == ModelFormat::pt2) return ".pt2";
  return model.format() == ModelFormat::tflite ? ".tflite" : ".onnx";
}

}  // namespace cleave
