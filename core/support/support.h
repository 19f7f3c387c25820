// Support matching: which nodes the lists accept, and the reason for each node that they refuse.
//
// A list accepts a node when at least one allow rule matches and no deny rule does. Several lists
// combine: a node is supported when any of them accepts it. A node with bodies is supported when
// its op is and every node of its bodies is.
#pragma once

#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/support/op_facts.h"
#include "core/support/reason.h"
#include "core/support/support_list.h"

namespace cleave {

struct Support {
  NodeSet supported;
  PerNode<Reason> reasons;  // no_rule, denied, rule_failed
};

// The verdict on each node. When several lists refuse, the reason is the first `denied`, else the
// first `rule_failed`, else `no_rule`. Linear in nodes + operands + attributes, times the rules
// that name the same op and want no other value of an attribute; globs are resolved once per op type.
// Of more than 1,000 rules for one op the nearest is that of the first 1,000.
Support match_support(const Graph& graph, const std::vector<SupportList>& lists,
                      const OpFacts& facts);

// The verdict on one node without its bodies; code `none` when it is accepted. Also works for body
// nodes. Linear in the rules: for explanations, not for loops.
Reason match_node(const Graph& graph, NodeId node, const std::vector<SupportList>& lists,
                  const OpFacts& facts);

// Body nodes that no list accepts, each with its reason, in the order of their owners and then of
// the bodies. As linear as match_support.
std::vector<std::pair<NodeId, Reason>> refused_body_nodes(const Graph& graph,
                                                          const std::vector<SupportList>& lists,
                                                          const OpFacts& facts);

}  // namespace cleave
