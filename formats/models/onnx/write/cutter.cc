#include "formats/models/onnx/write/cutter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "formats/models/onnx/write/context_files.h"
#include "formats/models/onnx/write/source.h"
#include "formats/models/onnx/write/split_job.h"

namespace cleave {
namespace {

constexpr PartId kPiece{0};

// Puts values that the model declares in its order, before the others.
void put_in_order(std::vector<ValueId>& values, std::span<const ValueId> declared) {
  const auto place = [&](ValueId value) {
    return std::find(declared.begin(), declared.end(), value) - declared.begin();
  };
  std::stable_sort(values.begin(), values.end(),
                   [&](ValueId a, ValueId b) { return place(a) < place(b); });
}

}  // namespace

// A job whose partition changes for each piece. Nodes get no tags: tags belong to splits.
struct OnnxCutter::State {
  State(const LoadedModel& model, OnnxSource&& source, std::vector<std::string> references)
      : untagged(make_piece(model.graph, {}, "")),
        job{.model = model,
            .partition = piece,
            .boundaries = boundary,
            .root_boundaries = boundary,
            .options = options,
            .source = std::move(source),
            .value_infos = OnnxValueInfos(model),
            .function_calls = OnnxFunctionCalls(*model.onnx()),
            .annotations = OnnxAnnotations(model),
            .opsets = opset_imports(*model.onnx()),
            .files = {""},
            .references = std::move(references),
            .tags = OnnxNodeTags(model, untagged, devices, options.tags)} {}

  Partition piece;
  Boundaries boundary;
  Partition untagged;
  OnnxWriteOptions options;
  std::vector<std::string> devices;
  OnnxSplitJob job;
};

OnnxCutter::OnnxCutter(std::unique_ptr<State> state) : state_(std::move(state)) {}
OnnxCutter::OnnxCutter(OnnxCutter&&) noexcept = default;
OnnxCutter& OnnxCutter::operator=(OnnxCutter&&) noexcept = default;
OnnxCutter::~OnnxCutter() = default;

Result<OnnxCutter, Fault> OnnxCutter::open(const LoadedModel& model, RootWeights weights,
                                           const std::string& references_from) {
  Loaded<OnnxSource> source = OnnxSource::open(model);
  if (!source) return input_fault(std::move(source).error());
  std::vector<std::string> references;
  if (weights == RootWeights::reference) {
    auto found = onnx_references(model, *source, references_from);
    if (!found) return output_fault({diagnostic_of(references_from, std::move(found).error())});
    references = *std::move(found);
  }
  return OnnxCutter(std::make_unique<State>(model, *std::move(source), std::move(references)));
}

Result<CutPiece, Fault> OnnxCutter::write(std::span<const NodeId> nodes, const OutputPath& output,
                                          const PieceEnds* ends) {
  State& state = *state_;
  const std::string file = output.path.substr(output.path.rfind('/') + 1);
  state.piece = make_piece(state.job.graph(), nodes, file.substr(0, file.rfind('.')));
  const Graph& graph = state.job.graph();
  state.boundary = find_piece_boundary(graph, state.piece, ends);
  if (ends == nullptr && nodes.size() == graph.node_count()) {  // the whole model: called as it is
    std::sort(state.boundary.inputs.items.begin(), state.boundary.inputs.items.end());
    put_in_order(state.boundary.outputs.items, graph.outputs());
  }
  state.job.files = {file};
  const auto built = build_onnx_part(state.job, kPiece);
  if (!built) return output_fault({diagnostic_of(output.shown, built.error())});
  auto written = write_pieces(built->model, state.job.source.files(), output);
  if (written && built->data.size() > 0) {
    written = write_pieces(built->data, state.job.source.files(),
                           {output.path + ".data", output.shown + ".data"});
  }
  if (written) written = copy_context_files(state.job, nodes, output, OldFiles::stay);
  if (!written) return std::move(written).error();
  const auto inputs = state.boundary.inputs[kPiece];
  CutPiece cut{{inputs.begin(), inputs.end()}, part_outputs(state.job, kPiece)};
  std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(cut.untyped),
               [&](ValueId input) { return !state.job.value_infos.has_type(input); });
  return cut;
}

}  // namespace cleave
