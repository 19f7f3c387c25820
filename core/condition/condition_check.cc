#include "core/condition/condition_check.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/condition/attribute_value.h"
#include "core/graph/node_lookup.h"
#include "core/graph/op_name.h"

namespace cleave {
namespace {

using Instead = std::optional<FoundInstead>;

bool equal_literals(const Literal& a, const Literal& b) {
  const auto as_value = [](const Literal& literal) {
    return std::visit([](const auto& held) { return AttributeValue(held); }, literal);
  };
  return equal_values(as_value(a), as_value(b));
}

// ---- elements of constants ----

std::optional<double> number_of(const Literal& literal) {
  if (const auto* const integer = std::get_if<std::int64_t>(&literal)) {
    return static_cast<double>(*integer);
  }
  if (const auto* const real = std::get_if<double>(&literal)) return *real;
  return std::nullopt;
}

bool is_power_of_two(double number) {
  int exponent = 0;
  return number > 0 && std::isfinite(number) && std::frexp(number, &exponent) == 0.5;
}

bool accepts_element(const ValuesCondition& wanted, const Literal& element) {
  const auto equals = [&](const Literal& other) { return equal_literals(element, other); };
  if (!wanted.one_of.empty() && std::none_of(wanted.one_of.begin(), wanted.one_of.end(), equals)) {
    return false;
  }
  const bool has_bounds = wanted.min || wanted.max || wanted.power_of_two || wanted.finite;
  if (!has_bounds) return true;
  const auto number = number_of(element);
  if (!number) return false;
  if (wanted.min && !(*number >= *wanted.min)) return false;
  if (wanted.max && !(*number <= *wanted.max)) return false;
  if (wanted.power_of_two && !is_power_of_two(*number)) return false;
  return !wanted.finite || std::isfinite(*number);
}

Instead check_elements(const ValuesCondition& wanted, const std::vector<Literal>& elements) {
  if (wanted.list && wanted.list->size() != elements.size()) return FoundCount{elements.size()};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const bool in_list = !wanted.list || equal_literals((*wanted.list)[i], elements[i]);
    if (!in_list || !accepts_element(wanted, elements[i])) return FoundElement{i, elements[i]};
  }
  return std::nullopt;
}

// ---- shapes ----

FoundDim found_dim(const Graph& graph, Dim dim, std::int64_t axis) {
  FoundDim found{axis, std::nullopt, {}};
  if (dim.is_fixed()) found.size = dim.size();
  if (dim.is_symbol()) found.symbol = graph.text(dim.name());
  return found;
}

// ---- quantisation ----

bool accepts_way(const QuantizationSet& wanted, const Quantization& found) {
  using Way = QuantizationSet::Way;
  const bool is_quantized = found.kind != Quantization::Kind::none;
  if (wanted.ways == 0) return is_quantized;
  return wanted.has(static_cast<Way>(found.kind)) ||
         (wanted.has(Way::symmetric) && found.is_symmetric());
}

// A tensor that is not quantised has no numbers whose type is asked for.
bool accepts_quantization(const QuantizationSet& wanted, const Quantization& found) {
  if (!accepts_way(wanted, found)) return false;
  if (wanted.types == TypeSet{} || found.kind == Quantization::Kind::none) return true;
  return (wanted.types.dtypes >> static_cast<unsigned>(found.stored) & 1U) != 0;
}

// ---- the check ----

class Checker {
 public:
  Checker(const Graph& graph, NodeId node, const OpFacts& facts)
      : graph_(graph), node_(node), facts_(facts) {}

  Instead operator()(const ConstantCondition& wanted) const {
    return of_input(wanted.input, [&](ValueId value) -> Instead {
      if (is_constant(graph_, value, facts_) == wanted.wanted) return std::nullopt;
      if (graph_.is_parameter(value) && wanted.wanted) return FoundWritten{};
      return FoundOpposite{};
    });
  }

