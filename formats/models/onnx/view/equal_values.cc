#include "formats/models/onnx/view/equal_values.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/base/decimal.h"
#include "core/condition/attribute_value.h"
#include "core/graph/op_name.h"
#include "core/graph/random_ops.h"
#include "formats/models/onnx/infer/elements.h"
#include "formats/models/onnx/infer/schema.h"

namespace cleave {
namespace {

constexpr char kEnd = '\0';  // of a part of a key
constexpr std::size_t kMostCompared =
    8;  // elements of a weight: ONNX Runtime 1.32 shares no larger ones

// Whether two nodes of the operator may differ though their inputs are equal.
bool may_differ(std::string_view op) { return is_random_op(op) || op == "Dropout"; }

class EqualValues {
 public:
  EqualValues(const Graph& graph, const OnnxModel& model)
      : graph_(graph), onnx_(model), same_(graph.value_count()) {
    for (std::size_t i = 0; i < same_.size(); ++i) same_[i] = id_at<ValueId>(i);
  }

  std::vector<ValueId> find() {
    for (const ValueId value : graph_.parameters()) {
      const std::uint32_t tensor = onnx_.tensor_index[index(value)];
      if (tensor < onnx_.graph.initializers.size()) {
        merge(value, tensor_key(onnx_.graph.initializers[tensor]));
      }
    }
    for (const NodeId constant : graph_.constants()) visit(constant);
    for (const NodeId node : graph_.nodes()) visit(node);
    return std::move(same_);
  }

 private:
  // "" for a tensor that is not compared.
  static std::string tensor_key(const OnnxTensor& tensor) {
    if (tensor.is_sparse || tensor.is_external) return {};
    const auto elements = read_onnx_elements(tensor);
    if (!elements || elements->count() > kMostCompared) return {};
    std::string key(dtype_name(elements->dtype));
    for (const std::int64_t dim : elements->dims) key += ',' + std::to_string(dim);
    key += kEnd;
    for (const OnnxElement& one : elements->integers) {
      if (!one.value) return {};
      key += std::to_string(*one.value) + ',';
    }
    for (const double real : elements->reals) key += shortest_text(real) + ',';
    return key;
  }

  void merge(ValueId value, const std::string& key) {
    if (!key.empty()) same_[index(value)] = firsts_.emplace(key, value).first->second;
  }

  void visit(NodeId node) {
    const auto outputs = graph_.outputs(node);
    const std::string_view op = graph_.op(node);
    if (outputs.size() == 0 || may_differ(op) || !graph_.body_nodes(node).empty()) return;
    const OnnxNode& record = onnx_.graph.nodes.read(onnx_.node_index[index(node)], room_);
    const auto operands = graph_.operands(node);
    if (op == "Identity" && operands.size() == 1) {
      same_[index(outputs[0])] = same_[index(operands[0].value)];
      return;
    }
    if (op == "Constant" && record.attributes.size() == 1 &&
        record.attributes.front().tensors.size() == 1) {
      return merge(outputs[0], tensor_key(record.attributes.front().tensors.front()));
    }
    const std::string key = node_key(node, record);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      merge(outputs[i], key + std::to_string(graph_.value(outputs[i]).slot));
    }
  }

  std::string node_key(NodeId node, const OnnxNode& record) const {
    std::string key(plain_domain(graph_.domain(node)));
    key += kEnd;
    key += record.op_type;
    key += kEnd;
    key += record.overload;
    for (const Operand& operand : graph_.operands(node)) {
      key += kEnd + std::to_string(operand.slot.position()) + ':' +
             std::to_string(index(same_[index(operand.value)]));
    }
    std::vector<std::string_view> attributes;
    for (const OnnxAttribute& one : record.attributes) {
      if (!is_default(node, one.name)) attributes.push_back(one.record.payload);
    }
    std::sort(attributes.begin(), attributes.end());
    for (const std::string_view one : attributes) (key += kEnd) += one;
    return key += kEnd;
  }

  // Whether the node states the attribute's default.
  bool is_default(NodeId node, std::string_view attribute) const {
    const std::string_view domain = graph_.domain(node);
    const auto opset = opset_of(graph_, node, facts_);
    if (!opset) return false;
    const auto standard = facts_.default_attribute(domain, graph_.op(node), *opset, attribute);
    if (!standard) return false;
    const auto stated = attribute_value(graph_, node, attribute, facts_);
    return stated && cleave::equal_values(*stated, *standard);
  }

  const Graph& graph_;
  const OnnxModel& onnx_;
  const OpFacts facts_ = onnx_op_facts();
  std::vector<ValueId> same_;
  std::unordered_map<std::string, ValueId> firsts_;
  OnnxNode room_;
};

}  // namespace

std::vector<ValueId> equal_values(const Graph& graph, const OnnxModel& model) {
  return EqualValues(graph, model).find();
}

PerNode<NodeId> kept_nodes(const Graph& graph, const std::vector<ValueId>& equal) {
  PerNode<NodeId> kept(graph.node_count(), kNone<NodeId>);
  PerNode<NodeId> first(graph.node_count(),
                        kNone<NodeId>);  // by the node that makes the first value
  for (const NodeId node : graph.nodes()) {
    kept[node] = node;
    const auto outputs = graph.outputs(node);
    if (outputs.size() == 0) continue;
    const auto maker_of = [&](ValueId value) { return graph.value(equal[index(value)]).producer; };
    const NodeId maker = maker_of(outputs[0]);
    if (!graph.nodes().contains(maker) || graph.op(maker) != graph.op(node)) continue;
    const bool is_whole = std::all_of(outputs.begin(), outputs.end(), [&](ValueId value) {
      return maker_of(value) == maker && !graph.is_graph_output(value);
    });
    if (!is_whole) continue;
    if (first[maker] == kNone<NodeId>) first[maker] = node;
    kept[node] = first[maker];
  }
  return kept;
}

}  // namespace cleave
