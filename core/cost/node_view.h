// A node as cost formulas see it: inputs by position or keyword, sizes that may be unknown.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// A number that may be unknown; what is computed from an unknown number is unknown too.
using Count = std::optional<double>;
inline Count operator*(Count a, Count b) { return a && b ? Count(*a * *b) : std::nullopt; }
inline Count operator+(Count a, Count b) { return a && b ? Count(*a + *b) : std::nullopt; }
// Division by 0 gives 0, since the numerator is empty then, too.
Count operator/(Count a, Count b);

class NodeView {
 public:
  NodeView(const Graph& graph, NodeId node) : graph_(graph), node_(node) {}

  const Graph& graph() const { return graph_; }
  NodeId id() const { return node_; }
  // The tensor at that position, or with that keyword.
  std::optional<ValueId> input(std::uint32_t position, std::string_view keyword = {}) const;
  std::optional<ValueId> output(std::size_t i = 0) const;
  // The weight: an operand, or the module's own parameter of at least `least_rank` dims.
  std::optional<ValueId> weight(std::uint32_t position, std::size_t least_rank) const;
  std::span<const Operand> operands() const { return graph_.operands(node_); }
  std::span<const ValueId> module_parameters() const { return graph_.module_parameters(node_); }

  Count elements(std::optional<ValueId> value) const;
  // A dim counted from the end: 1 is the last.
  Count dim_from_end(std::optional<ValueId> value, std::size_t back) const;
  // 0 when the rank is unknown.
  std::size_t rank(std::optional<ValueId> value) const;

  // The integers of the first attribute found under one of these names; empty when there is none.
  std::vector<std::int64_t> integers(std::initializer_list<std::string_view> names) const;
  bool is_set(std::initializer_list<std::string_view> names) const;
  std::string_view text(std::initializer_list<std::string_view> names) const;

 private:
  const Graph& graph_;
  NodeId node_;
};

}  // namespace cleave
