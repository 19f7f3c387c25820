#include "core/support/failed_part.h"

#include <algorithm>

#include "core/condition/attribute_value.h"
#include "core/condition/condition_check.h"
#include "core/graph/domain.h"
#include "core/graph/node_lookup.h"
#include "core/support/rule_check.h"

namespace cleave {
namespace {

using What = FailedCondition::What;

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
    const std::string_view domain = plain_domain(graph_.domain(node_));
    return FailedOpset{std::string(domain), *rule_.opset, imported_opset(graph_, domain)};
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

}  // namespace cleave
