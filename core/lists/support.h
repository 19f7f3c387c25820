// Support lists: rules, patterns, and the judgement of each node of a graph.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"

namespace cleave {

// ---- glob ----
//
// Globs: patterns with * and ?, as rules use them for ops and node names.

// True when the text matches the pattern: * matches any run of characters, ? any one character.
// Linear for patterns with one star, |pattern| x |text| at worst; no recursion.
bool glob_match(std::string_view pattern, std::string_view text);

// True when the pattern contains a * or a ?.
bool is_glob(std::string_view pattern);

// GlobSet: finds which of many globs match a text. Each glob has a window: some bytes that every
// text that it matches contains.
//
//   glob          window        texts that it is tried on
//   *q12*         q12           those with q12 in them
//   torch.*       torch.        those with torch. in them
//   a*layernorm   layernorm     those with layernorm in them
//   *             none          all
class GlobSet {
 public:
  // The glob must outlive the set. Ids can be any numbers that differ within the set.
  void add(std::string_view glob, std::uint32_t id);
  bool empty() const { return size_ == 0; }

  // The ids of the globs that match the text, ascending. O(text), and a match for each glob whose
  // window is in the text.
  std::vector<std::uint32_t> matches(std::string_view text) const;

 private:
  struct Glob {
    std::string_view pattern;
    std::uint32_t id;
  };
  using Globs = std::vector<Glob>;

  static constexpr std::size_t kWidest = 16;

  static void match_all(const Globs& globs, std::string_view text, std::vector<std::uint32_t>& ids);

