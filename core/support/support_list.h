// A support list: what one accelerator can run, as rules that allow nodes and rules that deny them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/link.h"
#include "core/condition/condition.h"
#include "core/condition/relation.h"
#include "core/graph/attribute.h"
#include "core/graph/graph.h"
#include "core/pattern/pattern_search.h"

namespace cleave {

// A rule of a support list: the op that it is for and the conditions on a node of that op.
struct AttributeRule {
  std::string name;
  std::vector<AttributeValue> accepted;  // one of these; empty: see the range
  std::optional<double> min, max;        // for numbers
  bool operator==(const AttributeRule&) const = default;
};

struct ShapeRule {
  std::uint32_t input = 0;
  bool if_given = false;  // holds where the node has no such input; else it fails there
  std::optional<std::int64_t> rank;
  bool is_static = false;  // every dim known
  std::optional<std::int64_t> max_dim;
  std::vector<std::pair<std::int64_t, std::int64_t>> multiple_of;  // axis (may be negative), factor
  bool operator==(const ShapeRule&) const = default;
};

struct OpsetRule {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  // Instead of a range: opset `lowest`, or any opset in which the op's schema version is the same.
  bool same_schema = false;
  bool operator==(const OpsetRule&) const = default;
};

struct Rule {
  // The op without its domain, exact or a glob with * and ?; empty in a deny rule: any op of any domain.
  std::string op;
  std::string domain;  // "": the default domain; exact or a glob
  std::optional<OpsetRule> opset;
  std::vector<MaybeTypes> inputs, outputs;  // by position
  std::vector<std::pair<std::string, TypeSet>> kwargs;
  std::vector<AttributeRule> attributes;
  std::vector<ShapeRule> shapes;
  std::vector<Condition> conditions;  // beyond those above
  std::string node_name;              // glob on node names; empty: any
  bool is_exact_name = false;         // `node_name` is not a glob, whatever it holds
  // deny only: an input (other than a parameter that FX reads) has one of these types
  MaybeTypes input_dtype;
  std::string why;
  std::string unchecked;   // allow only: what the vendor asks for and this rule does not test
  std::uint32_t line = 0;  // position of the rule in its file, from 1; 0 when unknown
  std::uint32_t column = 0;
  bool operator==(const Rule&) const = default;
};

// A pattern of a support list: a small connected sub-graph that is accepted as a whole.
struct Pattern {
  std::string name;
  std::vector<Rule> ops;  // each an allow rule: what the node at that place must be
  PatternGraph graph;
  std::vector<Relation> where;  // relations between the nodes; all must hold
  std::string why;
  std::string unchecked;   // what the vendor asks for and this pattern does not test
  std::uint32_t line = 0;  // position in its file, from 1; 0 when unknown
  std::uint32_t column = 0;
  bool operator==(const Pattern&) const = default;
};

// Limits of an accelerator on a whole partition, as a support list states them.
enum class PartLimit : std::uint8_t { nodes, parameter_bytes, inputs, outputs, activation_bytes };
inline constexpr std::size_t kPartLimitCount = 5;

// "max_nodes", "max_parameter_bytes", "max_inputs", "max_outputs", "max_activation_bytes", as in a list.
std::string_view part_limit_name(PartLimit limit);

struct PartLimits {
  std::array<std::optional<std::uint64_t>, kPartLimitCount> most;  // by PartLimit

  const std::optional<std::uint64_t>& operator[](PartLimit limit) const {
    return most[static_cast<std::size_t>(limit)];
  }
  bool is_any() const {
    return std::any_of(most.begin(), most.end(), [](const auto& one) { return one.has_value(); });
  }
};

// What a partition has of each thing that is limited.
struct LimitedCounts {
  std::array<std::uint64_t, kPartLimitCount> amounts = {};  // by PartLimit

  std::uint64_t& operator[](PartLimit limit) { return amounts[static_cast<std::size_t>(limit)]; }
  std::uint64_t operator[](PartLimit limit) const {
    return amounts[static_cast<std::size_t>(limit)];
  }
};

// Whether the limit is of bytes; else of things.
bool is_of_bytes(PartLimit limit);

// The first limit that the counts are beyond; nullopt when they are within all.
std::optional<PartLimit> limit_exceeded(const LimitedCounts& counts, const PartLimits& limits);

// What a list asks of a whole partition: one that fails goes to the CPU.
struct PartConditions {
  struct MinOps {
    std::string op;  // as parse_op() reads it, exact or a glob
    std::uint64_t count = 0;
    bool operator==(const MinOps&) const = default;
  };
  std::vector<MinOps> min_ops;        // it has at least so many nodes of each op
  std::vector<std::string> not_only;  // it has a node of another op than these, written so, too
  std::uint32_t line = 0;             // position in its file, from 1; 0 when unknown
  std::uint32_t column = 0;
  bool is_any() const { return !min_ops.empty() || !not_only.empty(); }
  bool operator==(const PartConditions&) const = default;
};

// In place of an index in `min_ops`: the other condition.
inline constexpr std::uint32_t kNotOnly = 0xffffffff;

// The graph that a list is about.
enum class GraphView : std::uint8_t {
  model,        // the model's own
  onnxruntime,  // as ONNX Runtime changes it before it asks a provider
};

// "model", "onnxruntime"
std::string_view graph_view_name(GraphView view);
std::optional<GraphView> parse_graph_view(std::string_view name);

// How a list takes part beside others.
enum class ListRole : std::uint8_t {
  any_of,    // a node is accepted when one such list accepts it
  all_of,    // a node is accepted only when every such list accepts it
  verdicts,  // settles the nodes that its rules name, above all rules of other lists
};

struct SupportList {
  std::string name;
  std::string path;
  std::string text;  // as it was read; reports keep it, so that a later run can read it again
  std::optional<Link> link;
  std::vector<Rule> allow;
  std::vector<Rule> deny;
  ListRole role = ListRole::any_of;
  PartLimits limits = {};    // of a whole accelerator partition
  PartConditions part = {};  // of a whole accelerator partition
  GraphView view = GraphView::model;
  bool is_view_given = false;          // by the user, instead of the list
  bool keeps_qdq = false;              // operators stay whole with their Q and DQ
  std::vector<Pattern> patterns = {};  // sub-graphs that are accepted as a whole
  std::string source = {};             // where an imported list comes from, in its own words
};

// Overlays: lists with deny rules only. An overlay accepts no node by itself; used with other
// lists, it denies for all of them.

// True when the list has deny rules and no allow rule.
bool is_overlay(const SupportList& list);

// True when some list is one of those that must all accept a node.
bool are_all_of(const std::vector<SupportList>& lists);

// The graph that the user said the lists are about; nullopt when each list says so.
std::optional<GraphView> given_view(const std::vector<SupportList>& lists);

// True when there are lists and all are overlays, so that no node is accepted.
bool all_are_overlays(std::span<const SupportList> lists);

}  // namespace cleave
