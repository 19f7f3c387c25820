#include "formats/models/onnx/write/written_models.h"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <utility>

#include "formats/models/onnx/index/encoding.h"

namespace cleave {

// Steps of build_onnx_part():
// 1. collect the partition's nodes, values, weights and annotations;
// 2. build the graph: nodes, inputs and outputs, declarations, weights, which go into the model or
//    into the file next to it;
// 3. put the model's head before it, and shift the places of weights by its length;
// 4. add the functions that its nodes call, and metadata.

namespace {

// Smaller weights always stay in the model.
constexpr std::uint64_t kSmallWeight = 1024;

enum class Weights { inside, beside };  // beside: in the file next to the model

class PartBuilder {
 public:
  PartBuilder(const OnnxSplitJob& job, PartId part, Weights weights)
      : job_(job), part_(part), weights_(weights) {}

  OnnxPart build() {
    collect_values();
    result_.model = build_graph();
    std::string head = model_head(job_, job_.onnx().functions.empty() ? 4 : 8);
    put_header(head, model_field::kGraph, result_.model.size());
    for (OnnxPlacedWeight& weight : result_.weights) {
      if (!weight.in_data) weight.offset += head.size();
    }
    result_.model.put_before(head);
    add_tail();
    return std::move(result_);
  }

 private:
  void collect_values() {
    const Boundaries& boundaries = job_.boundaries;
    outputs_ = part_outputs(job_, part_);
    nodes_ = needed_constants(job_.graph(), boundaries, part_);
    for (const NodeId node : job_.partition.nodes(part_)) nodes_.push_back(node);
    for (const NodeId node : nodes_) {
      for (const ValueId value : job_.graph().outputs(node)) made_.push_back(value);
    }
    std::vector<ValueId> all(boundaries.inputs[part_].begin(), boundaries.inputs[part_].end());
    for (const ValueId value : boundaries.parameters[part_]) {
      all.push_back(value);
      initializers_.push_back(job_.initializer(value));
    }
    all.insert(all.end(), made_.begin(), made_.end());
    annotations_ = job_.annotations.about(all);
    for (const OnnxAnnotation* annotation : annotations_) {
      initializers_.insert(initializers_.end(), annotation->parameters.begin(),
                           annotation->parameters.end());
    }
    // In file order, so that neighbours are copied together.
    std::sort(initializers_.begin(), initializers_.end());
    initializers_.erase(std::unique(initializers_.begin(), initializers_.end()),
                        initializers_.end());
  }

  BytePieces build_graph() {
    BytePieces graph;
    for (const NodeId node : nodes_) add_node(job_, graph, graph_field::kNode, node);
    std::string made;
    put_bytes(made, graph_field::kName, job_.partition.name(part_));
    for (const ValueId value : job_.boundaries.inputs[part_]) {
      put_bytes(made, graph_field::kInput, job_.value_infos.known(value));
    }
    for (const ValueId value : outputs_) {
      put_bytes(made, graph_field::kOutput, job_.value_infos.known(value));
    }
    graph.add(made);
    add_inner_value_infos(graph);
    for (const OnnxAnnotation* annotation : annotations_) {
      job_.source.add_bytes(graph, annotation->field);
    }
    for (const std::uint32_t initializer : initializers_) add_weight(graph, initializer);
    return graph;
  }

  // Compilers refuse an open dim inside a model whose inputs fix it.
  void add_inner_value_infos(BytePieces& graph) const {
    std::string made;
    const std::unordered_set<ValueId> outputs(outputs_.begin(), outputs_.end());
    for (const ValueId value : made_) {
      const OnnxValueInfo* info = job_.value_infos.declared(value);
      if (info == nullptr || outputs.contains(value)) continue;
      if (job_.value_infos.is_declared_as_known(value)) {
        job_.source.add_message(graph, graph_field::kValueInfo, info->record.payload);
      } else {
        put_bytes(made, graph_field::kValueInfo, job_.value_infos.known(value));
      }
    }
    graph.add(made);
  }