  std::size_t size_ = 0;
  Globs without_window_;
  std::unordered_map<std::string_view, Globs> by_window_;
  std::uint32_t widths_ = 0;  // of windows; bit i: i bytes
};

// ---- reason ----
//
// Why a node is not on the accelerator: a code, and the node or rule to blame. The pass that takes
// a node off the accelerator records the reason in its result; reports and drawings turn it into
// words.

enum class ReasonCode : std::uint8_t {
  none,               // on the accelerator, or not decided
  no_rule,            // no allow rule of any list names the op
  rule_failed,        // an allow rule names it, but a condition fails (or a body node is refused)
  denied,             // a deny rule matches
  non_tensor_input,   // reads a non-tensor made by a CPU node
  non_tensor_output,  // makes a non-tensor that a CPU node, or the graph's output, reads
  fusion_group,       // tied by non-tensor data to a node that is on the CPU
  small_subgraph,     // its accelerator subgraph was below the minimum size
  host_shape,         // a shape computation kept on the host
  qdq_group,          // tied to a quantize/dequantize group with a CPU node
  over_cap,           // its accelerator subgraph was beyond the number to keep
  costs_more,         // an inference is faster with it on the CPU
  shared_memory,      // uses memory that is written in place, as a CPU node does
  part_limit,         // by itself it is beyond a list's limit on a whole partition
  pattern_failed,     // only a pattern names the op, and it does not match around the node
  pattern_group,      // tied to a CPU node by the match of a pattern
  runtime_graph,      // what the runtime makes of it before it asks is refused
  part_condition,     // its accelerator subgraph lacks what a list asks of a whole partition
};
inline constexpr int kReasonCodeCount = 18;

// "no_rule", ... as reports write it; "" for none.
std::string_view reason_code_name(ReasonCode code);

// Why a placement by cost has a node elsewhere that one of several targets could run.
enum class Elsewhere : std::uint8_t {
  less_time,    // an inference takes less time
  less_energy,  // or draws less
  memory,       // without the limit of its memory it would be here
  required,     // it is required on another target
};

struct Reason {
  ReasonCode code = ReasonCode::none;
  Elsewhere elsewhere = Elsewhere::less_time;  // costs_more, of one of several targets
  std::uint16_t list = 0;          // of those with a rule, and part_condition: which list
  std::uint32_t rule = 0;          // rule_failed: index in its allow rules; denied: in its deny
                                   // rules; part_limit: which PartLimit; pattern_failed: in its
                                   // patterns; runtime_graph without `because`: the node of its
                                   // function body; part_condition: in PartConditions::min_ops,
                                   // or kNotOnly
  NodeId because = kNone<NodeId>;  // the node to blame; kNone for a rule, or the graph's output
  std::uint32_t size = 0;          // small_subgraph: the number of nodes in the subgraph;
                                   // part_limit: how many there are, of bytes in KiB, rounded up
                                   // pattern_failed: index in Support::misses
                                   // part_condition: how many nodes of the op there are
                                   // costs_more by memory: its limit in KiB, rounded up
  // costs_more: what the node, with the connected nodes that moved along with it, would add to the
  // inference on the one accelerator. An infinite compute_us: the time of one of them is unknown.
  float link_us = 0;
  float compute_us = 0;
  float launch_us = 0;
  bool operator==(const Reason&) const = default;
};

// ---- pattern search ----
//
// Pattern search: finds the nodes of a graph that match a pattern around one node, the *anchor*.
//
// A match gives each op of the pattern a node of its own, such that
//  - each node fits its op, which the caller decides;
//  - each edge of the pattern is there: the node at `to` reads the node at `from`;
//  - there is no other edge: what one of the nodes reads from another fits an edge of the pattern;
//  - a value that one of the nodes reads from another is *inner*: no other node reads it, and it is
//    no output of the graph;
//  - the nodes fit as a whole, which the caller decides, too.
// An inner value has fewer readers than the pattern has ops: so few nodes are candidates for an op.

// PatternGraph: the shape of a pattern, which is a small connected graph of ops without cycles.
//
//   ops    0 Conv  1 BatchNormalization  2 Relu
//   edges  0 -> 1, 1 -> 2
//
// An edge says that one op reads an output of another, from any output to any input unless it says
// which.
struct PatternEdge {
  std::uint32_t from = 0, to = 0;       // ops
  std::optional<std::uint32_t> output;  // of `from`; nullopt: any
  std::optional<std::uint32_t> input;   // of `to`, by position; nullopt: any, by keyword too
  bool operator==(const PatternEdge&) const = default;
};

struct PatternGraph {
  static constexpr std::size_t kMostOps = 16;
  static constexpr std::size_t kMostEdges = 256;
  std::size_t op_count = 0;
  std::vector<PatternEdge> edges;
  bool operator==(const PatternGraph&) const = default;
};

struct PatternFault {
  enum class Kind : std::uint8_t {
    no_op,
    too_many_ops,
    too_many_edges,
    no_such_op,     // edge `at` names an op that the pattern does not have
    repeated_edge,  // edge `at` is there already
    cycle,          // edge `at` is part of a cycle
    unconnected,    // no edges lead from op 0 to op `at`, in either direction
  };
  Kind kind;
  std::size_t at = 0;
};

// The first thing that makes the graph no pattern; nullopt when it is one.
std::optional<PatternFault> find_pattern_fault(const PatternGraph& pattern);

enum class NodeFit : std::uint8_t {
  fits,
  other_op,
  failing,  // the op is right, but a condition fails
  denied,
  taken,  // in another match
};

// The functions say whether a node fits an op, and whether nodes, by op, fit as a whole.
struct PatternQuery {
  const Graph& graph;
  const PatternGraph& pattern;  // without faults
  std::function<NodeFit(std::uint32_t op, NodeId node)> fit;
  std::function<bool(std::span<const NodeId> nodes)> whole_fits;
};

// Where the search came to an end, at the most nodes that fit together.
struct PatternMiss {
  enum class Kind : std::uint8_t {
    no_neighbor,   // `node`, at one end of edge `edge`, has no node of the right op at the other
    no_edge,       // edge `edge` is missing between `node`, which should read it, and `other`
    failing,       // a condition of op `op` fails on `node`
    taken,         // `node` is in another match
    denied,        // `node` is denied
    other_edge,    // `node` reads `other`, which is no edge of the pattern
    read_outside,  // `other` reads `value`, an inner value of `node`; kNone: the graph's output
    whole,         // `nodes`, by op, do not fit as a whole
    too_long,      // the search was ended
    refused,       // set by callers: `node`, of a match, is refused for another reason
  };
  Kind kind = Kind::no_neighbor;
  std::uint32_t op = 0;
  std::uint32_t edge = 0;
  NodeId node = kNone<NodeId>;
  NodeId other = kNone<NodeId>;
  ValueId value = kNone<ValueId>;
  std::vector<NodeId> nodes = {};
  std::uint32_t placed = 0;  // ops that had a node
};

class PatternSearch {
 public:
  // The most candidates that are looked at around one anchor, except that the first complete set of
  // nodes is always checked.
  static constexpr std::uint64_t kMostSteps = 4096;

