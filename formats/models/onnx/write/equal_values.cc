#include "formats/models/onnx/write/equal_values.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "core/base/decimal.h"
#include "core/graph/op_name.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/infer/elements.h"

namespace cleave {
namespace {

constexpr char kEnd = '\0';  // of a part of a key

bool is_random_op(std::string_view op) {
  return op.starts_with("Random") || op == "Bernoulli" || op == "Multinomial" || op == "Dropout";
}

class EqualValues {
 public:
  explicit EqualValues(const LoadedModel& model)
      : graph_(model.graph), onnx_(*model.onnx()), same_(model.graph.value_count()) {
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
    if (!elements) return {};
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
    if (outputs.size() == 0 || is_random_op(op) || !graph_.body_nodes(node).empty()) return;
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
    for (const OnnxAttribute& one : record.attributes) attributes.push_back(one.record.payload);
    std::sort(attributes.begin(), attributes.end());
    for (const std::string_view one : attributes) (key += kEnd) += one;
    return key += kEnd;
  }

  const Graph& graph_;
  const OnnxModel& onnx_;
  std::vector<ValueId> same_;
  std::unordered_map<std::string, ValueId> firsts_;
  OnnxNode room_;
};

}  // namespace

std::vector<ValueId> equal_values(const LoadedModel& model) { return EqualValues(model).find(); }

}  // namespace cleave