  void add_weight(BytePieces& graph, std::uint32_t initializer) {
    const auto& elements = job_.source.elements(initializer);
    if (const auto reference = job_.reference(initializer)) {
      job_.source.add_initializer_at(graph, initializer, *reference);
    } else if (weights_ == Weights::beside && elements && elements->length > kSmallWeight) {
      const std::uint64_t offset = add_aligned(result_.data, *elements);
      const std::string file = job_.files[index(part_)] + ".data";
      job_.source.add_initializer_at(graph, initializer, {.file = file, .offset = offset});
      result_.weights.push_back({.initializer = initializer, .in_data = true, .offset = offset});
    } else if (const auto offset = job_.source.add_initializer(graph, initializer)) {
      result_.weights.push_back({.initializer = initializer, .in_data = false, .offset = *offset});
    }
  }

  void add_tail() {
    OnnxModelTail tail;
    const auto put = [&](std::string_view key, std::string_view value) {
      put_bytes(tail.made, model_field::kMetadataProps, encode_key_value(key, value));
      tail.metadata_left_out.push_back(key);
    };
    put("cleave.partition", job_.partition.name(part_));
    if (const auto device = job_.tags.device_of(part_); !device.empty())
      put("cleave.device", device);
    std::vector<std::uint32_t> records;
    for (const NodeId node : nodes_) records.push_back(job_.onnx().node_index[index(node)]);
    tail.functions = job_.function_calls.needed_by(records);
    add_model_tail(job_, result_.model, tail);
  }

  const OnnxSplitJob& job_;
  PartId part_;
  Weights weights_;
  OnnxPart result_;
  std::vector<NodeId> nodes_;  // constants first, then nodes
  std::vector<ValueId> outputs_;
  std::vector<ValueId> made_;  // by nodes_
  std::vector<const OnnxAnnotation*> annotations_;
  std::vector<std::uint32_t> initializers_;
};

}  // namespace

std::vector<ValueId> part_outputs(const OnnxSplitJob& job, PartId part) {
  const auto outputs = job.boundaries.outputs[part];
  if (!outputs.empty()) return {outputs.begin(), outputs.end()};
  const auto nodes = job.partition.nodes(part);
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    const IdRange<ValueId> made = job.graph().outputs(*node);
    if (!made.empty()) return {made[0]};
  }
  return {};
}

Result<OnnxPart, std::string> build_onnx_part(const OnnxSplitJob& job, PartId part) {
  const std::uint64_t most = job.options.largest_model;
  OnnxPart result = PartBuilder(job, part, Weights::inside).build();
  if (result.model.size() <= most) return result;
  result = PartBuilder(job, part, Weights::beside).build();
  if (result.model.size() <= most) return result;
  return "would be a model of " + std::to_string(result.model.size()) + " bytes, of which " +
         std::to_string(most) +
         " can be read; tensors inside nodes cannot go to a separate file: make them "
         "initializers";
}

// Requirements of ONNX Runtime and the ONNX checker on a function: no output that is also an input;
// no repeated node name; everything that a body of its nodes captures is an input or made inside;
// the model's own opset imports.