  Instead operator()(const GivenCondition& wanted) const {
    const auto operands = graph_.operands(node_);
    const bool is_given =
        std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
          return operand.slot.is_positional() && operand.slot.position() == wanted.input;
        });
    if (is_given == wanted.wanted) return std::nullopt;
    return FoundOpposite{};
  }

  Instead operator()(const OutputsUsedCondition& wanted) const {
    for (const ValueId output : graph_.outputs(node_)) {
      const std::uint32_t slot = graph_.value(output).slot;
      const bool is_used = !graph_.users(output).empty() || graph_.is_graph_output(output);
      const auto& allowed = wanted.outputs;
      if (is_used && !std::binary_search(allowed.begin(), allowed.end(), slot)) {
        return FoundReaders{slot};
      }
    }
    return std::nullopt;
  }

  Instead operator()(const RankCondition& wanted) const {
    return of_tensor(wanted.input, [&](Shape shape) -> Instead {
      if (wanted.rank.accepts(static_cast<std::int64_t>(shape.size()))) return std::nullopt;
      return FoundRank{shape.size()};
    });
  }

  Instead operator()(const MaxRankCondition& wanted) const {
    return of_each_tensor([&](std::uint32_t position, ValueId value) -> Instead {
      if (!graph_.has_rank(value)) return FoundShapeOf{position, FoundNoRank{}};
      const std::size_t rank = graph_.shape(value).size();
      if (static_cast<std::int64_t>(rank) <= wanted.most) return std::nullopt;
      return FoundShapeOf{position, FoundRank{rank}};
    });
  }

  Instead operator()(const DimCondition& wanted) const {
    return of_tensor(wanted.input, [&](Shape shape) -> Instead {
      const auto place = axis_of(wanted.axis, shape.size());
      if (!place) return FoundRank{shape.size()};
      const Dim dim = shape[*place];
      if (dim.is_fixed() && wanted.size.accepts(dim.size())) return std::nullopt;
      return found_dim(graph_, dim, wanted.axis);
    });
  }

  Instead operator()(const EveryInputCondition& wanted) const {
    return of_each_input([&](std::uint32_t position, ValueId id) -> Instead {
      const Value& value = graph_.value(id);
      if (wanted.types.accepts(value)) return std::nullopt;
      return FoundType{position, value.type, value.dtype};
    });
  }

  Instead operator()(const SameInputsCondition&) const {
    std::optional<FoundType> first;
    return of_each_input([&](std::uint32_t position, ValueId id) -> Instead {
      const Value& value = graph_.value(id);
      const FoundType found{position, value.type, value.dtype};
      if (!first) first = found;
      const bool is_known = !value.is_tensor() || value.dtype != DType::unknown;
      if (is_known && found.type == first->type && found.dtype == first->dtype) {
        return std::nullopt;
      }
      return FoundTypes{*first, found};
    });
  }

  Instead operator()(const InputShapeCondition& wanted) const {
    using Wanted = InputShapeCondition::Shape;
    const std::size_t first = wanted.shape == Wanted::batched ? 1 : 0;
    const Instead open = of_each_tensor([&](std::uint32_t position, ValueId value) -> Instead {
      if (!graph_.has_rank(value)) return FoundShapeOf{position, FoundNoRank{}};
      const Shape shape = graph_.shape(value);
      for (std::size_t axis = first; axis < shape.size(); ++axis) {
        if (shape[axis].is_fixed()) continue;
        return FoundShapeOf{position,
                            found_dim(graph_, shape[axis], static_cast<std::int64_t>(axis))};
      }
      return std::nullopt;
    });
    if (wanted.shape != Wanted::open) return open;
    if (open) return std::nullopt;
    return FoundAllKnown{};
  }

  Instead operator()(const ValuesCondition& wanted) const {
    return of_input(wanted.input, [&](ValueId value) -> Instead {
      if (!graph_.is_parameter(value)) return FoundVariable{};
      if (!is_constant(graph_, value, facts_)) return FoundWritten{};
      if (!facts_.elements) return FoundNoElements{};
      const auto elements = facts_.elements(graph_, value);
      if (!elements) return FoundNoElements{};
      return check_elements(wanted, *elements);
    });
  }

  Instead operator()(const LayoutCondition& wanted) const {
    return of_input(wanted.input, [&](ValueId value) -> Instead {
      if (!graph_.value(value).is_tensor()) return FoundNoTensor{graph_.value(value).type};
      auto layout = facts_.layout ? facts_.layout(value) : std::nullopt;
      if (!layout) return FoundNoLayout{};
      if (layout->layouts.meets(wanted.one_of)) return std::nullopt;
      return FoundLayout{*std::move(layout)};
    });
  }

  Instead operator()(const AbsentAttributeCondition& wanted) const {
    const bool is_absent = find_attribute(graph_, node_, wanted.name) == nullptr;
    if (is_absent == wanted.wanted) return std::nullopt;
    return FoundOpposite{};
  }

  Instead operator()(const QuantizedCondition& wanted) const {
    using Of = QuantizedCondition::Of;
    if (wanted.of == Of::input) {
      return of_input(wanted.place, [&](ValueId value) {
        return check_quantization(wanted.wanted, value, wanted.place.position, false);
      });
    }
    if (wanted.of != Of::output) {
      const Instead found = of_each_tensor([&](std::uint32_t position, ValueId value) -> Instead {
        if (wanted.of == Of::activations && is_constant(graph_, value, facts_)) return {};
        return check_quantization(wanted.wanted, value, position, false);
      });
      if (found) return found;
    }
    for (const ValueId output : graph_.outputs(node_)) {
      const std::uint32_t slot = graph_.value(output).slot;
      if (wanted.of == Of::output && slot != wanted.place.position) continue;
      if (Instead found = check_quantization(wanted.wanted, output, slot, true)) return found;
    }
    return std::nullopt;
  }

  Instead operator()(const RelationCondition& wanted) const {
    if (relation_holds(wanted.relation, graph_, node_, facts_)) return std::nullopt;
    return relation_failure(wanted.relation, graph_, node_, facts_);
  }

 private:
  Instead check_quantization(const QuantizationSet& wanted, ValueId value, std::uint32_t position,
                             bool is_output) const {
    if (!graph_.value(value).is_tensor()) return FoundNoTensor{graph_.value(value).type};
    const auto found = facts_.quantization ? facts_.quantization(graph_, value) : std::nullopt;
    if (!found) return FoundNoQuantization{position, is_output};
    if (accepts_quantization(wanted, *found) && is_as_asked_of_input_0(wanted, *found)) {
      return std::nullopt;
    }
    return FoundQuantization{position, is_output, found->kind, found->is_symmetric(),
                             found->stored};
  }

  bool is_as_asked_of_input_0(const QuantizationSet& wanted, const Quantization& found) const {
    if (!wanted.as_input_0 || found.kind == Quantization::Kind::none) return true;
    const Operand* const first = find_plain_input(graph_, node_, 0);
    const auto other = first == nullptr ? std::nullopt : facts_.quantization(graph_, first->value);
    return other && other->kind != Quantization::Kind::none && other->stored == found.stored;
  }

  template <class Check>
  Instead of_input(const InputPlace& place, Check check) const {
    const Operand* const input = find_plain_input(graph_, node_, place.position);
    if (input != nullptr) return check(input->value);
    if (place.if_given) return std::nullopt;
    return FoundNoInput{};
  }

  template <class Check>
  Instead of_tensor(const InputPlace& place, Check check) const {
    return of_input(place, [&](ValueId value) -> Instead {
      if (!graph_.value(value).is_tensor()) return FoundNoTensor{graph_.value(value).type};
      if (!graph_.has_rank(value)) return FoundNoRank{};
      return check(graph_.shape(value));
    });
  }

  // Checks each positional input and returns what the first one that fails has instead. Captures of
  // bodies are not inputs of the op.
  template <class Check>
  Instead of_each_input(Check check) const {
    for (const Operand& operand : graph_.operands(node_)) {
      if (!operand.slot.is_positional()) continue;
      if (Instead found = check(operand.slot.position(), operand.value)) return found;
    }
    return std::nullopt;
  }

  template <class Check>
  Instead of_each_tensor(Check check) const {
    return of_each_input([&](std::uint32_t position, ValueId value) -> Instead {
      if (!graph_.value(value).is_tensor()) return std::nullopt;
      return check(position, value);
    });
  }

  const Graph& graph_;
  NodeId node_;
  const OpFacts& facts_;
};

}  // namespace

