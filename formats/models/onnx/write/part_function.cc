// Requirements of ONNX Runtime and the ONNX checker on a function: no output that is also an input;
// no repeated node name; everything that a body of its nodes captures is an input or made inside;
// the model's own opset imports.
#include "formats/models/onnx/write/part_function.h"

#include <algorithm>

#include "formats/models/onnx/index/encoding.h"

namespace cleave {
namespace {

// Larger weights are inputs of the function.
constexpr std::uint64_t kSmallWeight = 1024;

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
