#include "core/condition/relation_value.h"

#include <array>
#include <string_view>
#include <utility>

#include "core/condition/attribute_value.h"
#include "core/graph/node_lookup.h"
#include "core/graph/shape.h"

namespace cleave {
namespace {

using Kind = RelationTerm::Kind;
using Items = std::vector<RelationItem>;

// ---- arithmetic and comparison of two items ----

std::optional<double> real_of(const RelationItem& item) {
  if (const auto* const integer = std::get_if<std::int64_t>(&item)) {
    return static_cast<double>(*integer);
  }
  if (const auto* const real = std::get_if<double>(&item)) return *real;
  return std::nullopt;
}

// Unknown on overflow and on division by zero. The remainder has the sign of the divisor.
RelationItem integer_result(Kind kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (kind) {
    case Kind::plus:
      if (__builtin_add_overflow(a, b, &result)) return {};
      return result;
    case Kind::minus:
      if (__builtin_sub_overflow(a, b, &result)) return {};
      return result;
    case Kind::times:
      if (__builtin_mul_overflow(a, b, &result)) return {};
      return result;
    default:
      break;
  }
  if (b == 0) return {};
  if (b == -1) {
    if (kind == Kind::modulo) return std::int64_t{0};
    if (__builtin_sub_overflow(std::int64_t{0}, a, &result)) return {};
    return result;
  }
  const std::int64_t remainder = a % b;
  const bool is_below = remainder != 0 && (remainder < 0) != (b < 0);
  if (kind == Kind::modulo) return is_below ? remainder + b : remainder;
  return is_below ? a / b - 1 : a / b;
}

RelationItem real_result(Kind kind, double a, double b) {
  switch (kind) {
    case Kind::plus:
      return a + b;
    case Kind::minus:
      return a - b;
    case Kind::times:
      return a * b;
    case Kind::divide:
      if (b != 0) return a / b;
      return {};
    default:
      return {};
  }
}

RelationItem arithmetic(Kind kind, const RelationItem& a, const RelationItem& b) {
  const auto* const left = std::get_if<std::int64_t>(&a);
  const auto* const right = std::get_if<std::int64_t>(&b);
  if (left != nullptr && right != nullptr) return integer_result(kind, *left, *right);
  const auto x = real_of(a);
  const auto y = real_of(b);
  if (!x || !y) return {};
  return real_result(kind, *x, *y);
}

template <class Number>
bool holds(Kind kind, const Number& a, const Number& b) {
  switch (kind) {
    case Kind::equal:
      return a == b;
    case Kind::unequal:
      return a != b;
    case Kind::less:
      return a < b;
    case Kind::less_equal:
      return a <= b;
    case Kind::greater:
      return a > b;
    default:
      return a >= b;
  }
}

RelationItem truth(bool value) { return std::int64_t{value ? 1 : 0}; }

// Texts compare with == and != only; a text is unequal to any number.
RelationItem comparison(Kind kind, const RelationItem& a, const RelationItem& b) {
  if (a.index() == 0 || b.index() == 0) return {};
  const auto* const text_a = std::get_if<std::string>(&a);
  const auto* const text_b = std::get_if<std::string>(&b);
  if (text_a != nullptr || text_b != nullptr) {
    if (kind != Kind::equal && kind != Kind::unequal) return {};
    const bool same = text_a != nullptr && text_b != nullptr && *text_a == *text_b;
    return truth(same == (kind == Kind::equal));
  }
  const auto* const left = std::get_if<std::int64_t>(&a);
  const auto* const right = std::get_if<std::int64_t>(&b);
  if (left != nullptr && right != nullptr) return truth(holds(kind, *left, *right));
  return truth(holds(kind, *real_of(a), *real_of(b)));
}

RelationItem combine(Kind kind, const RelationItem& a, const RelationItem& b) {
  return is_comparison(kind) ? comparison(kind, a, b) : arithmetic(kind, a, b);
}

// ---- values ----

RelationValue value_of_item(RelationItem item) {
  return std::visit([](auto& held) -> RelationValue { return std::move(held); }, item);
}

const Items* items_of(const RelationValue& value) { return std::get_if<Items>(&value); }

// Unknown for a list.
RelationItem single(const RelationValue& value) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  return {};
}

std::optional<bool> truth_of_item(const RelationItem& item) {
  if (const auto* const integer = std::get_if<std::int64_t>(&item)) return *integer != 0;
  if (const auto* const real = std::get_if<double>(&item)) return *real != 0;
  return std::nullopt;
}

RelationValue compare_lists(Kind kind, const Items& a, const Items& b) {
  if (kind != Kind::equal && kind != Kind::unequal) return {};
  std::optional<bool> same = a.size() == b.size();
  for (std::size_t i = 0; same == true && i < a.size(); ++i) {
    same = truth_of_item(comparison(Kind::equal, a[i], b[i]));
  }
  if (!same) return {};
  return truth_value(*same == (kind == Kind::equal));
}

// all() of an empty list is true, any() is false.
RelationValue all_or_any(Kind kind, const RelationValue& value) {
  const Items* const items = items_of(value);
  if (items == nullptr) return truth_value(truth_of_item(single(value)));
  const bool decides = kind == Kind::any;
  bool is_known = true;
  for (const RelationItem& item : *items) {
    const auto truth = truth_of_item(item);
    if (truth == decides) return truth_value(decides);
    is_known = is_known && truth.has_value();
  }
  return is_known ? truth_value(!decides) : RelationValue{};
}

RelationValue least_or_greatest(Kind kind, const RelationValue& value) {
  const Items* const items = items_of(value);
  if (items == nullptr) return value;
  RelationItem best;
  for (const RelationItem& item : *items) {
    if (!real_of(item)) return {};
    const auto is_better =
        truth_of_item(comparison(kind == Kind::least ? Kind::less : Kind::greater, item, best));
    if (best.index() == 0 || is_better == true) best = item;
  }
  return value_of_item(best);
}

RelationValue length_of(const RelationValue& value) {
  const Items* const items = items_of(value);
  return items != nullptr ? RelationValue(static_cast<std::int64_t>(items->size()))
                          : RelationValue{};
}

}  // namespace

