// Rule check: which conditions of a rule a node does not meet. The check makes no text, so that
// matching a million nodes is cheap; core/support/failed_part.h gives the values that failed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/rule.h"

namespace cleave {

// A condition that does not hold: which list of the rule, which item of it, which clause of the
// item.
struct FailedCondition {
  enum class What : std::uint8_t { input, output, kwarg, attribute, shape, condition, opset };
  What what;
  std::uint32_t item = 0;    // index in the rule's list of these
  std::uint32_t clause = 0;  // of a shape rule, see below

  static constexpr std::uint32_t kRank = 0;
  static constexpr std::uint32_t kStatic = 1;
  static constexpr std::uint32_t kMaxDim = 2;
  static constexpr std::uint32_t kNoInput = 3;        // the node has no such input
  static constexpr std::uint32_t kFirstMultiple = 4;  // 4 + i: multiple_of[i]
};

// True when the rule is for that op: by its name, by a glob, or because it is a deny rule for any
// op.
bool names_op(const Rule& rule, std::string_view domain, std::string_view op);

// Appends every condition of the rule that fails on the node, in the order of
// FailedCondition::What; none when the rule holds. Ignores `op`, `domain`, `node_name` and
// `input_dtype`.
void find_failed_conditions(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts,
                            std::vector<FailedCondition>& failed);

// Whether the rule is for nodes of that name; a rule without a name is for all.
bool names_node(const Rule& rule, std::string_view node_name);

// True when a value that the node reads, captures included, has one of the types. Parameters do not
// count.
bool has_input_of(const Graph& graph, NodeId node, const TypeSet& types);

}  // namespace cleave
