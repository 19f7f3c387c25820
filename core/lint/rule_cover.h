// Cover: whether one rule matches every node that another matches. True only when that is certain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/support/glob.h"
#include "core/support/rule.h"

namespace cleave {

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

}  // namespace cleave
