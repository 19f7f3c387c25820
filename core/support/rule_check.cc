#include "core/support/rule_check.h"

#include <algorithm>
#include <utility>

#include "core/condition/attribute_value.h"
#include "core/condition/condition_check.h"
#include "core/graph/node_lookup.h"
#include "core/support/glob.h"

namespace cleave {
namespace {

using What = FailedCondition::What;

// ---- attributes ----

// For a literal, or an attribute value that is not a list.
template <class Value>
bool in_range(const Value& value, const AttributeRule& rule) {
  double number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    number = *real;
  } else {
    return false;
  }
  return (!rule.min || number >= *rule.min) && (!rule.max || number <= *rule.max);
}

// The rank that the node's axes refer to: the output's when the op adds axes. nullopt when it is
// unknown.
std::optional<std::size_t> axis_rank(const Graph& graph, NodeId node) {
  const std::string_view op = graph.op(node);
  const auto rank_of = [&](ValueId id) -> std::optional<std::size_t> {
    if (!graph.has_rank(id)) return std::nullopt;
    return graph.shape(id).size();
  };
  if (op == "Unsqueeze" || op == "OneHot") return rank_of(*graph.outputs(node).begin());
  const Operand* const input = find_plain_input(graph, node, 0);
  return input != nullptr ? rank_of(input->value) : std::nullopt;
}

// The value with its negative axes counted from the front.
AttributeValue from_front(AttributeValue value, std::size_t rank) {
  const auto normalise = [rank](std::int64_t& axis) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
  };
  if (auto* const axis = std::get_if<std::int64_t>(&value)) normalise(*axis);
  if (auto* const axes = std::get_if<std::vector<Literal>>(&value)) {
    for (Literal& item : *axes) {
      if (auto* const axis = std::get_if<std::int64_t>(&item)) normalise(*axis);
    }
    std::sort(axes->begin(), axes->end());
  }
  return value;
}

// Whether a rule's value names the same axes: -1 is 3 for rank 4, and the order is ignored.
bool names_same_axes(const Graph& graph, NodeId node, const AttributeRule& rule,
                     const AttributeValue& value) {
  if (rule.name != "axis" && rule.name != "axes") return false;
  const auto rank = axis_rank(graph, node);
  if (!rank) return false;
  const AttributeValue wanted = from_front(value, *rank);
  return std::any_of(rule.accepted.begin(), rule.accepted.end(),
                     [&](const AttributeValue& accepted) {
                       return equal_values(from_front(accepted, *rank), wanted);
                     });
}

// A list of numbers is in range when all of them are.
bool accepts(const AttributeRule& rule, const AttributeValue& value) {
  if (!rule.accepted.empty()) {
    return std::any_of(
        rule.accepted.begin(), rule.accepted.end(),
        [&](const AttributeValue& accepted) { return equal_values(accepted, value); });
  }
  if (const auto* list = std::get_if<std::vector<Literal>>(&value)) {
    return std::all_of(list->begin(), list->end(),
                       [&](const Literal& item) { return in_range(item, rule); });
  }
  return in_range(value, rule);
}

// ---- shapes ----

bool is_multiple(Shape shape, std::pair<std::int64_t, std::int64_t> axis_and_factor) {
  const auto axis = axis_of(axis_and_factor.first, shape.size());
  if (!axis || !shape[*axis].is_fixed() || axis_and_factor.second <= 0) return false;
  return shape[*axis].size() % axis_and_factor.second == 0;
}

