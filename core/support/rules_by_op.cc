#include "core/support/rules_by_op.h"

#include <algorithm>
#include <iterator>

#include "core/graph/domain.h"
#include "core/graph/torch_spelling.h"
#include "core/support/glob.h"

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
  RuleIndices found = any_;
  const auto in_domain = [&](std::uint32_t i) {
    return plain_domain(rules_[i].domain) == plain_domain(domain);
  };
  for (const std::string& spelling : torch_spellings(op)) {
    const auto exact = exact_.find(spelling);
    if (exact == exact_.end()) continue;
    for (const std::uint32_t i : exact->second) {
      if (is_torch_spelling(rules_[i].domain, rules_[i].op, op)) found.push_back(i);
    }
  }
  if (const auto exact = exact_.find(op); exact != exact_.end()) {
    std::copy_if(exact->second.begin(), exact->second.end(), std::back_inserter(found), in_domain);
  }
  for (const std::string_view name : {op, torch_path(op)}) {
    if (name.empty()) continue;
    const RuleIndices globs = globs_.matches(name);
    std::copy_if(globs.begin(), globs.end(), std::back_inserter(found), in_domain);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace cleave
