// Rule check: which conditions of a rule a node does not meet. Conditions are checked without
// making text, so that matching a million nodes is cheap; failed_parts puts them in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/support/support.h"

namespace cleave {

// A condition that does not hold: which list of the rule, which item of it, which clause of that.
struct FailedCondition {
  FailedPart::What what;
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

// Every condition of the rule that fails on the node, in the order of FailedPart::What. `op`,
// `domain`, `node_name` and `input_dtype` are not looked at. Appends nothing when the rule holds.
void find_failed_conditions(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts,
                            std::vector<FailedCondition>& failed);

// True when some tensor or other value that the node reads, captures included, is of one of the
// types. Parameters do not count.
bool has_input_of(const Graph& graph, NodeId node, const TypeSet& types);

// The operand at that position, or of that keyword, when it is a value and not a list of values.
const Operand* find_plain_input(const Graph& graph, NodeId node, std::uint32_t position);
const Operand* find_plain_keyword(const Graph& graph, NodeId node, std::string_view name);
const Attribute* find_attribute(const Graph& graph, NodeId node, std::string_view name);

// What the node states, else the operator's default; nothing when there is neither, or when the
// value is no number, string or list of these.
std::optional<AttributeValue> attribute_value(const Graph& graph, NodeId node,
                                              std::string_view name, const OpFacts& facts);

}  // namespace cleave
