// RulesByName: finds the rules of a list that are for a node's name, without checking each rule.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "core/support/glob.h"
#include "core/support/rule.h"
#include "core/support/rules_by_op.h"

namespace cleave {

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

}  // namespace cleave
