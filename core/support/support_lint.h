// Faults of support lists that can be told from the rules alone, and from models held against them.
//
//   deny  {"op": "Conv"}                      every Conv is denied ...
//   allow {"op": "Conv", "opset": [11, 17]}   ... so this rule is dead
//   allow "Conv"
//   allow {"op": "Conv", "group": 1}          and this one says nothing that "Conv" does not:
//   shadowed
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/support/failed_part.h"
#include "core/support/op_facts.h"
#include "core/support/support_list.h"

namespace cleave {

enum class LintKind : std::uint8_t {
  unknown_op,         // the operators' registry has no such op
  unknown_domain,     // nor such a domain
  unknown_attribute,  // the op never had such an attribute
  unused_condition,   // a condition on what the op does not have
  contradiction,      // an allow rule whose every node a deny rule takes
  impossible,         // conditions of one rule that exclude each other
  shadowed,           // another rule of the list covers the rule
  never_matched,      // the op is the op of no node of the models
  never_held,         // it is, but the conditions hold of none of these nodes
  no_rule,            // an op of the models that no rule names
  allows_nothing,     // the list has no allow rule
};
inline constexpr int kLintKindCount = 11;

// "unknown_op", ...
std::string_view lint_kind_name(LintKind kind);

struct RuleRef {
  bool is_deny = false;
  std::uint32_t index = 0;
  bool operator==(const RuleRef&) const = default;
};

struct RuleFault {
  LintKind kind;
  RuleRef rule;
  RuleRef other = {};       // contradiction, shadowed: the rule that covers it
  std::string detail = {};  // impossible: the conditions, in words
};

// Contradictions, impossible and shadowed rules, in the order of the rules, allow first. Of two
// rules that cover each other the later one is shadowed. What is told is sure; of rules whose globs
// overlap in part nothing is told. Cost: rules that name the same op, or a glob, by pairs.
std::vector<RuleFault> find_rule_faults(const SupportList& list);

// Which rules of a list the nodes of models meet. Holds no graph: several can be added.
class RuleUse {
 public:
  struct Count {
    std::size_t named = 0;     // nodes of the op, the name, the dtype that the rule names
    std::size_t held = 0;      // of these, nodes of which every condition holds
    std::string example = {};  // the first of which one does not
    std::vector<FailedPart> failed = {};
  };
  struct Op {
    std::string domain, op;
    std::size_t nodes = 0;
    std::string first;  // name of the first node
  };

  explicit RuleUse(const SupportList& list);
  // Nodes and body nodes. Linear in them, times the rules that name the same op.
  void add(const Graph& graph, const OpFacts& facts);

  const Count& count(RuleRef rule) const { return (rule.is_deny ? deny_ : allow_)[rule.index]; }
  // Ops that no allow rule names, the most frequent first, then in the order met.
  std::vector<Op> ops_without_rule() const;

 private:
  void note_missing(const Graph& graph, NodeId node);

  const SupportList& list_;
  std::vector<Count> allow_, deny_;
  std::vector<Op> without_rule_;
  std::map<std::pair<std::string, std::string>, std::size_t> missing_;  // places in without_rule_
};

}  // namespace cleave