bool is_constant(const Graph& graph, ValueId value, const OpFacts& facts) {
  return graph.is_parameter(value) && !(facts.is_written && facts.is_written(value));
}

bool Quantization::is_symmetric() const {
  return (kind == Kind::tensor || kind == Kind::axis) &&
         std::all_of(zero_points.begin(), zero_points.end(),
                     [](std::int64_t point) { return point == 0; });
}

std::optional<std::int64_t> opset_of(const Graph& graph, NodeId node, const OpFacts& facts) {
  const auto version = facts.version ? facts.version(node) : std::nullopt;
  return version ? version : imported_opset(graph, graph.domain(node));
}

bool IntegerRule::accepts(std::int64_t number) const {
  if (!one_of.empty() && std::find(one_of.begin(), one_of.end(), number) == one_of.end()) {
    return false;
  }
  return (!min || number >= *min) && (!max || number <= *max) &&
         (!multiple_of || number % *multiple_of == 0);
}

std::optional<std::uint32_t> input_of(const Condition& condition) {
  if (const auto* const of = std::get_if<ConstantCondition>(&condition)) return of->input.position;
  if (const auto* const of = std::get_if<RankCondition>(&condition)) return of->input.position;
  if (const auto* const of = std::get_if<DimCondition>(&condition)) return of->input.position;
  if (const auto* const of = std::get_if<ValuesCondition>(&condition)) return of->input.position;
  if (const auto* const of = std::get_if<LayoutCondition>(&condition)) return of->input.position;
  if (const auto* const of = std::get_if<QuantizedCondition>(&condition)) {
    if (of->of == QuantizedCondition::Of::input) return of->place.position;
  }
  return std::nullopt;
}

