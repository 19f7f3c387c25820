#include "formats/models/onnx/view/function_bodies.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/condition/attribute_value.h"
#include "core/graph/graph_builder.h"
#include "core/graph/op_name.h"

namespace cleave {
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

// The newest body up to that opset; null when there is none.
const FunctionText* find_text(std::string_view op, std::int64_t opset) {
  const FunctionText* found = nullptr;
  for (const FunctionText& text : function_texts()) {
    if (text.op == op && text.version <= opset) found = &text;
  }
  return found;
}

std::vector<std::string_view> parts_of(std::string_view text, std::string_view between) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(between), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + between.size(), text.size()));
  }
  return parts;
}

// Makes the graph of a body, all of whose values have the type and the shape of the node's first input.
class BodyMaker {
 public:
  BodyMaker(const Graph& graph, NodeId node, const OpFacts& facts)
      : graph_(graph), node_(node), facts_(facts) {
    for (const auto& [domain, version] : graph.opsets()) builder_.add_opset(domain, version);
  }

  std::shared_ptr<const FunctionBody> make(const FunctionText& text) {
    const auto inputs = parts_of(text.inputs, " ");
    for (const Operand& operand : graph_.operands(node_)) {
      const std::uint32_t position = operand.slot.position();
      if (position < inputs.size()) add_input(inputs[position], operand.value);
    }
    for (const std::string_view node : parts_of(text.nodes, "; ")) add_node(node);
    for (const std::string_view output : parts_of(text.outputs, " ")) {
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
    const auto words = parts_of(text, " ");
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

bool is_expanded_op(const Graph& graph, NodeId node) {
  return plain_domain(graph.domain(node)).empty() &&
         std::binary_search(kExpanded.begin(), kExpanded.end(), graph.op(node));
}

std::shared_ptr<const FunctionBody> onnx_function_body(const Graph& graph, NodeId node,
                                                       const OpFacts& facts) {
  if (!is_expanded_op(graph, node)) return nullptr;
  if (graph.op(node) == "CastLike") return BodyMaker(graph, node, facts).make_cast();
  const auto opset = imported_opset(graph, "");
  const FunctionText* const text = opset ? find_text(graph.op(node), *opset) : nullptr;
  return text == nullptr ? nullptr : BodyMaker(graph, node, facts).make(*text);
}

}  // namespace cleave