void find_failed_clauses(const Graph& graph, ValueId value, const ShapeRule& rule,
                         std::uint32_t item, std::vector<FailedCondition>& failed) {
  const bool ranked = graph.value(value).is_tensor() && graph.has_rank(value);
  const Shape shape = ranked ? graph.shape(value) : Shape{};
  const auto fail = [&](std::uint32_t clause) { failed.push_back({What::shape, item, clause}); };
  const auto all = [&](auto holds) {
    return ranked && std::all_of(shape.begin(), shape.end(), holds);
  };
  if (rule.rank && (!ranked || static_cast<std::int64_t>(shape.size()) != *rule.rank))
    fail(FailedCondition::kRank);
  if (rule.is_static && !all([](Dim dim) { return dim.is_fixed(); }))
    fail(FailedCondition::kStatic);
  if (rule.max_dim &&
      !all([&](Dim dim) { return dim.is_fixed() && dim.size() <= *rule.max_dim; })) {
    fail(FailedCondition::kMaxDim);
  }
  for (std::uint32_t i = 0; i < rule.multiple_of.size(); ++i) {
    if (!ranked || !is_multiple(shape, rule.multiple_of[i]))
      fail(FailedCondition::kFirstMultiple + i);
  }
}

// ---- opsets ----

bool opset_holds(const Graph& graph, NodeId node, const OpsetRule& rule, const OpFacts& facts) {
  const auto opset = opset_of(graph, node, facts);
  if (!opset) return false;
  if (!rule.same_schema) return *opset >= rule.lowest && *opset <= rule.highest;
  if (*opset == rule.lowest) return true;
  if (!facts.schema_version) return false;
  const auto version = facts.schema_version(graph.domain(node), graph.op(node), *opset);
  return version != 0 &&
         version == facts.schema_version(graph.domain(node), graph.op(node), rule.lowest);
}

}  // namespace

bool is_in_domain(std::string_view written, std::string_view domain) {
  if (plain_domain(written) == plain_domain(domain)) return true;
  return is_glob(written) && glob_match(written, domain.empty() ? "ai.onnx" : domain);
}

// A graph may have its ops' domains in their names, too: torch.fx and TorchScript write aten::add.
bool names_op(const ParsedOp& name, std::string_view domain, std::string_view op) {
  const auto fits = [&](std::string_view of_domain, std::string_view called) {
    return (name.op == called || (is_glob(name.op) && glob_match(name.op, called))) &&
           is_in_domain(name.domain, of_domain);
  };
  if (name.op.empty() || fits(domain, op)) return true;
  if (const std::string_view path = torch_path(op); !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size() - 1);
    return fits(domain, path) || fits(path.substr(0, dot), path.substr(dot + 1)) ||
           is_torch_spelling(name.domain, name.op, op);
  }
  const ParsedOp parsed = parse_op(op);
  return domain.empty() && parsed.has_domain && fits(parsed.domain, parsed.op);
}

bool names_op_anywhere(const ParsedOp& name, std::string_view domain, std::string_view op) {
  return !name.op.empty() && names_op(name, name.has_domain ? domain : "", op);
}

bool names_op(const Rule& rule, std::string_view domain, std::string_view op) {
  return names_op(ParsedOp{.domain = rule.domain, .op = rule.op}, domain, op);
}

void find_failed_conditions(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts,
                            std::vector<FailedCondition>& failed) {
  for (std::uint32_t i = 0; i < rule.inputs.size(); ++i) {
    if (!rule.inputs[i]) continue;
    const Operand* input = find_plain_input(graph, node, i);
    if (input && !rule.inputs[i]->accepts(graph.value(input->value))) {
      failed.push_back({What::input, i});
    }
  }
  for (const ValueId output : graph.outputs(node)) {
    const std::uint32_t slot = graph.value(output).slot;
    if (slot >= rule.outputs.size() || !rule.outputs[slot]) continue;
    if (!rule.outputs[slot]->accepts(graph.value(output))) failed.push_back({What::output, slot});
  }
  for (std::uint32_t i = 0; i < rule.kwargs.size(); ++i) {
    const Operand* kwarg = find_plain_keyword(graph, node, rule.kwargs[i].first);
    if (kwarg && !rule.kwargs[i].second.accepts(graph.value(kwarg->value))) {
      failed.push_back({What::kwarg, i});
    }
  }
  for (std::uint32_t i = 0; i < rule.attributes.size(); ++i) {
    const AttributeRule& attribute = rule.attributes[i];
    const auto value = attribute_value(graph, node, attribute.name, facts);
    if (value && (accepts(attribute, *value) || names_same_axes(graph, node, attribute, *value))) {
      continue;
    }
    failed.push_back({What::attribute, i});
  }
  for (std::uint32_t i = 0; i < rule.shapes.size(); ++i) {
    const Operand* input = find_plain_input(graph, node, rule.shapes[i].input);
    if (input) {
      find_failed_clauses(graph, input->value, rule.shapes[i], i, failed);
    } else if (!rule.shapes[i].if_given) {
      failed.push_back({What::shape, i, FailedCondition::kNoInput});
    }
  }
  for (std::uint32_t i = 0; i < rule.conditions.size(); ++i) {
    if (!condition_holds(graph, node, rule.conditions[i], facts)) {
      failed.push_back({What::condition, i});
    }
  }
  if (rule.opset && !opset_holds(graph, node, *rule.opset, facts)) failed.push_back({What::opset});
}

