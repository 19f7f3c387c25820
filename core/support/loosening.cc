#include "core/support/loosening.h"

#include <utility>

#include "core/condition/attribute_value.h"
#include "core/graph/domain.h"
#include "core/graph/node_lookup.h"

namespace cleave {
namespace {

using What = FailedCondition::What;

// The types that accept the value; nullopt, which is any type, when its type is unknown.
MaybeTypes types_of(const Value& value) {
  TypeSet types;
  if (!value.is_tensor()) {
    types.add(value.type);
  } else if (value.dtype != DType::unknown) {
    types.add(value.dtype);
  } else {
    return std::nullopt;
  }
  return types;
}

class Loosening {
 public:
  Loosening(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts)
      : graph_(graph), node_(node), facts_(facts), rule_(rule) {
    rule_.op = graph.op(node);
    rule_.domain = plain_domain(graph.domain(node));
    rule_.why.clear();
    rule_.unchecked.clear();
    rule_.line = 0;
    rule_.column = 0;
    // Native lists cannot ask for a schema version.
    if (rule_.opset && rule_.opset->same_schema) rule_.opset.reset();
  }

  // From the last condition to the first, since conditions may be erased.
  Rule run(const std::vector<FailedCondition>& failed) && {
    for (std::size_t i = failed.size(); i-- > 0;) loosen(failed[i]);
    return std::move(rule_);
  }

 private:
  template <class Item>
  static void take_out(std::vector<Item>& items, std::size_t i) {
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
  }

  const Value& input(std::uint32_t position) const {
    return graph_.value(find_plain_input(graph_, node_, position)->value);
  }

  void loosen(const FailedCondition& failed) {
    switch (failed.what) {
      case What::input:
        rule_.inputs[failed.item] = types_of(input(failed.item));
        return;
      case What::output:
        for (const ValueId output : graph_.outputs(node_)) {
          const Value& value = graph_.value(output);
          if (value.slot == failed.item) rule_.outputs[failed.item] = types_of(value);
        }
        return;
      case What::kwarg:
        return loosen_kwarg(failed.item);
      case What::attribute:
        return loosen_attribute(failed.item);
      case What::shape:
        return loosen_shape(rule_.shapes[failed.item], failed.clause);
      case What::condition:
        return loosen_condition(failed.item);
      case What::opset:
        rule_.opset.reset();
    }
  }

  void loosen_kwarg(std::uint32_t item) {
    const Operand* const kwarg = find_plain_keyword(graph_, node_, rule_.kwargs[item].first);
    const MaybeTypes types = types_of(graph_.value(kwarg->value));
    if (!types) return take_out(rule_.kwargs, item);
    rule_.kwargs[item].second = *types;
  }

  void loosen_attribute(std::uint32_t item) {
    AttributeRule& attribute = rule_.attributes[item];
    auto value = attribute_value(graph_, node_, attribute.name, facts_);
    if (attribute.accepted.empty() || !value) return take_out(rule_.attributes, item);
    attribute.accepted = {*std::move(value)};
  }

  // A rank becomes the one that the node has; any other condition is left out.
  void loosen_condition(std::uint32_t item) {
    auto* const rank = std::get_if<RankCondition>(&rule_.conditions[item]);
    const Operand* const operand =
        rank == nullptr ? nullptr : find_plain_input(graph_, node_, rank->input.position);
    if (operand == nullptr || !graph_.has_rank(operand->value)) {
      return take_out(rule_.conditions, item);
    }
    const std::size_t found = graph_.shape(operand->value).size();
    rank->rank = {
        .one_of = {static_cast<std::int64_t>(found)}, .min = {}, .max = {}, .multiple_of = {}};
  }

  void loosen_shape(ShapeRule& rule, std::uint32_t clause) const {
    if (clause == FailedCondition::kNoInput) {
      rule.if_given = true;
    } else if (clause == FailedCondition::kRank) {
      const ValueId id = find_plain_input(graph_, node_, rule.input)->value;
      rule.rank.reset();
      if (graph_.has_rank(id)) rule.rank = static_cast<std::int64_t>(graph_.shape(id).size());
    } else if (clause == FailedCondition::kStatic) {
      rule.is_static = false;
    } else if (clause == FailedCondition::kMaxDim) {
      rule.max_dim.reset();
    } else {
      take_out(rule.multiple_of, clause - FailedCondition::kFirstMultiple);
    }
  }

  const Graph& graph_;
  NodeId node_;
  const OpFacts& facts_;
  Rule rule_;
};

}  // namespace

Rule loosened(const Graph& graph, NodeId node, const Rule& rule,
              const std::vector<FailedCondition>& failed, const OpFacts& facts) {
  return Loosening(graph, node, rule, facts).run(failed);
}

}  // namespace cleave