namespace {

constexpr std::int64_t kFreeInitializersIrVersion = 4;

// The first opset whose Constant allows non-float types, and later ones that allow more.
constexpr std::int64_t kAnyConstantOpset = 9;
struct ConstantTypes {
  std::int64_t since_opset;
  std::int32_t last_dtype;  // the highest number in TensorProto.DataType
};
constexpr ConstantTypes kConstantTypes[] = {{9, 15},  {13, 16}, {19, 20}, {21, 22},
                                            {23, 23}, {24, 24}, {25, 26}};

bool is_float(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16;
}

bool constant_takes(const OnnxTensor& tensor, std::int64_t opset) {
  if (tensor.is_sparse) return false;
  if (opset < kAnyConstantOpset) return is_float(tensor.dtype);
  std::int32_t last = 0;
  for (const ConstantTypes& types : kConstantTypes) {
    if (opset >= types.since_opset) last = types.last_dtype;
  }
  return tensor.dtype_number >= 1 && tensor.dtype_number <= last;
}

// ONNX Runtime without optimisation may crash on a sparse Constant within a function: sparse ones
// are made in the root.
bool is_sparse_constant(const OnnxNode& node) {
  const auto is_sparse = [](const OnnxAttribute& attribute) {
    return attribute.name == "sparse_value";
  };
  return node.op_type == "Constant" &&
         std::any_of(node.attributes.begin(), node.attributes.end(), is_sparse);
}

bool is_domain_taken(const OnnxSplitJob& job, std::string_view domain) {
  const auto imports = [&](const auto& opset) { return opset.first == domain; };
  const auto is_in = [&](const OnnxFunction& function) { return function.domain == domain; };
  return std::any_of(job.opsets.begin(), job.opsets.end(), imports) ||
         std::any_of(job.onnx().functions.begin(), job.onnx().functions.end(), is_in);
}

std::string free_domain(const OnnxSplitJob& job) {
  std::string domain = "cleave";
  for (int i = 2; is_domain_taken(job, domain); ++i) domain = "cleave" + std::to_string(i);
  return domain;
}

}  // namespace

OnnxPartFunctions::OnnxPartFunctions(const OnnxSplitJob& job)
    : job_(job), domain_(free_domain(job)) {
  const OnnxModel& onnx = job.onnx();
  for (const auto& [domain, version] : job.opsets) {
    if (domain.empty()) default_opset_ = version;
  }
  if (onnx.ir_version < kFreeInitializersIrVersion) return;
  std::unordered_set<std::string_view> inputs;
  for (const OnnxValueInfo& input : onnx.graph.inputs) inputs.insert(input.name);
  for (std::uint32_t i = 0; i < onnx.graph.initializers.size(); ++i) {
    if (inputs.contains(onnx.graph.initializers[i].name)) overridable_.insert(i);
  }
}

bool OnnxPartFunctions::is_made_inside(std::uint32_t initializer) const {
  return job_.source.size(initializer) <= kSmallWeight && !is_overridable(initializer) &&
         constant_takes(job_.onnx().graph.initializers[initializer], default_opset_);
}

OnnxFunctionBody OnnxPartFunctions::build(PartId part) const {
  const Graph& graph = job_.graph();
  OnnxFunctionBody body;
  OnnxNode room;
  for (const ValueId value : job_.root_boundaries.inputs[part]) {
    body.inputs.push_back(graph.value(value).name);
  }
  for (const ValueId value : job_.root_boundaries.parameters[part]) {
    const std::uint32_t initializer = job_.initializer(value);
    if (is_made_inside(initializer)) {
      job_.source.add_constant_node(body.pieces, function_field::kNode, initializer);
    } else {
      body.inputs.push_back(graph.value(value).name);
      body.weights.push_back(initializer);
    }
  }
  for (const NodeId node : needed_constants(graph, job_.root_boundaries, part)) {
    if (!is_sparse_constant(job_.record(node, room))) {
      add_node(job_, body.pieces, function_field::kNode, node);
      continue;
    }
    body.constants.push_back(node);
    for (const ValueId value : graph.outputs(node)) {
      body.inputs.push_back(graph.value(value).name);
    }
  }
  for (const NodeId node : job_.partition.nodes(part)) {
    add_node(job_, body.pieces, function_field::kNode, node);
  }
  std::string made;
  put_bytes(made, function_field::kName, job_.partition.name(part));
  for (const std::string_view input : body.inputs) put_bytes(made, function_field::kInput, input);
  for (const ValueId value : job_.root_boundaries.outputs[part]) {
    put_bytes(made, function_field::kOutput, graph.value(value).name);
  }
  for (const auto& [domain, version] : job_.opsets) {
    put_bytes(made, function_field::kOpsetImport, encode_opset(domain, version));
  }
  put_bytes(made, function_field::kDomain, domain_);
  body.pieces.add(made);
  return body;
}

}  // namespace cleave
