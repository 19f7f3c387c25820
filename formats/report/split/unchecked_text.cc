#include "formats/report/split/unchecked_text.h"

#include <algorithm>
#include <map>
#include <utility>

#include "formats/report/words/reason_text.h"
#include "formats/text/diagnostic.h"
#include "formats/text/text_layout.h"

namespace cleave {

std::vector<UncheckedRule> unchecked_rules(const Support& support) {
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::vector<NodeId>> by_rule;
  for (const UncheckedNode& one : support.unchecked) {
    by_rule[{one.list, one.rule}].push_back(one.node);
  }
  std::vector<UncheckedRule> rules;
  for (auto& [place, nodes] : by_rule) {
    rules.push_back({place.first, place.second, std::move(nodes)});
  }
  std::stable_sort(rules.begin(), rules.end(), [](const UncheckedRule& a, const UncheckedRule& b) {
    return a.nodes.size() > b.nodes.size();
  });
  return rules;
}

std::string unchecked_text(const std::vector<SupportList>& lists, const UncheckedRule& rule) {
  const SupportList& list = lists[rule.list];
  const Rule& allow = list.allow[rule.rule];
  constexpr std::size_t kMostColumns = 300;  // the list has the rest
  return "rule " + quoted(allow.op) + " of " + rule_place(list, allow) + ": " +
         fitted(escaped(allow.unchecked), kMostColumns);
}

}  // namespace cleave
