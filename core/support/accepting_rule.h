// Which rule accepts a node, for explanations. Part of the matching in core/support.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/support/op_facts.h"
#include "core/support/support_list.h"

namespace cleave {

struct AcceptingRule {
  std::uint16_t list;  // the first list that accepts the node: no deny rule of it does hold
  std::uint32_t rule;  // the first of its allow rules that holds
};

// Nothing when no list accepts the node. Bodies are not looked at. Linear in the rules: not for
// loops.
std::optional<AcceptingRule> find_accepting_rule(const Graph& graph, NodeId node,
                                                 const std::vector<SupportList>& lists,
                                                 const OpFacts& facts);

}  // namespace cleave
