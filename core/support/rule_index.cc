#include "core/support/rule_index.h"

#include <algorithm>
#include <set>

#include "core/base/append.h"
#include "core/condition/attribute_value.h"
#include "core/graph/op_name.h"
#include "core/support/glob.h"
#include "core/support/rule_check.h"

namespace cleave {

RulesByOp::RulesByOp(const std::vector<Rule>& rules)
    : RulesByOp(rules, [](const Rule&) { return true; }) {}

void RulesByOp::add(std::uint32_t i) {
  const std::string& op = rules_[i].op;
  if (is_glob(op)) {
    globs_.add(op, i);
  } else {
    (op.empty() ? any_ : exact_[op]).push_back(i);
  }
}

RuleIndices RulesByOp::names(std::string_view domain, std::string_view op) const {
  RuleIndices found;
  const auto look_up = [&](std::string_view name) {
    if (const auto exact = exact_.find(name); exact != exact_.end()) append(found, exact->second);
  };
  const ParsedOp parsed = parse_op(op);
  look_up(op);
  if (parsed.has_domain) look_up(parsed.op);
  for (const std::string& spelling : torch_spellings(op)) look_up(spelling);
  const std::string_view path = torch_path(op);
  const std::string_view name = path.substr(path.find('.') + 1);  // without torch's domain
  for (const std::string_view text : {op, parsed.has_domain ? parsed.op : "", path, name}) {
    if (!text.empty() && !globs_.empty()) append(found, globs_.matches(text));
  }
  std::erase_if(found, [&](std::uint32_t i) { return !names_op(rules_[i], domain, op); });
  append(found, any_);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void RulesByName::add(const Rule& rule, std::uint32_t i) {
  if (!rule.is_exact_name && is_glob(rule.node_name)) {
    globs_.add(rule.node_name, i);
  } else {
    exact_[rule.node_name].push_back(i);
  }
}

RuleIndices RulesByName::matches(std::string_view node_name) const {
  RuleIndices found;
  if (!globs_.empty()) found = globs_.matches(node_name);
  const auto exact = exact_.find(node_name);
  if (exact == exact_.end()) return found;
  found.insert(found.end(), exact->second.begin(), exact->second.end());
  std::sort(found.begin(), found.end());
  return found;
}

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

namespace {

// True for a rule for nodes of some name, whatever their op.
bool is_for_names(const Rule& rule) { return rule.op.empty() && !rule.node_name.empty(); }

bool is_for_ops(const Rule& rule) { return !is_for_names(rule); }

void add_names(const std::vector<Rule>& rules, RulesByName& by_name) {
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    if (is_for_names(rules[i])) by_name.add(rules[i], i);
  }
}

NamedRules named_rules(const std::vector<Rule>& rules, const RuleIndices& all) {
  constexpr std::size_t kMany = 32;
  NamedRules named;
  for (const std::uint32_t i : all) {
    if (rules[i].node_name.empty()) {
      named.unnamed.push_back(i);
    } else {
      named.by_name.add(rules[i], i);
    }
  }
  if (named.unnamed.size() > kMany) named.filter.emplace(rules, named.unnamed);
  return named;
}

}  // namespace

RuleIndex::RuleIndex(const SupportList& list)
    : list_(list), allow_(list.allow, is_for_ops), deny_(list.deny, is_for_ops) {
  add_names(list.allow, allow_by_name_);
  add_names(list.deny, deny_by_name_);
}

OpRules RuleIndex::rules_of(std::string_view domain, std::string_view op) const {
  return {named_rules(list_.allow, allow_.names(domain, op)),
          named_rules(list_.deny, deny_.names(domain, op))};
}

}  // namespace cleave
