#include "core/support/rule_filter.h"

#include <algorithm>
#include <set>

#include "core/condition/attribute_value.h"

namespace cleave {
namespace {

// The first condition that asks for certain values; null: none. Axes are left out, since the same
// one has several numbers.
const AttributeRule* condition_on_values(const Rule& rule) {
  const auto asks = [](const AttributeRule& attribute) {
    return !attribute.accepted.empty() && attribute.name != "axis" && attribute.name != "axes";
  };
  const auto found = std::find_if(rule.attributes.begin(), rule.attributes.end(), asks);
  return found == rule.attributes.end() ? nullptr : &*found;
}

}  // namespace

RuleFilter::RuleFilter(const std::vector<Rule>& rules, const RuleIndices& of_op) {
  for (const std::uint32_t i : of_op) {
    const AttributeRule* const condition = condition_on_values(rules[i]);
    if (condition == nullptr) {
      others_.push_back(i);
      continue;
    }
    std::set<std::string> keys;
    for (const AttributeValue& value : condition->accepted) keys.insert(value_key(value));
    ByValue& by_value = by_attribute_[condition->name];
    for (const std::string& key : keys) by_value[key].push_back(i);
  }
}

RuleIndices RuleFilter::candidates(const Graph& graph, NodeId node, const OpFacts& facts) const {
  RuleIndices found = others_;
  for (const auto& [name, by_value] : by_attribute_) {
    const auto value = attribute_value(graph, node, name, facts);
    if (!value) continue;
    const auto rules = by_value.find(value_key(*value));
    if (rules == by_value.end()) continue;
    found.insert(found.end(), rules->second.begin(), rules->second.end());
  }
  if (found.size() > others_.size()) std::sort(found.begin(), found.end());
  return found;
}

}  // namespace cleave
