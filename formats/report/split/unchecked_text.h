// Nodes that are accepted by rules that leave a condition of the vendor unchecked, by rule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/support/support.h"

namespace cleave {

struct UncheckedRule {
  std::uint16_t list;
  std::uint32_t rule;  // an allow rule, or a pattern
  bool is_pattern;
  std::vector<NodeId> nodes;  // in model order
};

// The rule with the most nodes first; of equals, the first in the lists.
std::vector<UncheckedRule> unchecked_rules(const Support& support);

// `rule "Resize" of coreml.json:12: sizes must be constants`
std::string unchecked_text(const std::vector<SupportList>& lists, const UncheckedRule& rule);

}  // namespace cleave
