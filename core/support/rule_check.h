// Rule check: which conditions of a rule a node does not meet. Conditions are checked without
// making text, so that matching a million nodes is cheap; core/support/failed_part.h has the values
// that failed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/support/op_facts.h"
#include "core/support/rule.h"

namespace cleave {

// A condition that does not hold: which list of the rule, which item of it, which clause of that.
struct FailedCondition {
  enum class What : std::uint8_t { input, output, kwarg, attribute, shape, opset };
  What what;
  std::uint32_t item = 0;    // index in rule.inputs, outputs, kwargs, attributes or shapes
  std::uint32_t clause = 0;  // of a shape rule, see below

  static constexpr std::uint32_t kRank = 0;
  static constexpr std::uint32_t kStatic = 1;
  static constexpr std::uint32_t kMaxDim = 2;
  static constexpr std::uint32_t kFirstMultiple = 3;  // 3 + i: multiple_of[i]
};

// True when the rule is for that op: by its name, by a glob, or for any op (a deny rule without
// one).
bool names_op(const Rule& rule, std::string_view domain, std::string_view op);

// Every condition of the rule that fails on the node, in the order of FailedCondition::What.
// `op`, `domain`, `node_name` and `input_dtype` are not looked at. Appends nothing when the rule
// holds.
void find_failed_conditions(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts,
                            std::vector<FailedCondition>& failed);

// True when some tensor or other value that the node reads, captures included, is of one of the
// types. Parameters do not count.
bool has_input_of(const Graph& graph, NodeId node, const TypeSet& types);

}  // namespace cleave
