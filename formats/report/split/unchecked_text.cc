#include "formats/report/split/unchecked_text.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/words/pattern_text.h"
#include "formats/report/words/reason_text.h"

namespace cleave {

std::vector<UncheckedRule> unchecked_rules(const Support& support) {
  std::map<std::tuple<std::uint16_t, bool, std::uint32_t>, std::vector<NodeId>> by_rule;
  for (const UncheckedNode& one : support.unchecked) {
    by_rule[{one.list, one.is_pattern, one.rule}].push_back(one.node);
  }
  std::vector<UncheckedRule> rules;
  for (auto& [place, nodes] : by_rule) {
    const auto& [list, is_pattern, rule] = place;
    rules.push_back({list, rule, is_pattern, std::move(nodes)});
  }
  std::stable_sort(rules.begin(), rules.end(), [](const UncheckedRule& a, const UncheckedRule& b) {
    return a.nodes.size() > b.nodes.size();
  });
  return rules;
}

std::string unchecked_text(const std::vector<SupportList>& lists, const UncheckedRule& rule) {
  const SupportList& list = lists[rule.list];
  constexpr std::size_t kMostColumns = 300;  // the list has the rest
  if (rule.is_pattern) {
    return pattern_place(list, list.patterns[rule.rule]) + ": " +
           fitted(escaped(list.patterns[rule.rule].unchecked), kMostColumns);
  }
  const Rule& allow = list.allow[rule.rule];
  return "rule " + escaped_in_quotes(allow.op) + " of " + rule_place(list, allow) + ": " +
         fitted(escaped(allow.unchecked), kMostColumns);
}

}  // namespace cleave
