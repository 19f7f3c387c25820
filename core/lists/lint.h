// Lint: faults of support lists that are visible in the rules alone, or in how models use them.
//
//   deny  {"op": "Conv"}                      every Conv is denied ...
//   allow {"op": "Conv", "opset": [11, 17]}   ... so this rule is dead
//   allow "Conv"
//   allow {"op": "Conv", "group": 1}          "Conv" already covers this one: it is shadowed
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/lists/condition.h"
#include "core/lists/support.h"

namespace cleave {

// Cover: whether one rule matches every node that another matches. True only when that is certain.

// True when `wide` matches every node that `narrow` matches: its op is the same or a glob over it,
// and each of its conditions follows from one of the narrow rule's. A wide rule that states a
// condition does not cover a narrow one that leaves it out.
bool covers(const Rule& wide, const Rule& narrow);

// CoverIndex: finds which rule of a list covers a given rule. It compares the rule only with those
// that name its op and ask for the same node's name or the same attribute's value.
class CoverIndex {
 public:
  // The rules must outlive this.
  explicit CoverIndex(const std::vector<Rule>& rules);

  // The first rule that covers the given one, those for several ops before those for its op;
  // nullopt when there is none. `self` is the rule's own index if it is in the list; it is left
  // out, and of two rules that cover each other only the earlier one counts. Of the rules for the
  // same op without a node's name or an attribute's value, only the first thousand are compared.
  std::optional<std::uint32_t> find_cover(const Rule& rule,
                                          std::optional<std::uint32_t> self) const;

 private:
  static constexpr std::size_t kMostCompared = 1000;
  using Indices = std::vector<std::uint32_t>;

  struct Group {
    std::unordered_map<std::string, Indices> by_key;  // of a node's name, or an attribute's value
    GlobSet by_node_glob, by_op_glob;
    Indices others;

    void add(const Rule& rule, std::uint32_t i);
    // The first rule for which `covers_it` is true, among those that may cover the given rule.
    template <class Covers>
    std::optional<std::uint32_t> first(const Rule& rule, Covers covers_it) const;
  };

  const std::vector<Rule>& rules_;
  Group of_several_ops_;
  std::unordered_map<std::string_view, Group> by_op_;
};

enum class LintKind : std::uint8_t {
  unknown_op,         // the operators' registry has no such op
  unknown_domain,     // the registry has no such domain
  unknown_attribute,  // the op never had such an attribute
  unused_condition,   // a condition on something that the op does not have
  contradiction,      // an allow rule whose nodes are all denied by a deny rule
  impossible,         // conditions of one rule that exclude each other
  shadowed,           // another rule of the list covers the rule
  never_matched,      // no node of the models has the op
  never_held,         // nodes have the op, but the conditions hold for none of them
  no_rule,            // an op of the models that no rule names
  allows_nothing,     // the list has no allow rule
  removed_op,         // ONNX had the op, and removed it
  absent_input,       // a deny rule that fails where an optional input is left out
  unchecked,          // a condition of the vendor that the rule does not check
  unread,             // something in the list that was ignored when it was read
};
inline constexpr int kLintKindCount = 15;

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
  std::string detail = {};  // impossible: the conditions, as text
};

// Contradictions, impossible and shadowed rules, in the order of the rules, allow rules first. Of
// two rules that cover each other the later one is shadowed. Reports only what is certain; rules
// whose globs overlap in part are not reported. Cost: pairs of rules that name the same op, or a
// glob.
std::vector<RuleFault> find_rule_faults(const SupportList& list);

// A fault of a pattern.
struct PatternLint {
  LintKind kind;
  std::uint32_t pattern;
  std::uint32_t op = 0;     // impossible, contradiction
  std::uint32_t other = 0;  // contradiction: the deny rule
  std::string detail = {};  // impossible: the conditions, as text
};

// Patterns with an op that no node can be (impossible) or whose nodes are all denied
// (contradiction), and patterns whose ops are all covered by allow rules (shadowed), in the order of
// the list.
std::vector<PatternLint> find_pattern_lint(const SupportList& list);

// Which rules of a list the nodes of models match. Holds no graph: several can be added.
class RuleUse {
 public:
  struct Count {
    std::size_t named = 0;     // nodes with the op, name and dtype that the rule names
    std::size_t held = 0;      // of these, the nodes that meet every condition
    std::string example = {};  // name of the first node that does not
    std::vector<FailedPart> failed = {};
  };
  struct Op {
    std::string domain, op;
    std::size_t nodes = 0;
    std::string first;  // name of the first node
  };

  explicit RuleUse(const SupportList& list);
  // Adds nodes and body nodes. Linear in them, times the rules that name the same op.
  void add(const Graph& graph, const OpFacts& facts);

  const Count& count(RuleRef rule) const { return (rule.is_deny ? deny_ : allow_)[rule.index]; }
  // How often the pattern matches.
  std::size_t matches(std::uint32_t pattern) const { return matches_[pattern]; }
  // Ops that neither an allow rule nor a pattern names, the most frequent first, then in the order in which they appear.
  std::vector<Op> ops_without_rule() const;

 private:
  void note_missing(const Graph& graph, NodeId node);

  const SupportList& list_;
  std::vector<Count> allow_, deny_;
  std::vector<std::size_t> matches_;  // by pattern
  std::vector<Op> without_rule_;
  // indices into without_rule_
  std::map<std::pair<std::string, std::string>, std::size_t> missing_;
};

}  // namespace cleave
