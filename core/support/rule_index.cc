#include "core/support/rule_index.h"

namespace cleave {
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