  // Searches from nodes of op `anchor_op`. The query must outlive this.
  PatternSearch(const PatternQuery& query, std::uint32_t anchor_op);

  // True when there is a match with this anchor; the first one, in the order of edges, operands and
  // readers, is then in nodes(), else the reason is in miss().
  bool run(NodeId anchor);

  std::span<const NodeId> nodes() const { return nodes_; }  // by op
  const PatternMiss& miss() const { return miss_; }
  std::uint64_t steps() const { return steps_; }  // of all runs: candidates and operands

 private:
  struct Step {
    std::uint32_t op;
    std::uint32_t edge;  // that leads to an op placed before
    bool is_forward;     // from that op to this one
  };
  bool place(std::size_t depth);
  bool place_readers(std::size_t depth);
  bool place_makers(std::size_t depth);
  bool try_node(std::size_t depth, NodeId node);
  bool is_complete();
  bool edges_are_listed();
  bool values_stay_inside();
  bool can_be_inner(ValueId value);
  bool has_edge(std::uint32_t edge) const;
  bool is_listed(std::uint32_t from, std::uint32_t to, const Operand& operand) const;
  std::uint32_t op_of(NodeId node) const;  // op_count when it has none
  bool is_over();
  void note(PatternMiss miss);

  const PatternQuery& query_;
  std::uint32_t anchor_op_;
  std::vector<Step> plan_;
  std::vector<NodeId> nodes_;
  PatternMiss miss_;
  int miss_rank_ = -1;
  std::uint32_t placed_ = 0;
  bool has_right_op_ = false;  // a candidate of the step at hand is of the right op
  std::uint64_t steps_ = 0, last_step_ = 0;
};

// ---- qdq groups ----
//
// Q/DQ groups: a quantised operator as exporters write it: dequantised inputs, the operator in
// floating point, its result quantised again. A runtime that computes in integers runs the group as
// one operator. When the group is split, it computes in floating point, and four times the bytes
// cross.
//
//   xq -> DQ -> Conv -> Relu -> Q -> yq      {DQ Conv Relu Q} is a group
//   wq -> DQ ---^                            this DQ too, unless it is a constant: those are copied
//
// A group is: an operator that reads at least one DequantizeLinear; a chain of nodes after it, each
// of which is the only reader of the one before and reads no other node; and the QuantizeLinears
// that read the chain's end. No other node may read the chain's end, and it may not be an output of
// the model: when its result is also read in floating point, runtimes do not treat it as quantised.
// In native JSON, torch's quantize_per_tensor, dequantize and the like are Q and DQ.

// Groups as found in the graph, before any are merged; ordered by their operators.
struct QdqGroups {
  std::vector<std::uint32_t> begin = {0};  // CSR
  std::vector<NodeId> members;             // DQs, the operator and its chain, Qs

  std::size_t count() const { return begin.size() - 1; }
  std::span<const NodeId> group(std::size_t i) const {
    return std::span(members).subspan(begin[i], begin[i + 1] - begin[i]);
  }
};

// `operators`: groups have no chain, no DQ that several nodes read, and all floats that are computed come
// from DQs. So ONNX Runtime's providers see a quantised operator, and lists of single operators mean it.
enum class QdqReach : std::uint8_t { operators, chains };

// Linear.
QdqGroups find_qdq_groups(const Graph& graph, QdqReach reach);

// ---- support list ----
//
// A support list: what one accelerator can run, as rules that allow nodes and rules that deny them.

// A rule of a support list: the op that it is for and the conditions on a node of that op.
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
  std::vector<Condition> conditions;  // attributes, shapes, others: see add()
  std::string node_name;              // glob on node names; empty: any
  bool is_exact_name = false;         // `node_name` is not a glob, whatever it holds
  // deny only: an input (other than a parameter that FX reads) has one of these types
  MaybeTypes input_dtype;
  std::string why;
  std::string unchecked;   // allow only: what the vendor asks for and this rule does not test
  std::uint32_t line = 0;  // position of the rule in its file, from 1; 0 when unknown
  std::uint32_t column = 0;
  bool operator==(const Rule&) const = default;

