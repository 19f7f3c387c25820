#include "core/support/rules_by_name.h"

#include <algorithm>

namespace cleave {

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

}  // namespace cleave