bool is_comparison(Kind kind) { return kind >= Kind::equal && kind <= Kind::greater_equal; }

bool is_unknown(const RelationValue& value) { return value.index() == 0; }

std::optional<bool> truth_of(const RelationValue& value) {
  return truth_of_item(single(items_of(value) == nullptr ? value : all_or_any(Kind::all, value)));
}

RelationValue truth_value(std::optional<bool> truth) {
  if (!truth) return {};
  return std::int64_t{*truth ? 1 : 0};
}

RelationValue function_value(Kind kind, const RelationValue& value) {
  if (kind == Kind::length) return length_of(value);
  if (kind == Kind::all || kind == Kind::any) return all_or_any(kind, value);
  return least_or_greatest(kind, value);
}

RelationValue combined(Kind kind, const RelationValue& a, const RelationValue& b) {
  const Items* const left = items_of(a);
  const Items* const right = items_of(b);
  if (left == nullptr && right == nullptr)
    return value_of_item(combine(kind, single(a), single(b)));
  if (left != nullptr && right != nullptr) {
    return is_comparison(kind) ? compare_lists(kind, *left, *right) : RelationValue{};
  }
  if (a.index() == 0 || b.index() == 0) return {};
  Items result;
  for (const RelationItem& item : left != nullptr ? *left : *right) {
    result.push_back(left != nullptr ? combine(kind, item, single(b))
                                     : combine(kind, single(a), item));
  }
  return result;
}

RelationValue logical(Kind kind, const RelationValue& a, const RelationValue& b) {
  const bool decides = kind == Kind::logical_or;
  const auto left = truth_of(a);
  const auto right = truth_of(b);
  if (left == decides || right == decides) return truth_value(decides);
  return left && right ? truth_value(!decides) : RelationValue{};
}

