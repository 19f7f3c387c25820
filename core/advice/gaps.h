// Gaps: what support lists lack, model by model, each with the change that would close it.
//
// Nodes that no list accepts are grouped into gaps by cause:
//   op         no rule names the op             by op and the dtypes it reads
//              (though a pattern may)
//   condition  a rule names it and fails        by rule, failed conditions, and what the node has
//   denied     a deny rule matches              by rule
// A range, a factor or a largest dim that is exceeded is one gap, however far it is exceeded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/graph/node_lookup.h"
#include "core/support/rule_check.h"
#include "core/support/support_list.h"

namespace cleave {

// Gap keys: nodes that fail a rule in the same way have the same key.

// Appends one failed condition to a key. `part` is the entry of failed_parts() for the condition.
// Two nodes that fail the condition with different values get different keys when the rule asks for
// a value (a dtype, an attribute, a rank), and the same key when it sets a bound. Whether the model
// states an attribute's value or the operator's default applies makes no difference.
void append_key(const FailedCondition& failed, const FailedPart& part, std::string& key);

// Loosening: changes a rule that refuses a node as little as possible, so that it accepts the node.

// The rule for the node's op alone, without its position and its `why`. Each condition that failed
// now asks for what the node has, or is left out when it was a bound. `failed` is the result of
// find_failed_conditions() for the node and the rule.
Rule loosened(const Graph& graph, NodeId node, const Rule& rule,
              const std::vector<FailedCondition>& failed, const OpFacts& facts);

struct Gap {
  enum class Kind : std::uint8_t { op, condition, denied };
  Kind kind = Kind::op;
  std::string op;  // of the first node met
  std::string domain;
  Signature signature;  // of the first node met
  // condition, denied: the rule that refuses, and the list that contains it.
  std::uint16_t list = 0;
  Rule rule;
  std::vector<FailedPart> failed;  // condition
  // op, condition: an allow rule that accepts the nodes. For `denied` the remedy is to remove
  // `rule`.
  Rule remedy;
  std::string key;  // equal for equal gaps of any models under the same lists
};

struct GapFound {
  Gap gap;
  std::vector<NodeId> nodes;  // body nodes too; model order, body nodes last
};

// The gaps of the nodes outside `accepted`, in the order in which they are found. Body nodes have
// gaps of their own; the node that owns them has none when its own op is accepted. As linear as
// match_support, times the length of a key.
std::vector<GapFound> find_gaps(const Graph& graph, const std::vector<SupportList>& lists,
                                const OpFacts& facts, const NodeSet& accepted);

// Support lists with gaps closed: the lists without the deny rules that were removed, and one more
// list with the remedies.
class FilledLists {
 public:
  explicit FilledLists(std::vector<SupportList> lists) : lists_(std::move(lists)) {}
  void fill(const Gap& gap);
  // The lists without the removed rules and without the remedies.
  const std::vector<SupportList>& lists() const { return lists_; }
  // The lists with the remedies as one more list; if every list must accept a node, the remedies
  // are added to each list instead.
  std::vector<SupportList> with_remedies() const;

 private:
  std::vector<SupportList> lists_;
  SupportList remedies_;
};

}  // namespace cleave