  // Adds it behind those of its kind. Failures are told in that order: attributes, entries of "shapes",
  // other conditions.
  void add(Condition condition);
  void add(const ShapeEntry& entry);
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
    return std::ranges::any_of(most, [](const auto& one) { return one.has_value(); });
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

// ---- rule check ----
//
// Rule check: which conditions of a rule a node does not meet. The check makes no text, so that
// matching a million nodes is cheap; failed_parts() makes it.

// A condition that does not hold: which list of the rule, and which item of it.
struct FailedCondition {
  enum class What : std::uint8_t { input, output, kwarg, condition, opset };
  What what;
  std::uint32_t item = 0;  // index in the rule's list of these
};

// True when the name means that op of a graph: exactly, as a glob, or as torch's operators are
// written. An empty op: any op of any domain. The domain may be a glob, too; without one only the
// default domain's ops are meant.
bool names_op(const ParsedOp& name, std::string_view domain, std::string_view op);

// True when the name, of an option or a condition that is no rule, means that op: without a domain it
// is for ops of every domain.
bool names_op_anywhere(const ParsedOp& name, std::string_view domain, std::string_view op);

// Whether a domain that a rule writes, perhaps as a glob, is that domain.
bool is_in_domain(std::string_view written, std::string_view domain);

// True when the rule is for that op.
bool names_op(const Rule& rule, std::string_view domain, std::string_view op);

// Appends every condition of the rule that fails on the node, in the order of
// FailedCondition::What; none when the rule holds. Ignores `op`, `domain`, `node_name` and
// `input_dtype`.
void find_failed_conditions(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts,
                            std::vector<FailedCondition>& failed);

// True when the nearest rule refuses the node for the model's opset, and for nothing else: what the list says of
// other opsets says nothing of this one.
bool fails_on_opset_alone(const Graph& graph, NodeId node, std::span<const SupportList> lists,
                          const Reason& reason, const OpFacts& facts);

// Whether the rule is for nodes of that name; a rule without a name is for all.
bool names_node(const Rule& rule, std::string_view node_name);

// True when a value that the node reads, captures included, has one of the types. Parameters do not
// count.
bool has_input_of(const Graph& graph, NodeId node, const TypeSet& types);

// Every condition of the rule that fails on the node, in the order of find_failed_conditions();
// empty when the rule holds. Also works for body nodes.
std::vector<FailedPart> failed_parts(const Graph& graph, NodeId node, const Rule& rule,
                                     const OpFacts& facts);

// The lowest opset in which the rule would hold, where it fails on the node's opset alone and that is
// older; nullopt otherwise.
std::optional<std::int64_t> newer_opset_of(const Graph& graph, NodeId node, const Rule& rule,
                                           const OpFacts& facts);
// The same of the parts that fail.
std::optional<std::int64_t> newer_opset_of(const std::vector<FailedPart>& failed);

// ---- rule index ----
//
// RuleIndex: the rules of one list, found by the op or the name of a node without checking each.

// RulesByOp: finds the rules of a list that are for an op, without checking each rule.

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
  // glob whose window (GlobSet, above) is in the op.
  RuleIndices names(std::string_view domain, std::string_view op) const;

 private:
  void add(std::uint32_t i);

  const std::vector<Rule>& rules_;
  std::unordered_map<std::string_view, RuleIndices> exact_;
  GlobSet globs_;
  RuleIndices any_;  // rules for any op
};

// RulesByName: finds the rules of a list that are for a node's name, without checking each rule.
class RulesByName {
 public:
  // The rule has a node name, and must outlive this.
  void add(const Rule& rule, std::uint32_t i);
  bool empty() const { return exact_.empty() && globs_.empty(); }

  // The rules for which names_node() is true, ascending. O(length of the name), plus a match for
  // each glob whose window (GlobSet, above) is in the name.
  RuleIndices matches(std::string_view node_name) const;

 private:
  std::unordered_map<std::string_view, RuleIndices> exact_;
  GlobSet globs_;
};

// RuleFilter: selects, from many rules for one op, those that may hold for a node. Rules that ask
// for values of an attribute are looked up by the node's value, so that those that ask for other
// values need not be checked.
//
//   rules                       node                  candidates
//   0  group: 1                 group 3, float32      1, 2
//   1  group: 2 or 3
//   2  dtype float32
class RuleFilter {
 public:
  // `of_op`: indices of rules for one op, ascending. Linear in the values that these rules list.
  RuleFilter(const std::vector<Rule>& rules, const RuleIndices& of_op);

