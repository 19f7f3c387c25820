// RulesByOp: finds the rules of a list that are for an op, without checking each rule.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/support/glob.h"
#include "core/support/rule.h"

namespace cleave {

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

}  // namespace cleave
