#include "core/condition/relation_value.h"

#include <array>
#include <string_view>

#include "core/condition/attribute_value.h"
#include "core/condition/relation_arithmetic.h"
#include "core/graph/node_lookup.h"

namespace cleave {
namespace {

using Kind = RelationTerm::Kind;

RelationItem item_of(const Literal& literal) {
  return std::visit([](const auto& held) -> RelationItem { return held; }, literal);
}

RelationValue value_of(const Literal& literal) {
  return std::visit([](const auto& held) -> RelationValue { return held; }, literal);
}

RelationValue dims_of(Shape shape) {
  std::vector<RelationItem> dims;
  for (const Dim dim : shape) {
    RelationItem& item = dims.emplace_back();
    if (dim.is_fixed()) item = dim.size();
  }
  return dims;
}

RelationValue strides_of(const OpFacts& facts, ValueId id) {
  const auto layout = facts.layout ? facts.layout(id) : std::nullopt;
  if (!layout || layout->layouts.contains(LayoutName::sparse)) return {};
  std::vector<RelationItem> strides;
  for (const auto& stride : layout->strides) {
    RelationItem& item = strides.emplace_back();
    if (stride) item = *stride;
  }
  return strides;
}

RelationValue property_of(const Graph& graph, ValueId id, std::string_view property,
                          const OpFacts& facts) {
  const Value& value = graph.value(id);
  if (property == "given") return truth_value(true);
  if (property == "constant") return truth_value(is_constant(graph, id, facts));
  if (!value.is_tensor()) return {};
  if (property == "dtype") {
    if (value.dtype == DType::unknown) return {};
    return std::string(dtype_name(value.dtype));
  }
  if (property == "stride") return strides_of(facts, id);
  if (!graph.has_rank(id)) return {};
  const Shape shape = graph.shape(id);
  if (property == "rank") return static_cast<std::int64_t>(shape.size());
  if (property == "dim") return dims_of(shape);
  const auto count = element_count(shape);
  return count ? RelationValue(static_cast<std::int64_t>(*count)) : RelationValue{};
}

RelationValue attribute_term(const Graph& graph, NodeId node, std::string_view name,
                             const OpFacts& facts) {
  const auto value = attribute_value(graph, node, name, facts);
  if (!value) return {};
  if (const auto* const integer = std::get_if<std::int64_t>(&*value)) return *integer;
  if (const auto* const real = std::get_if<double>(&*value)) return *real;
  if (const auto* const text = std::get_if<std::string>(&*value)) return *text;
  std::vector<RelationItem> items;
  for (const Literal& literal : std::get<std::vector<Literal>>(*value)) {
    items.push_back(item_of(literal));
  }
  return items;
}

RelationValue input_term(const Graph& graph, NodeId node, const RelationTerm& term,
                         const OpFacts& facts) {
  if (const Operand* const input = find_plain_input(graph, node, term.position)) {
    return property_of(graph, input->value, term.text, facts);
  }
  return term.text == "given" ? truth_value(false) : RelationValue{};
}

RelationValue output_term(const Graph& graph, NodeId node, const RelationTerm& term,
                          const OpFacts& facts) {
  for (const ValueId output : graph.outputs(node)) {
    if (graph.value(output).slot == term.position)
      return property_of(graph, output, term.text, facts);
  }
  return term.text == "given" ? truth_value(false) : RelationValue{};
}

std::int64_t input_count(const Graph& graph, NodeId node) {
  std::int64_t count = 0;
  for (const Operand& operand : graph.operands(node)) count += operand.slot.is_capture() ? 0 : 1;
  return count;
}

std::string sign_text(Kind kind) {
  static constexpr std::array<std::string_view, 6> kSigns = {"==", "!=", "<", "<=", ">", ">="};
  return std::string(
      kSigns[static_cast<std::size_t>(kind) - static_cast<std::size_t>(Kind::equal)]);
}

// The values of all terms for the nodes, in order.
class TermValues {
 public:
  TermValues(const Relation& relation, const Graph& graph, std::span<const NodeId> nodes,
             const OpFacts& facts)
      : relation_(relation), graph_(graph), nodes_(nodes), facts_(facts) {
    values_.reserve(relation.terms.size());
    for (const RelationTerm& term : relation.terms) values_.push_back(compute(term));
  }

