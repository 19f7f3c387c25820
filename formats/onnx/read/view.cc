// Views of an ONNX graph: bodies of functions, equal values, what a runtime sees.

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/lists/condition.h"
#include "formats/onnx/infer/infer.h"
#include "formats/onnx/read/reader.h"

namespace cleave {

// ---- equal values ----

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
    std::ranges::sort(attributes);
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
    const bool is_whole = std::ranges::all_of(outputs, [&](ValueId value) {
      return maker_of(value) == maker && !graph.is_graph_output(value);
    });
    if (!is_whole) continue;
    if (first[maker] == kNone<NodeId>) first[maker] = node;
    kept[node] = first[maker];
  }
  return kept;
}

// ---- function bodies ----

namespace {

// Sorted; measured with the models of ONNX's backend tests.
constexpr std::array<std::string_view, 13> kExpanded = {"Bernoulli",
                                                        "CastLike",
                                                        "CausalConvWithState",
                                                        "CenterCropPad",
                                                        "GroupNormalization",
                                                        "HardSwish",
                                                        "LinearAttention",
                                                        "Mish",
                                                        "NegativeLogLikelihoodLoss",
                                                        "SequenceMap",
                                                        "SoftmaxCrossEntropyLoss",
                                                        "SwiGLU",
                                                        "Swish"};

// Made by scripts/dev/newer_operators.py.
constexpr FunctionText kBodies[] = {
#include "formats/onnx/read/function_texts.inc"
};

// The newest body up to that opset; null when there is none.
const FunctionText* find_text(std::string_view op, std::int64_t opset) {
  const FunctionText* found = nullptr;
  for (const FunctionText& text : kBodies) {
    if (text.op == op && text.version <= opset) found = &text;
  }
  return found;
}

// Makes the graph of a body, all of whose values have the type and the shape of the node's first input.
class BodyMaker {
 public:
  BodyMaker(const Graph& graph, NodeId node, const OpFacts& facts)
      : graph_(graph), node_(node), facts_(facts) {
    for (const auto& [domain, version] : graph.opsets()) builder_.add_opset(domain, version);
  }

  std::shared_ptr<const FunctionBody> make(const FunctionText& text) {
    const auto inputs = split_at(text.inputs, " ");
    for (const Operand& operand : graph_.operands(node_)) {
      const std::uint32_t position = operand.slot.position();
      if (position < inputs.size()) add_input(inputs[position], operand.value);
    }
    for (const std::string_view node : split_at(text.nodes, "; ")) add_node(node);
    for (const std::string_view output : split_at(text.outputs, " ")) {
      builder_.add_graph_output(builder_.value_named(output), {});
    }
    return finish();
  }

  // A Cast to the type of the second input.
  std::shared_ptr<const FunctionBody> make_cast() {
    const auto operands = graph_.operands(node_);
    if (operands.size() != 2) return nullptr;
    add_input("input", operands[0].value);
    builder_.add_node({.name = "output", .op = "Cast"});
    builder_.add_operand(builder_.value_named("input"), OperandSlot::positional(0));
    const DType to = graph_.value(operands[1].value).dtype;
    const std::array number = {static_cast<std::int64_t>(to)};
    builder_.add_attribute(builder_.intern("to"), number, AttributeType::integer);
    ValueDecl decl = declared("output", operands[0].value);
    decl.dtype = to;
    builder_.add_graph_output(builder_.add_output(decl, 0), {});
    return finish();
  }

 private:
  ValueDecl declared(std::string_view name, ValueId like) {
    const Value& value = graph_.value(like);
    ValueDecl decl{.name = name, .type = value.type, .dtype = value.dtype};
    if (!graph_.has_rank(like)) return decl;
    std::vector<Dim> dims;
    for (const Dim dim : graph_.shape(like)) {
      dims.push_back(dim.is_symbol() ? Dim::symbol(builder_.intern(graph_.text(dim.name()))) : dim);
    }
    decl.shape = builder_.intern_shape(dims);
    return decl;
  }

  void add_input(std::string_view name, ValueId value) {
    if (like_ == kNone<ValueId>) like_ = value;
    builder_.add_input(declared(name, value), {});
  }