bool names_node(const Rule& rule, std::string_view node_name) {
  if (rule.node_name.empty()) return true;
  if (rule.is_exact_name) return rule.node_name == node_name;
  return glob_match(rule.node_name, node_name);
}

bool has_input_of(const Graph& graph, NodeId node, const TypeSet& types) {
  const auto operands = graph.operands(node);
  return std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    return !graph.is_parameter(operand.value) && types.accepts(graph.value(operand.value));
  });
}

namespace {

FoundDim found_dim(const Graph& graph, Dim dim, std::int64_t axis) {
  FoundDim found{axis, std::nullopt, {}};
  if (dim.is_fixed()) found.size = dim.size();
  if (dim.is_symbol()) found.symbol = graph.text(dim.name());
  return found;
}

// Records what a node has instead, for each failed condition of a rule.
class Recorder {
 public:
  Recorder(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts)
      : graph_(graph), node_(node), rule_(rule), facts_(facts) {}

  FailedPart record(const FailedCondition& failed) const {
    switch (failed.what) {
      case What::input:
        return failed_type(FailedType::Place::input, failed.item, graph_.value(input(failed.item)));
      case What::output:
        return failed_type(FailedType::Place::output, failed.item, output(failed.item));
      case What::kwarg:
        return failed_keyword(failed.item);
      case What::attribute:
        return failed_attribute(rule_.attributes[failed.item]);
      case What::shape:
        return failed_shape(rule_.shapes[failed.item], failed.clause);
      case What::condition:
        return unmet_condition(rule_.conditions[failed.item]);
      case What::opset:
        break;
    }
    const std::string_view stated = graph_.domain(node_);
    const std::string_view domain = stated == "tflite" ? stated : plain_domain(stated);
    return FailedOpset{std::string(domain), *rule_.opset, opset_of(graph_, node_, facts_)};
  }

 private:
  ValueId input(std::uint32_t position) const {
    return find_plain_input(graph_, node_, position)->value;
  }

  // A condition on an output can only fail on an output that the node has.
  const Value& output(std::uint32_t slot) const {
    const auto outputs = graph_.outputs(node_);
    const auto at = std::find_if(outputs.begin(), outputs.end(),
                                 [&](ValueId output) { return graph_.value(output).slot == slot; });
    return graph_.value(*at);
  }

  FailedType failed_type(FailedType::Place place, std::uint32_t position,
                         const Value& value) const {
    const auto& wanted = place == FailedType::Place::input ? rule_.inputs : rule_.outputs;
    return {place, position, {}, *wanted[position], value.type, value.dtype};
  }

  FailedType failed_keyword(std::uint32_t item) const {
    const auto& [name, types] = rule_.kwargs[item];
    const Value& value = graph_.value(find_plain_keyword(graph_, node_, name)->value);
    return {FailedType::Place::keyword, 0, name, types, value.type, value.dtype};
  }