  // Leaves out attributes that only a node that states them has: `node` is any of the op. A node is
  // then looked at in time linear in what it states, however many attributes the rules name.
  void keep_defaults(const Graph& graph, NodeId node, const OpFacts& facts);

  // The rules of `of_op` that may hold for the node, ascending; the others do not hold.
  RuleIndices candidates(const Graph& graph, NodeId node, const OpFacts& facts) const;

 private:
  using ByValue = std::unordered_map<std::string, RuleIndices>;

  std::map<std::string, ByValue, std::less<>> by_attribute_;
  std::vector<std::string> unstated_;  // attributes that a node may have without stating them
  RuleIndices others_;
};

// Rules of one list that name an op, by index, ascending. Rules for certain node names are looked
// up by name. If the others are many, they are filtered before they are checked on a node.
struct NamedRules {
  RuleIndices unnamed;  // for nodes of any name
  RulesByName by_name;
  std::optional<RuleFilter> filter = {};  // of `unnamed`
};

struct OpRules {
  NamedRules allow;
  NamedRules deny;
};

class RuleIndex {
 public:
  // The list must outlive this.
  explicit RuleIndex(const SupportList& list);

  OpRules rules_of(std::string_view domain, std::string_view op) const;

  // Rules for any op that name the node, ascending.
  RuleIndices allow_of(std::string_view node_name) const {
    return allow_by_name_.matches(node_name);
  }
  RuleIndices deny_of(std::string_view node_name) const { return deny_by_name_.matches(node_name); }

  const SupportList& list() const { return list_; }

 private:
  const SupportList& list_;
  RulesByOp allow_, deny_;
  RulesByName allow_by_name_, deny_by_name_;
};

// ---- list patterns ----
//
// ListPatterns: finds the places of a graph where the patterns of a support list hold, and says why
// none holds around a node.
//
// The patterns of a list are tried in order, each around the nodes of its rarest op, in model
// order. The first match around a node counts, and its nodes are then taken: a node is in one match
// of a list, and in one of all lists together unless every list must accept it.

// Pattern matches: the places of a graph where patterns of support lists hold.
struct PatternMatch {
  std::uint16_t list;
  std::uint32_t pattern;  // of the list
  bool operator==(const PatternMatch&) const = default;
};

// Matches in the order found: by list, by pattern, by anchor.
struct PatternMatches {
  std::vector<PatternMatch> matches;
  std::vector<std::uint32_t> begin = {0};                        // CSR
  std::vector<NodeId> nodes;                                     // of each match, by op
  std::unordered_map<NodeId, std::uint32_t> first_of_node = {};  // the first match with the node

  std::size_t count() const { return matches.size(); }
  std::span<const NodeId> nodes_of(std::size_t i) const {
    return std::span(nodes).subspan(begin[i], begin[i + 1] - begin[i]);
  }
  void add(const PatternMatch& match, std::span<const NodeId> members);
  // The match that contains the node; nullopt when none does.
  std::optional<std::uint32_t> match_of(NodeId node) const;
};

// The distinct ops of a graph, and the nodes of each in model order.
struct NodesByOp {
  explicit NodesByOp(const Graph& graph);
  std::vector<std::vector<NodeId>> nodes;  // by op number
  PerNode<std::uint32_t> op_of;
};

// The patterns of one list, held against one graph. Bodies are not searched.
class ListPatterns {
 public:
  using IsDenied = std::function<bool(NodeId)>;
  // All of it must outlive this.
  ListPatterns(const Graph& graph, const NodesByOp& ops, const SupportList& list,
               const OpFacts& facts);

  // Adds the matches of the list, without nodes that are denied or taken; their nodes are taken
  // then. For each pattern at most PatternSearch::kMostSteps around each node of its rarest op. Ends
  // early, with steps() above `most_steps`, when that many steps are not enough.
  void find(const IsDenied& is_denied, NodeSet& taken, std::uint64_t most_steps,
            const std::function<void(std::uint32_t pattern, std::span<const NodeId>)>& found);

  // The pattern with the most ops placed around the node; the first if several are equal. nullopt when no
  // pattern names the node's op, or only a glob does and no second node fits.
  struct Nearest {
    std::uint32_t pattern;
    PatternMiss miss;
  };
  std::optional<Nearest> nearest(NodeId node, const IsDenied& is_denied, const NodeSet& taken);