  // `HS_X = HardSigmoid X alpha=f0.16666667`
  void add_node(std::string_view text) {
    const auto words = split_at(text, " ");
    const std::string_view name = words[0], op = words[2];
    const bool is_constant = op == "Constant" || op == "CastLike";  // of a Constant
    ValueDecl decl = declared(name, like_);
    if (is_constant) {
      decl.shape = builder_.intern_shape({});
      builder_.add_parameter(decl, {});
      return;
    }
    builder_.add_node({.name = name, .op = op});
    std::uint32_t position = 0;
    for (std::size_t i = 3; i < words.size(); ++i) {
      const std::size_t equals = words[i].find('=');
      if (equals == words[i].npos) {
        builder_.add_operand(builder_.value_named(words[i]), OperandSlot::positional(position++));
      } else {
        add_attribute(words[i].substr(0, equals), words[i].substr(equals + 1));
      }
    }
    builder_.add_output(decl, 0);
  }

  void add_attribute(std::string_view name, std::string_view text) {
    std::optional<double> value;
    if (text.starts_with('@')) {
      const auto stated = attribute_value(graph_, node_, text.substr(1), facts_);
      if (!stated) return;
      if (const auto* const real = std::get_if<double>(&*stated)) value = *real;
    } else {
      value = double{std::stof(std::string(text.substr(1)))};
    }
    if (!value) return;
    builder_.add_attribute(builder_.intern(name), std::span(&*value, 1), AttributeType::real);
  }

  std::shared_ptr<const FunctionBody> finish() {
    auto made = builder_.finish();
    if (!made) return nullptr;  // the node lacks an input
    return std::make_shared<const FunctionBody>(FunctionBody{*std::move(made), facts_});
  }

  const Graph& graph_;
  const NodeId node_;
  const OpFacts& facts_;
  GraphBuilder builder_;
  ValueId like_ = kNone<ValueId>;
};

}  // namespace

std::span<const FunctionText> function_texts() { return kBodies; }

bool is_expanded_op(const Graph& graph, NodeId node) {
  return plain_domain(graph.domain(node)).empty() &&
         std::ranges::binary_search(kExpanded, graph.op(node));
}

std::shared_ptr<const FunctionBody> onnx_function_body(const Graph& graph, NodeId node,
                                                       const OpFacts& facts) {
  if (!is_expanded_op(graph, node)) return nullptr;
  if (graph.op(node) == "CastLike") return BodyMaker(graph, node, facts).make_cast();
  const auto opset = imported_opset(graph, "");
  const FunctionText* const text = opset ? find_text(graph.op(node), *opset) : nullptr;
  return text == nullptr ? nullptr : BodyMaker(graph, node, facts).make(*text);
}

// ---- runtime view ----

