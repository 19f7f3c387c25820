// Learned rules: the shortest deny rules that separate the node cases that a backend refused from
// those that it accepted.
//
// For each op with a case that failed:
// 1. If no case of it passed, the op is denied, in the opsets that were seen.
// 2. Otherwise one condition that holds for all failed cases and for no passed one; else two
//    together; else several such rules that together cover the failed cases.
// 3. Cases that no such rule covers are denied by the names of their nodes, and of cases that both failed
//    and passed the nodes that failed.
//
// Among rules of the same length the one that denies the fewest nodes wins, then the first by its
// text. A short rule need not be true: a rule based on fewer than three failed cases is weak.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/support.h"
#include "core/support/support_list.h"

namespace cleave {

// Evidence: which node cases a backend accepted and which it refused, op by op. A partition that
// lowers is evidence for each of its nodes; a culprit is evidence against one.

// A node that represents all nodes of its case.
struct EvidenceCase {
  const Graph* graph;
  NodeId node;
  bool passed = false;  // in some piece
  bool failed = false;  // alone; if both are set, the verdict depends on the nodes around it
  std::vector<NodeId> failing = {};  // the nodes that failed, in the order in which they did
};

// Domain ("" for the default domain) and op.
using OpName = std::pair<std::string, std::string>;

class Evidence {
 public:
  // Graphs must outlive this. Linear in the nodes' operands and attributes.
  void add_passed(const Graph& graph, std::span<const NodeId> nodes);
  void add_failed(const Graph& graph, NodeId node);

  // Ops with a case that failed, sorted.
  std::vector<OpName> failed_ops() const;
  // The cases of an op, sorted by their text.
  std::vector<EvidenceCase> cases(const OpName& op) const;
  std::size_t case_count() const;

 private:
  EvidenceCase& at(const Graph& graph, NodeId node);
  std::map<OpName, std::map<std::string, EvidenceCase>> cases_;
  std::set<std::pair<const Graph*, NodeId>> failed_;  // nodes that are in EvidenceCase::failing
};

// Rule condition: one condition that a rule may set on a node, as learning tries it: "attribute
// layout is 1", "input 0 is int64", "input 0 has rank 5", "opset 9".
struct RuleCondition {
  Rule rule;         // with the op and this condition alone
  std::string text;  // conditions are sorted by it
};

// Conditions that hold for at least one failed case of the op, each once, sorted by text: dtypes
// and ranks of inputs, values of attributes (with the defaults that `facts` knows), opsets, and for
// number attributes ranges that separate the failed cases from the passed ones.
std::vector<RuleCondition> conditions_of(const OpName& op, std::span<const EvidenceCase> cases,
                                         const OpFacts& facts);

// False when both ask about the same thing, such as two values of an attribute: a rule can ask once
// only.
bool may_be_combined(const Rule& one, const Rule& other);
// A rule with the conditions of both, which may_be_combined().
Rule combined(const Rule& one, const Rule& other);

// True when the rule is for the node's op and all its conditions hold.
bool holds_of(const Rule& rule, const EvidenceCase& item, const OpFacts& facts);

inline constexpr std::size_t kStrongEvidence = 3;

struct LearnedRule {
  Rule rule;                   // the report words `why`
  std::size_t conditions = 0;  // 0: the op as a whole, or names
  std::size_t failed = 0;      // cases of the op that failed alone and that the rule covers
  std::size_t passed = 0;      // cases of the op that passed; the rule matches none of them
  // The nodes that failed and that it is made of; for the name of one that was not asked about, another of
  // its case.
  std::vector<NodeId> failing = {};
  // True for a rule with conditions, or by name, that is based on few cases.
  bool is_weak() const { return passed > 0 && failed < kStrongEvidence; }
};

// The context of learning: where rules apply, and what the format knows about its operators.
struct LearningContext {
  const Graph& graph;  // of two rules, the one that denies fewer of its nodes wins
  const OpFacts& facts;
};

// Sorted by op, then by text of the rule. Cost: for each op the nodes of the graph, and the square of its
// conditions (some tens) times its cases.
std::vector<LearnedRule> learn_rules(const Evidence& evidence, const LearningContext& context);

// Deny rules by name for nodes that only fail together with others, so that no condition on a node
// describes them. One rule per node.
std::vector<Rule> rules_by_name(const Graph& graph, std::span<const NodeId> nodes);

}  // namespace cleave