  // Whether an op of a pattern names the node's op; false for nodes in bodies.
  bool names(NodeId node) const {
    return index(node) < ops_.op_of.size() && !roles_[ops_.op_of[node]].empty();
  }

  // Candidates that were looked at so far, and terms of `where` that were computed.
  std::uint64_t steps() const { return steps_; }

 private:
  struct Role {
    std::uint32_t pattern, op;
  };
  using Mask = std::uint16_t;  // a bit for each op of a pattern
  NodeFit fit(Role role, NodeId node, const IsDenied& is_denied, const NodeSet& taken);
  bool whole_fits(const Pattern& pattern, std::span<const NodeId> nodes);
  PatternQuery query(std::uint32_t pattern, const IsDenied& is_denied, const NodeSet& taken);
  struct Anchors {
    std::uint32_t op;
    std::vector<NodeId> nodes;  // in model order
  };
  Anchors rarest_op(std::uint32_t pattern) const;

  const Graph& graph_;
  const NodesByOp& ops_;
  const SupportList& list_;
  const OpFacts& facts_;
  std::vector<std::vector<Role>> roles_;                        // by op number
  std::vector<std::unordered_map<std::uint32_t, Mask>> masks_;  // by pattern, by op number
  std::vector<FailedCondition> failed_;
  std::uint64_t steps_ = 0;
};

// LiveMatches: the matches of all lists while support is decided. A match is live until one of its
// nodes turns out to be refused, which gives the others up, too.
class LiveMatches {
 public:
  // Adds a live match. No node of it is in another match of the same list.
  void add(const PatternMatch& match, std::span<const NodeId> nodes);

  const PatternMatches& all() const { return all_; }
  // Those that are live.
  PatternMatches live() const;

  // The list's live match with the node.
  std::optional<std::uint32_t> live_match(std::uint16_t list, NodeId node) const;
  // The list's match with the node, if it was given up, and the node that was refused.
  std::optional<std::pair<PatternMatch, NodeId>> given_up(std::uint16_t list, NodeId node) const;

  // Drops live matches with a node for which `is_refused(node)` is true, until none is left.
  // Calls it again for the nodes of other matches that share a node. Linear in matches and lists.
  template <class IsRefused>
  void give_up_refused(std::vector<std::uint16_t> lists, const IsRefused& is_refused) {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < all_.count(); ++i) open.push_back(i);
    while (!open.empty()) {
      const std::uint32_t match = open.back();
      open.pop_back();
      if (refused_[match] != kNone<NodeId>) continue;
      for (const NodeId node : all_.nodes_of(match)) {
        if (!is_refused(node)) continue;
        refused_[match] = node;
        break;
      }
      if (refused_[match] != kNone<NodeId>) add_neighbors(match, lists, open);
    }
  }

 private:
  static std::uint64_t key_of(std::uint16_t list, NodeId node) {
    return std::uint64_t{list} << 32U | index(node);
  }
  void add_neighbors(std::uint32_t match, const std::vector<std::uint16_t>& lists,
                     std::vector<std::uint32_t>& open) const;

  PatternMatches all_;
  std::vector<NodeId> refused_;                                // by match; kNone: live
  std::unordered_map<std::uint64_t, std::uint32_t> match_of_;  // by list and node
};

// ---- part conditions ----
//
// Part conditions: what a list asks of a whole accelerator partition ("part": {"min_ops": ...,
// "not_only": ...}).

// True when a list has such conditions.
bool have_part_conditions(std::span<const SupportList> lists);

// The first condition of a list that a partition of these nodes does not meet, as the reason
// `part_condition`; nullopt when it meets all. Linear in the nodes, times the conditions.
std::optional<Reason> failed_part_condition(const Graph& graph, std::span<const SupportList> lists,
                                            std::span<const NodeId> nodes);

// ---- support ----
//
// Support matching: which nodes the lists accept, and the reason for each node that they refuse.
//
// A list accepts a node when at least one allow rule matches and no deny rule does. Several lists
// combine: a node is supported when any list accepts it, or, for lists with the role all_of, when
// all accept it. An overlay denies for all lists. A list of verdicts decides the nodes that it
// names. A node with bodies is supported when its op and every node of its bodies are; a region whose
// op no rule names, when every node of its body is.
//
// A list that is about a runtime's graph (SupportList::view) judges a node as what it is there: as the
// node that it becomes a part of, or, if no rule names its op, by the nodes of its function's body.
//
// A list also accepts the nodes of each match of its patterns ("list patterns" above), unless
// it denies one of them. If every list must accept a node, a match counts only when all lists accept
// all of its nodes.

