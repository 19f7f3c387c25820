#include "tests/formats/onnx/write/split_text.h"

#include "core/split/groups.h"
#include "core/split/split.h"
#include "formats/models/models.h"

namespace cleave {

namespace {

LoadedModel loaded(const std::string& path) {
  auto model = read_model(path, {});
  if (!model) throw std::runtime_error(format_diagnostic(model.error().at(0)));
  return *std::move(model);
}

Partition cut(const Graph& graph, std::string_view cpu_op) {
  AccNodes acc{NodeSet(graph.node_count()), PerNode<Reason>(graph.node_count())};
  for (const NodeId node : graph.nodes()) {
    if (graph.op(node) != cpu_op) acc.nodes.insert(node);
  }
  const Fusions fusions = find_fusions(graph, std::move(acc), {});
  return make_partition(split_subgraphs(graph, fusions, {}).subgraphs, {});
}

}  // namespace

std::string onnx_model(const std::string& graph, const ModelEdit& edit, int ir_version) {
  return onnx_bytes(
      "<ir_version: " + std::to_string(ir_version) + ", opset_import: [\"\" : 17]>\n" + graph,
      edit);
}

onnx::ModelProto parsed(const std::string& bytes) {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(bytes));
  return model;
}

OnnxSplitText::OnnxSplitText(const std::string& path, std::string_view cpu_op)
    : model_(loaded(path)),
      partition_(cut(model_.graph, cpu_op)),
      boundaries_(find_boundaries(model_.graph, partition_)) {}

Loaded<OnnxWritten> OnnxSplitText::write(const std::string& path, const OnnxWriteOptions& options,
                                         bool force) const {
  const bool is_inside = options.root_weights == RootWeights::reference;
  auto folder = is_inside ? OutputFolder::inside(path, force) : OutputFolder::create(path, force);
  if (!folder) return std::move(folder).error();
  const std::vector<std::string> no_devices;
  auto written = write_onnx_split(model_, {partition_, boundaries_, boundaries_, no_devices},
                                  options, *folder);
  if (!written) return std::move(written).error().faults;
  if (auto done = folder->commit(); !done) return std::move(done).error();
  return *std::move(written);
}

}  // namespace cleave
