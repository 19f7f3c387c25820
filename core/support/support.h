// Support matching: which nodes the lists accept, and the reason for each node that they refuse.
//
// A list accepts a node when at least one allow rule matches and no deny rule does. Several lists
// combine: a node is supported when any list accepts it, or, for lists with the role all_of, when
// all accept it. An overlay denies for all lists. A list of verdicts decides the nodes that it
// names. A node with bodies is supported when its op and every node of its bodies are; a region whose
// op no rule names, when every node of its body is.
//
// A list that is about a runtime's graph (SupportList::view) judges a node as what it is there: as the
// node that it becomes a part of, or, if no rule names its op, by the nodes of its function's body.
//
// A list also accepts the nodes of each match of its patterns (core/support/list_patterns.h), unless
// it denies one of them. If every list must accept a node, a match counts only when all lists accept
// all of its nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/pattern/pattern_search.h"
#include "core/support/list_patterns.h"
#include "core/support/reason.h"
#include "core/support/support_list.h"

namespace cleave {

// A node that is accepted by a rule, or a pattern, that leaves a condition of the vendor unchecked.
struct UncheckedNode {
  NodeId node;
  std::uint16_t list;
  std::uint32_t rule;  // an allow rule, or a pattern
  bool is_pattern = false;
};

struct Support {
  NodeSet supported;
  // no_rule, denied, rule_failed, pattern_failed, runtime_graph
  PerNode<Reason> reasons;
  std::vector<UncheckedNode> unchecked = {};  // in model order
  PatternMatches patterns = {};               // the matches that count
  std::vector<PatternMiss> misses = {};       // of nodes with pattern_failed: Reason::size
};

// The verdict on each node. When several lists refuse, the reason is the first `denied`, else the
// first `rule_failed`, else `no_rule`. Linear in nodes + operands + attributes, times the rules
// that name the same op and do not ask for another value of an attribute; globs are resolved once
// per op type. If more than 1,000 rules name an op, the nearest rule is searched among the first
// 1,000. Patterns: see ListPatterns; the search for the nearest ones ends after a few million steps,
// and further nodes have the reason `no_rule`.
Support match_support(const Graph& graph, const std::vector<SupportList>& lists,
                      const OpFacts& facts);

// The verdict of the rules, without patterns, on one node without its bodies; code `none` when it is
// accepted. Also works for body nodes. Linear in the rules: for explanations, not for loops.
Reason match_node(const Graph& graph, NodeId node, std::span<const SupportList> lists,
                  const OpFacts& facts);

// Body nodes that no list accepts, each with its reason, in the order of their owners and then of
// the bodies. As linear as match_support.
std::vector<std::pair<NodeId, Reason>> refused_body_nodes(const Graph& graph,
                                                          std::span<const SupportList> lists,
                                                          const OpFacts& facts);

// Which rule accepts a node, for explanations. The matching itself is in core/support/support.cc.
struct AcceptingRule {
  // the first list that accepts the node, that is, none of its deny rules matches
  std::uint16_t list;
  std::uint32_t rule;  // the first of its allow rules that holds
};

// nullopt when no rule of a list accepts the node. Ignores bodies and patterns. Linear in the rules: not for loops over
// nodes.
std::optional<AcceptingRule> find_accepting_rule(const Graph& graph, NodeId node,
                                                 std::span<const SupportList> lists,
                                                 const OpFacts& facts);

// A limit on the work of matching. A list may have thousands of rules for one op, which must be
// checked one by one on each node of the op, unless they ask for an attribute's value.

// The most checks in one split, a few seconds of work: of a rule on a node, and of a term of its `where`.
inline constexpr std::uint64_t kMostRuleChecks = 100'000'000;

// The same as match_support(); nullopt when it would check rules on nodes more than `most_checks`
// times. Steps of the search for patterns count as checks.
std::optional<Support> match_support_within(const Graph& graph, std::span<const SupportList> lists,
                                            const OpFacts& facts, std::uint64_t most_checks);

}  // namespace cleave