// A node that is accepted by a rule, or a pattern, that leaves a condition of the vendor unchecked.
struct UncheckedNode {
  NodeId node;
  std::uint16_t list;
  std::uint32_t rule;  // an allow rule, or a pattern
  bool is_pattern = false;
};

struct Support {
  NodeSet supported;
  // no_rule, denied, rule_failed, pattern_failed, runtime_graph
  PerNode<Reason> reasons;
  std::vector<UncheckedNode> unchecked = {};  // in model order
  PatternMatches patterns = {};               // the matches that count
  std::vector<PatternMiss> misses = {};       // of nodes with pattern_failed: Reason::size
};

// The verdict on each node. When several lists refuse, the reason is the first `denied`, else the
// first `rule_failed`, else `no_rule`. Linear in nodes + operands + attributes, times the rules
// that name the same op and do not ask for another value of an attribute; globs are resolved once
// per op type. If more than 1,000 rules name an op, the nearest rule is searched among the first
// 1,000. Patterns: see ListPatterns; the search for the nearest ones ends after a few million steps,
// and further nodes have the reason `no_rule`.
Support match_support(const Graph& graph, const std::vector<SupportList>& lists,
                      const OpFacts& facts);

// The verdict of the rules, without patterns, on one node without its bodies; code `none` when it is
// accepted. Also works for body nodes. Linear in the rules: for explanations, not for loops.
Reason match_node(const Graph& graph, NodeId node, std::span<const SupportList> lists,
                  const OpFacts& facts);

// Body nodes that no list accepts, each with its reason, in the order of their owners and then of
// the bodies. As linear as match_support.
std::vector<std::pair<NodeId, Reason>> refused_body_nodes(const Graph& graph,
                                                          std::span<const SupportList> lists,
                                                          const OpFacts& facts);

// Which rule accepts a node, for explanations. The matching itself is in core/lists/support.cc.
struct AcceptingRule {
  // the first list that accepts the node, that is, none of its deny rules matches
  std::uint16_t list;
  std::uint32_t rule;  // the first of its allow rules that holds
};

// nullopt when no rule of a list accepts the node. Ignores bodies and patterns. Linear in the rules: not for loops over
// nodes.
std::optional<AcceptingRule> find_accepting_rule(const Graph& graph, NodeId node,
                                                 std::span<const SupportList> lists,
                                                 const OpFacts& facts);

// False for lists about the runtime's graph: a runtime computes constants before it asks.
bool meet_constants(std::span<const SupportList> lists);

// Constants that are computed by operators which the lists refuse, in model order. As linear as
// match_support; ends early, with those found so far, beyond most_rule_checks().
std::vector<NodeId> refused_constants(const Graph& graph, std::span<const SupportList> lists,
                                      const OpFacts& facts);

// A limit on the work of matching. A list may have thousands of rules for one op, which must be
// checked one by one on each node of the op, unless they ask for an attribute's value.

// The most checks in one split, of a rule on a node and of a term of its `where`: a second of work, or a
// thousand for each node of a large graph.
inline std::uint64_t most_rule_checks(const Graph& graph) {
  return std::min<std::uint64_t>(10'000'000 + 1000 * std::uint64_t{graph.node_count()},
                                 100'000'000);
}

// The same as match_support(); nullopt when it would check rules on nodes more than `most_checks`
// times. Steps of the search for patterns count as checks.
std::optional<Support> match_support_within(const Graph& graph, std::span<const SupportList> lists,
                                            const OpFacts& facts, std::uint64_t most_checks);