namespace {
bool is_unknown_type(const FoundType& found) {
  return found.type == ValueType::unknown ||
         (found.type == ValueType::tensor && found.dtype == DType::unknown);
}
}  // namespace

bool is_for_want_of_knowledge(const FoundInstead& found) {
  if (const auto* const type = std::get_if<FoundType>(&found)) return is_unknown_type(*type);
  if (const auto* const types = std::get_if<FoundTypes>(&found)) {
    return is_unknown_type(types->first) || is_unknown_type(types->other);
  }
  if (const auto* const failure = std::get_if<RelationFailure>(&found)) return failure->is_unknown;
  if (const auto* const dim = std::get_if<FoundDim>(&found)) return !dim->size;
  if (const auto* const of = std::get_if<FoundShapeOf>(&found)) {
    const auto* const dim = std::get_if<FoundDim>(&of->shape);
    return std::holds_alternative<FoundNoRank>(of->shape) || (dim != nullptr && !dim->size);
  }
  return std::holds_alternative<FoundNoRank>(found) ||
         std::holds_alternative<FoundNoElements>(found) ||
         std::holds_alternative<FoundNoLayout>(found) ||
         std::holds_alternative<FoundNoQuantization>(found);
}

bool condition_holds(const Graph& graph, NodeId node, const Condition& condition,
                     const OpFacts& facts) {
  const auto* const wanted = std::get_if<RelationCondition>(&condition);
  if (wanted != nullptr) return relation_holds(wanted->relation, graph, node, facts);
  return !find_instead(graph, node, condition, facts);
}

std::optional<FoundInstead> find_instead(const Graph& graph, NodeId node,
                                         const Condition& condition, const OpFacts& facts) {
  return std::visit(Checker(graph, node, facts), condition);
}

}  // namespace cleave