namespace {

bool is_op(const Graph& graph, NodeId node, std::string_view op) {
  return graph.op(node) == op && plain_domain(graph.domain(node)).empty();
}

// The value at an input; kNone where the node has none.
ValueId input_of(const Graph& graph, NodeId node, std::uint32_t position) {
  for (const Operand& operand : graph.operands(node)) {
    const OperandSlot slot = operand.slot;
    if (slot.is_positional() && slot.position() == position) return operand.value;
  }
  return kNone<ValueId>;
}

// Whether all inputs but the first are constants.
bool has_constant_weights(const Graph& graph, NodeId node) {
  const auto operands = graph.operands(node);
  return std::ranges::all_of(operands, [&](const Operand& operand) {
    return operand.slot.position() == 0 || graph.is_parameter(operand.value);
  });
}

bool is_unused(const Graph& graph, ValueId value) {
  return graph.users(value).empty() && !graph.is_graph_output(value);
}

// Whether only the first output is used.
bool has_one_result(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return std::ranges::all_of(outputs, [&](ValueId value) {
    return graph.value(value).slot == 0 || is_unused(graph, value);
  });
}

// True when every input but the first is an initializer of the file or made by a Constant.
bool has_stored_weights(const Graph& graph, NodeId node) {
  const auto operands = graph.operands(node);
  return std::ranges::all_of(operands, [&](const Operand& operand) {
    const NodeId maker = graph.value(operand.value).producer;
    return operand.slot.position() == 0 || maker == kNone<NodeId> || graph.op(maker) == "Constant";
  });
}

// Whether one node alone reads the value. Nodes with stored weights are fused before equal ones are merged, those
// whose weights are computed first, after it.
bool has_one_reader(const Graph& graph, ValueId value, bool is_merged, const MergedNodes& merged) {
  if (!is_merged || merged.values.empty()) return graph.users(value).size() == 1;
  return merged.readers[merged.values[value]] == 1;
}

// The Conv that a BatchNormalization becomes part of: its weights are changed.
NodeId conv_before(const Graph& graph, NodeId node, const MergedNodes& merged) {
  if (!is_op(graph, node, "BatchNormalization") || !has_constant_weights(graph, node) ||
      !has_one_result(graph, node)) {
    return kNone<NodeId>;
  }
  const ValueId read = input_of(graph, node, 0);
  if (read == kNone<ValueId>) return kNone<NodeId>;
  const NodeId conv = graph.value(read).producer;
  if (!graph.nodes().contains(conv) || !is_op(graph, conv, "Conv")) return kNone<NodeId>;
  if (graph.is_graph_output(read) || !has_constant_weights(graph, conv)) return kNone<NodeId>;
  const bool is_stored = has_stored_weights(graph, conv) && has_stored_weights(graph, node);
  return has_one_reader(graph, read, !is_stored, merged) ? conv : kNone<NodeId>;
}

bool is_removed(const Graph& graph, NodeId node) {
  if (is_op(graph, node, "Identity")) return true;
  if (!is_op(graph, node, "Dropout") || !has_one_result(graph, node)) return false;
  const ValueId is_training = input_of(graph, node, 2);
  return is_training == kNone<ValueId> || graph.is_parameter(is_training);
}

// The first reader that stays.
NodeId reader_after(const Graph& graph, NodeId node) {
  for (int i = 0; i < kMostRemovedInARow; ++i) {
    const auto readers = graph.readers(node);
    if (readers.empty()) return kNone<NodeId>;
    node = readers.front();
    if (!is_removed(graph, node)) return node;
  }
  return kNone<NodeId>;
}

// Linear. `model` is that of the graph.
MergedNodes merged_nodes(const Graph& graph, const OnnxModel& model) {
  MergedNodes merged;
  merged.kept = kept_nodes(graph, equal_values(graph, model));
  merged.values = PerValue<ValueId>(graph.value_count());
  for (const ValueId value : IdRange<ValueId>(0, graph.value_count())) merged.values[value] = value;
  for (const NodeId node : graph.nodes()) {
    const NodeId kept = merged.kept[node];
    if (kept == node) continue;
    for (const ValueId value : graph.outputs(node)) {
      for (const ValueId own : graph.outputs(kept)) {
        if (graph.value(own).slot == graph.value(value).slot) merged.values[value] = own;
      }
    }
  }
  merged.readers = PerValue<std::uint32_t>(graph.value_count());
  for (const ValueId value : IdRange<ValueId>(0, graph.value_count())) {
    for (const NodeId reader : graph.users(value)) {
      if (merged.kept[reader] == reader) ++merged.readers[merged.values[value]];
    }
  }
  return merged;
}

// The node that this one becomes a part of, or stands for this one, or, if it is removed, that makes what it
// passes on: where an input of the model does, the first that reads it. kNone: it stays, or nothing is left of it. At
// most kMostRemovedInARow nodes are looked through.
NodeId onnx_runtime_host(const Graph& graph, NodeId node, const MergedNodes& merged) {
  if (!graph.nodes().contains(node)) return kNone<NodeId>;
  const auto kept = [&](NodeId one) { return merged.values.empty() ? one : merged.kept[one]; };
  if (!is_removed(graph, node)) {
    const NodeId stays = kept(node);
    const NodeId conv = conv_before(graph, stays, merged);
    if (conv != kNone<NodeId>) return kept(conv);
    return stays == node ? kNone<NodeId> : stays;
  }
  NodeId at = node;
  for (int i = 0; i < kMostRemovedInARow && is_removed(graph, at); ++i) {
    const ValueId read = input_of(graph, at, 0);
    const NodeId maker = read == kNone<ValueId> ? kNone<NodeId> : graph.value(read).producer;
    if (!graph.nodes().contains(maker)) return reader_after(graph, node);
    at = maker;
  }
  if (is_removed(graph, at)) return kNone<NodeId>;
  at = kept(at);
  const NodeId conv = conv_before(graph, at, merged);
  return conv == kNone<NodeId> ? at : kept(conv);
}

}  // namespace

void add_runtime_view(OpFacts& facts, const OnnxModel* model) {
  // Found when it is first asked for: most lists speak of the model's own graph.
  struct Known {
    std::once_flag once;
    MergedNodes merged;
  };
  facts.runtime_host = [model, known = std::make_shared<Known>()](const Graph& graph, NodeId node) {
    std::call_once(known->once, [&] {
      if (model != nullptr) known->merged = merged_nodes(graph, *model);
    });
    return onnx_runtime_host(graph, node, known->merged);
  };
  facts.function_body = [defaults = facts.default_attribute, versions = facts.schema_version](
                            const Graph& graph, NodeId node) {
    OpFacts of_body;  // the model's constants are not those of the body
    of_body.default_attribute = defaults;
    of_body.schema_version = versions;
    add_runtime_view(of_body);
    return onnx_function_body(graph, node, of_body);
  };
}

}  // namespace cleave