  const RelationValue& whole() const { return values_.back(); }

  RelationFailure failure() const {
    std::uint32_t at = static_cast<std::uint32_t>(relation_.terms.size() - 1);
    while (relation_.terms[at].kind == Kind::logical_and) {
      const RelationTerm& term = relation_.terms[at];
      const auto left = truth_of(values_[term.first]);
      const auto right = truth_of(values_[term.second]);
      const bool is_left = left == false || (!left && right != false);
      at = is_left ? term.first : term.second;
    }
    return describe(at);
  }

 private:
  RelationValue compute(const RelationTerm& term) const {
    switch (term.kind) {
      case Kind::literal:
        return value_of(term.literal);
      case Kind::attribute:
        return attribute_term(graph_, nodes_[term.node], term.text, facts_);
      case Kind::input:
        return input_term(graph_, nodes_[term.node], term, facts_);
      case Kind::output:
        return output_term(graph_, nodes_[term.node], term, facts_);
      case Kind::input_count:
        return input_count(graph_, nodes_[term.node]);
      case Kind::output_count:
        return static_cast<std::int64_t>(graph_.outputs(nodes_[term.node]).size());
      default:
        return compute_from(term, values_[term.first]);
    }
  }

  RelationValue compute_from(const RelationTerm& term, const RelationValue& first) const {
    switch (term.kind) {
      case Kind::item:
        return item_at(first, values_[term.second]);
      case Kind::negate:
        return combined(Kind::minus, std::int64_t{0}, first);
      case Kind::logical_not: {
        const auto truth = truth_of(first);
        return truth ? truth_value(!*truth) : RelationValue{};
      }
      case Kind::logical_and:
      case Kind::logical_or:
        return logical(term.kind, first, values_[term.second]);
      case Kind::length:
      case Kind::least:
      case Kind::greatest:
      case Kind::all:
      case Kind::any:
        return function_value(term.kind, first);
      case Kind::list:
        return joined(first, values_[term.second]);
      default:
        return combined(term.kind, first, values_[term.second]);
    }
  }

  std::string text_of(std::uint32_t term) const {
    const std::uint32_t begin = relation_.terms[term].begin;
    return relation_.text.substr(begin, relation_.terms[term].end - begin);
  }

  // If one side of a comparison is unknown, the failure names that side.
  RelationFailure describe(std::uint32_t at) const {
    const RelationTerm& term = relation_.terms[at];
    RelationFailure failure;
    failure.is_unknown = !truth_of(values_[at]);
    failure.part = text_of(at);
    if (!is_comparison(term.kind)) return failure;
    for (const std::uint32_t side : {term.first, term.second}) {
      if (!failure.is_unknown || !is_unknown(values_[side])) continue;
      failure.part = text_of(side);
      return failure;
    }
    failure.is_comparison = true;
    failure.sign = sign_text(term.kind);
    failure.left = values_[term.first];
    failure.right = values_[term.second];
    return failure;
  }

  const Relation& relation_;
  const Graph& graph_;
  std::span<const NodeId> nodes_;
  const OpFacts& facts_;
  std::vector<RelationValue> values_;
};

}  // namespace

bool relation_holds(const Relation& relation, const Graph& graph, NodeId node,
                    const OpFacts& facts) {
  return relation_holds(relation, graph, std::span(&node, 1), facts);
}

bool relation_holds(const Relation& relation, const Graph& graph, std::span<const NodeId> nodes,
                    const OpFacts& facts) {
  return truth_of(TermValues(relation, graph, nodes, facts).whole()) == true;
}

RelationFailure relation_failure(const Relation& relation, const Graph& graph, NodeId node,
                                 const OpFacts& facts) {
  return relation_failure(relation, graph, std::span(&node, 1), facts);
}

RelationFailure relation_failure(const Relation& relation, const Graph& graph,
                                 std::span<const NodeId> nodes, const OpFacts& facts) {
  return TermValues(relation, graph, nodes, facts).failure();
}

}  // namespace cleave