  FailedAttribute failed_attribute(const AttributeRule& wanted) const {
    const bool is_stated = find_attribute(graph_, node_, wanted.name) != nullptr;
    auto value = attribute_value(graph_, node_, wanted.name, facts_);
    ValueOrigin origin = is_stated ? ValueOrigin::opaque : ValueOrigin::absent;
    if (value) origin = is_stated ? ValueOrigin::stated : ValueOrigin::by_default;
    return {wanted, origin, std::move(value)};
  }

  UnmetCondition unmet_condition(const Condition& wanted) const {
    return {wanted, *find_instead(graph_, node_, wanted, facts_)};
  }

  FailedShape failed_shape(const ShapeRule& rule, std::uint32_t clause) const {
    const Operand* const operand = find_plain_input(graph_, node_, rule.input);
    if (operand == nullptr) return {rule.input, wanted_shape(rule, clause), FoundNoInput{}};
    const ValueId value = operand->value;
    return {rule.input, wanted_shape(rule, clause), found_shape(value, rule, clause)};
  }

  static WantedShape wanted_shape(const ShapeRule& rule, std::uint32_t clause) {
    if (clause == FailedCondition::kNoInput) return WantedInput{};
    if (clause == FailedCondition::kRank) return WantedRank{*rule.rank};
    if (clause == FailedCondition::kStatic) return WantedStatic{};
    if (clause == FailedCondition::kMaxDim) return WantedMaxDim{*rule.max_dim};
    const auto [axis, factor] = rule.multiple_of[clause - FailedCondition::kFirstMultiple];
    return WantedMultiple{axis, factor};
  }

  FoundShape found_shape(ValueId id, const ShapeRule& rule, std::uint32_t clause) const {
    const Value& value = graph_.value(id);
    if (!value.is_tensor()) return FoundNoTensor{value.type};
    if (!graph_.has_rank(id)) return FoundNoRank{};
    const Shape shape = graph_.shape(id);
    if (clause == FailedCondition::kRank) return FoundRank{shape.size()};
    if (clause >= FailedCondition::kFirstMultiple) {
      const std::int64_t axis = rule.multiple_of[clause - FailedCondition::kFirstMultiple].first;
      const auto place = axis_of(axis, shape.size());
      if (!place) return FoundRank{shape.size()};
      return found_dim(graph_, shape[*place], axis);
    }
    const bool any_size = clause == FailedCondition::kStatic;
    const auto bad = std::find_if(shape.begin(), shape.end(), [&](Dim dim) {
      return !dim.is_fixed() || (!any_size && dim.size() > *rule.max_dim);
    });
    return found_dim(graph_, *bad, bad - shape.begin());
  }

  const Graph& graph_;
  NodeId node_;
  const Rule& rule_;
  const OpFacts& facts_;
};

}  // namespace

std::vector<FailedPart> failed_parts(const Graph& graph, NodeId node, const Rule& rule,
                                     const OpFacts& facts) {
  std::vector<FailedCondition> failed;
  find_failed_conditions(graph, node, rule, facts, failed);
  const Recorder recorder(graph, node, rule, facts);
  std::vector<FailedPart> parts;
  parts.reserve(failed.size());
  for (const FailedCondition& condition : failed) parts.push_back(recorder.record(condition));
  return parts;
}

std::optional<std::int64_t> newer_opset_of(const std::vector<FailedPart>& failed) {
  if (failed.size() != 1) return std::nullopt;
  const auto* const opset = std::get_if<FailedOpset>(&failed.front());
  if (opset == nullptr || !opset->found || *opset->found >= opset->wanted.lowest) {
    return std::nullopt;
  }
  return opset->wanted.lowest;
}

std::optional<std::int64_t> newer_opset_of(const Graph& graph, NodeId node, const Rule& rule,
                                           const OpFacts& facts) {
  return newer_opset_of(failed_parts(graph, node, rule, facts));
}

}  // namespace cleave
