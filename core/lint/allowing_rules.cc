#include "core/lint/allowing_rules.h"

namespace cleave {

std::vector<Rule> allowing_rules(const SupportList& list) {
  std::vector<Rule> rules = list.allow;
  for (const Pattern& pattern : list.patterns) {
    rules.insert(rules.end(), pattern.ops.begin(), pattern.ops.end());
  }
  return rules;
}

}  // namespace cleave