RelationValue joined(const RelationValue& a, const RelationValue& b) {
  Items result;
  for (const RelationValue* const value : {&a, &b}) {
    const Items* const items = items_of(*value);
    if (items != nullptr) result.insert(result.end(), items->begin(), items->end());
    if (items == nullptr) result.push_back(single(*value));
  }
  return result;
}

RelationValue item_at(const RelationValue& list, const RelationValue& index) {
  const Items* const items = items_of(list);
  const auto* const at = std::get_if<std::int64_t>(&index);
  if (items == nullptr || at == nullptr) return {};
  const auto place = axis_of(*at, items->size());
  return place ? value_of_item((*items)[*place]) : RelationValue{};
}

RelationValue tail_from(const RelationValue& list, const RelationValue& first) {
  const Items* const items = items_of(list);
  const auto* const from = std::get_if<std::int64_t>(&first);
  if (items == nullptr || from == nullptr) return {};
  const auto size = static_cast<std::int64_t>(items->size());
  const std::int64_t at = std::clamp(*from < 0 ? *from + size : *from, std::int64_t{0}, size);
  return Items(items->begin() + at, items->end());
}

namespace {

RelationItem item_of(const Literal& literal) {
  return std::visit([](const auto& held) -> RelationItem { return held; }, literal);
}

RelationValue value_of_literal(const Literal& literal) {
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

// One number, or a list of several.
template <class Number>
RelationValue numbers_of(const std::vector<Number>& numbers) {
  if (numbers.empty()) return {};
  if (numbers.size() == 1) return numbers.front();
  return Items(numbers.begin(), numbers.end());
}

bool is_of_quantization(std::string_view property) {
  return property.starts_with("scale") || property.starts_with("quantized") ||
         property == "zero_point";
}

RelationValue quantization_of(const Graph& graph, ValueId id, std::string_view property,
                              const OpFacts& facts) {
  const auto found = facts.quantization ? facts.quantization(graph, id) : std::nullopt;
  if (!found) return {};
  if (property == "quantized") return truth_value(found->kind != Quantization::Kind::none);
  if (found->kind == Quantization::Kind::other) return {};
  if (property == "scales") return static_cast<std::int64_t>(found->scales.size());
  if (property == "scale") return numbers_of(found->scales);
  if (property == "zero_point") return numbers_of(found->zero_points);
  if (found->kind != Quantization::Kind::axis) return {};
  return found->axis;
}

RelationValue elements_of(const Graph& graph, ValueId id, const OpFacts& facts) {
  if (!is_constant(graph, id, facts) || !facts.elements) return {};
  const auto elements = facts.elements(graph, id);
  if (!elements) return {};
  Items items;
  for (const Literal& element : *elements) items.push_back(item_of(element));
  return items;
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
  if (property == "values") return elements_of(graph, id, facts);
  if (is_of_quantization(property)) return quantization_of(graph, id, property, facts);
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

// The property of all tensors that the node reads, or makes, as one list.
RelationValue every_term(const Graph& graph, NodeId node, const RelationTerm& term,
                         const OpFacts& facts) {
  RelationValue list = Items();
  const auto add = [&](ValueId value) {
    if (graph.value(value).is_tensor()) {
      list = joined(list, property_of(graph, value, term.text, facts));
    }
  };
  if (term.kind == Kind::output) {
    for (const ValueId output : graph.outputs(node)) add(output);
    return list;
  }
  for (const Operand& operand : graph.operands(node)) {
    if (operand.slot.is_positional()) add(operand.value);
  }
  return list;
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
        return value_of_literal(term.literal);
      case Kind::attribute:
        return attribute_term(graph_, nodes_[term.node], term.text, facts_);
      case Kind::input:
        if (term.position == RelationTerm::kNone) {
          return every_term(graph_, nodes_[term.node], term, facts_);
        }
        return input_term(graph_, nodes_[term.node], term, facts_);
      case Kind::output:
        if (term.position == RelationTerm::kNone) {
          return every_term(graph_, nodes_[term.node], term, facts_);
        }
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
      case Kind::tail:
        return tail_from(first, values_[term.second]);
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
