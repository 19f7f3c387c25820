// Learned pattern: a small graph of ops that a backend was seen to take as a whole although it
// refuses one of its nodes alone.
//
// Each op asks for what the nodes of the occurrences have: opsets, dtypes, the values of attributes and
// of constants of one element, exactly, and which inputs are constant. Where the occurrences differ in
// a value and all were taken, the pattern does not ask for it. Once one was refused, each that was
// taken stays a pattern with its own values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/support_list.h"

namespace cleave {

class LearnedPattern {
 public:
  // The pattern of these nodes, which the backend took together: connected, in model order, one of them
  // `refused`, the node that it refuses alone. nullopt when no pattern can say what they are: too many
  // nodes, one with a body or with attributes that no rule can ask for, or an inner value that others
  // read. Graph and facts must outlive this.
  static std::optional<LearnedPattern> of(const Graph& graph, const OpFacts& facts,
                                          std::span<const NodeId> nodes, NodeId refused);

  // The nodes around `refused`, by op, that match but for the values; empty: none.
  std::vector<NodeId> around(const Graph& graph, NodeId refused) const;
  // True when an occurrence with the same values, opsets and dtypes was asked about.
  bool is_known(const Graph& graph, const OpFacts& facts, std::span<const NodeId> nodes) const;
  // Notes what the backend says of an occurrence. `nodes` as around() gives them.
  void add(const Graph& graph, const OpFacts& facts, std::span<const NodeId> nodes, bool is_taken);

  // What was learned: a pattern, or several that differ in values. Without names and reasons.
  std::vector<Pattern> patterns() const;
  std::size_t op_count() const { return graph_.op_count; }

 private:
  // What is asked of one op: a value of an attribute (monostate: it is absent), the element of a constant.
  using Asked = std::variant<std::monostate, AttributeValue>;
  struct OpValues {
    std::map<std::string, Asked> attributes;
    std::map<std::uint32_t, std::vector<Literal>> elements;  // by input
    std::vector<std::uint32_t> constants;                    // inputs
    bool operator==(const OpValues&) const = default;
  };
  struct Occurrence {
    const Graph* graph;
    const OpFacts* facts;
    std::vector<NodeId> nodes;  // by op
    std::vector<OpValues> values;
  };

  static OpValues values_of(const Graph& graph, const OpFacts& facts, NodeId node);
  static OpValues common(const OpValues& one, const OpValues& other);
  static std::vector<OpValues> values_of(const Graph& graph, const OpFacts& facts,
                                         std::span<const NodeId> nodes);
  Pattern pattern_of(std::span<const Occurrence* const> occurrences) const;

  PatternGraph graph_;
  std::uint32_t anchor_ = 0;                              // the op that is refused alone
  std::vector<std::pair<std::string, std::string>> ops_;  // domain and op
  std::vector<Occurrence> taken_, refused_;
};

}  // namespace cleave
