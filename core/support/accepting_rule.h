// Which rule accepts a node, for explanations. The matching itself is in core/support/support.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/support_list.h"

namespace cleave {

struct AcceptingRule {
  // the first list that accepts the node, that is, none of its deny rules matches
  std::uint16_t list;
  std::uint32_t rule;  // the first of its allow rules that holds
};

// nullopt when no rule of a list accepts the node. Ignores bodies and patterns. Linear in the rules: not for loops over
// nodes.
std::optional<AcceptingRule> find_accepting_rule(const Graph& graph, NodeId node,
                                                 const std::vector<SupportList>& lists,
                                                 const OpFacts& facts);

}  // namespace cleave
