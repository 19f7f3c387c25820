// RulesByOp: which rules of a list are for an op, without a look at each of them.
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
  // Without the rules of which `is_wanted(rule)` is false.
  template <class IsWanted>
  RulesByOp(const std::vector<Rule>& rules, IsWanted is_wanted) : rules_(rules) {
    for (std::uint32_t i = 0; i < rules.size(); ++i) {
      if (is_wanted(rules[i])) add(i);
    }
  }

  // Those for the op, as names_op() has it, ascending. O(length of the op), and a match for each glob
  // that has a piece of it.
  RuleIndices names(std::string_view domain, std::string_view op) const;

 private:
  void add(std::uint32_t i);

  const std::vector<Rule>& rules_;
  std::unordered_map<std::string_view, RuleIndices> exact_;
  GlobSet globs_;
  RuleIndices any_;  // rules for any op
};

}  // namespace cleave
