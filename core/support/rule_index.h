// RuleIndex: the rules of one list, found by the op or the name of a node without checking each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/glob.h"
#include "core/support/support_list.h"

namespace cleave {

// RulesByOp: finds the rules of a list that are for an op, without checking each rule.

using RuleIndices = std::vector<std::uint32_t>;

class RulesByOp {
 public:
  // The rules must outlive this.
  explicit RulesByOp(const std::vector<Rule>& rules);
  // Leaves out the rules for which `is_wanted(rule)` is false.
  template <class IsWanted>
  RulesByOp(const std::vector<Rule>& rules, IsWanted is_wanted) : rules_(rules) {
    for (std::uint32_t i = 0; i < rules.size(); ++i) {
      if (is_wanted(rules[i])) add(i);
    }
  }

  // The rules for which names_op() is true, ascending. O(length of the op), plus a match for each
  // glob whose window (glob.h) is in the op.
  RuleIndices names(std::string_view domain, std::string_view op) const;

 private:
  void add(std::uint32_t i);

  const std::vector<Rule>& rules_;
  std::unordered_map<std::string_view, RuleIndices> exact_;
  GlobSet globs_;
  RuleIndices any_;  // rules for any op
};

// RulesByName: finds the rules of a list that are for a node's name, without checking each rule.
class RulesByName {
 public:
  // The rule has a node name, and must outlive this.
  void add(const Rule& rule, std::uint32_t i);
  bool empty() const { return exact_.empty() && globs_.empty(); }

  // The rules for which names_node() is true, ascending. O(length of the name), plus a match for
  // each glob whose window (glob.h) is in the name.
  RuleIndices matches(std::string_view node_name) const;

 private:
  std::unordered_map<std::string_view, RuleIndices> exact_;
  GlobSet globs_;
};

// RuleFilter: selects, from many rules for one op, those that may hold for a node. Rules that ask
// for values of an attribute are looked up by the node's value, so that those that ask for other
// values need not be checked.
//
//   rules                       node                  candidates
//   0  group: 1                 group 3, float32      1, 2
//   1  group: 2 or 3
//   2  dtype float32
class RuleFilter {
 public:
  // `of_op`: indices of rules for one op, ascending. Linear in the values that these rules list.
  RuleFilter(const std::vector<Rule>& rules, const RuleIndices& of_op);

  // The rules of `of_op` that may hold for the node, ascending; the others do not hold.
  RuleIndices candidates(const Graph& graph, NodeId node, const OpFacts& facts) const;

 private:
  using ByValue = std::unordered_map<std::string, RuleIndices>;

  std::map<std::string, ByValue> by_attribute_;
  RuleIndices others_;
};

// Rules of one list that name an op, by index, ascending. Rules for certain node names are looked
// up by name. If the others are many, they are filtered before they are checked on a node.
struct NamedRules {
  RuleIndices unnamed;  // for nodes of any name
  RulesByName by_name;
  std::optional<RuleFilter> filter = {};  // of `unnamed`
};

struct OpRules {
  NamedRules allow;
  NamedRules deny;
};

class RuleIndex {
 public:
  // The list must outlive this.
  explicit RuleIndex(const SupportList& list);

  OpRules rules_of(std::string_view domain, std::string_view op) const;

  // Rules for any op that name the node, ascending.
  RuleIndices allow_of(std::string_view node_name) const {
    return allow_by_name_.matches(node_name);
  }
  RuleIndices deny_of(std::string_view node_name) const { return deny_by_name_.matches(node_name); }

  const SupportList& list() const { return list_; }

 private:
  const SupportList& list_;
  RulesByOp allow_, deny_;
  RulesByName allow_by_name_, deny_by_name_;
};

}  // namespace cleave