// ---- host shapes ----
//
// Host shapes (--host-shapes): nodes that compute shapes go to the side of the nodes that use them.
//
// Exported models compute shapes at run time: Shape -> Gather -> Mul -> Concat -> Reshape. These
// are a few integers; the host computes them while it launches a partition, or, with fixed shapes,
// the compiler folds them away. Yet a list without a rule for Shape splits the graph at each
// Reshape:
//
//   conv (acc) -> Shape, Gather, Concat (CPU) -> Reshape (acc)     three subgraphs; here: one
//
// A *shape computation* is Shape, Size (in native graphs: size, shape, dim, numel), or a node that
// computes on few numbers and reads only shape computations and small constants. Ops that make data
// of a given shape (Range, Expand, ConstantOfShape with more elements) are not. A shape computation
// goes where the nodes are that use it, whatever the support list says:
//  - all on the accelerator: there. All on the CPU: there, with reason `host_shape` and the user.
//  - on both: to the accelerator when its input is made there, so that no data goes to the CPU and
//    back; else to the CPU.
//  - no user: as the list says. A node that the list denies stays on the CPU.
// Nodes stay nodes: each is in one part, and is counted and written as before.

struct HostShapes {
  NodeSet nodes;           // shape computations that follow their users
  Support support;         // the verdict on every node, with these nodes moved
  std::size_t to_acc = 0;  // moved to the accelerator though the list does not accept them
  std::size_t to_cpu = 0;  // moved to the CPU though the list accepts them
};

// Linear: shape computations are found front to back, their sides back to front.
HostShapes follow_shape_users(const Graph& graph, const Support& support);

// ---- required nodes ----
//
// RequiredNodes: finds the nodes that a `require` matches, by name or op, both as globs, or by such a
// node in one of their bodies. The graph must outlive it.

class RequiredNodes {
 public:
  explicit RequiredNodes(const Graph& graph);

  // In model order. Linear in the graph's ops and the nodes found; for a glob, in the nodes.
  std::vector<NodeId> of(const std::string& pattern) const;

 private:
  std::unordered_map<std::string_view, std::vector<NodeId>> by_name_;
  std::map<std::pair<std::string_view, std::string_view>, std::vector<NodeId>> by_op_;
};

// ---- unused rules ----
//
// Rules and lists that match no node of a model, and what their author may have meant.

// Allowing rules: everything in a list that names ops that it accepts.

// The list's allow rules, then the ops of its patterns: only which ops they name, and where. Linear.
std::vector<Rule> allowing_rules(const SupportList& list);

// Idle lists: lists that put no node on the accelerator, because no allow rule names an op of the
// model. Such a list is valid, but usually it is another model's, or empty by mistake.
struct UsedOp {
  std::string_view domain, op;  // of the graph
  std::size_t nodes = 0;
};

struct IdleList {
  std::uint16_t list;
  std::vector<UsedOp> ops;  // the model's most frequent ops, at most 3
};

// The idle lists in the order of `lists`; none for a graph without nodes. Linear in the nodes, plus
// rules times op types.
std::vector<IdleList> find_idle_lists(const Graph& graph, std::span<const SupportList> lists);

// The names that one layer has in the two forms of a torch.export program: as exported (training IR)
// and after run_decompositions().
//
//   aten.conv2d    aten.convolution
//   aten.linear    aten.addmm, aten.mm
//   aten.relu_     aten.relu
struct IrTwin {
  std::string op;  // "aten.convolution": any overload
  bool is_decomposed;
};

// What the op "torch.ops.aten.conv2d.default" is called in the other form. Empty for ops that are
// not aten's, and for those that keep their name.
std::vector<IrTwin> ir_twins(std::string_view op);

// Near misses: allow rules that match no node because the op's name is misspelt. The kinds of
// slips:
//   argmax            ArgMax                          case
//   Sigmiod           Sigmoid                         a letter or two in a long name, but no digit:
//                                                     Conv2d is not a slip for Conv3d
//   Conv2d            torch.nn.modules.conv.Conv2d    the module is left out
//   torch.nn.Conv2d   torch.nn.modules.conv.Conv2d    the module's other path in the same package
//   FusedConv         com.microsoft::FusedConv        the domain

// A rule that names no op of the graph, and the op that it probably means. The list has no rule for
// that op.
struct NearMiss {
  std::uint16_t list;
  std::uint32_t rule;   // of allowing_rules()
  std::string_view op;  // of the graph
  std::string_view domain;
};

// At most one near miss for each rule, in order of lists and rules. A rule for an op that `facts`
// knows is not a slip. Linear in ops and rules, plus at most some million steps to compare misspelt
// names letter by letter; names beyond that, and names of more than 256 bytes, are not compared.
std::vector<NearMiss> near_misses(const Graph& graph, std::span<const SupportList> lists,
                                  const OpFacts& facts);

}  // namespace cleave
