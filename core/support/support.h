// Support lists: what the accelerator can run; and the verdict on each node, with its reason.
//
// A list accepts a node when at least one allow rule matches and no deny rule does. Several lists
// combine: a node is supported when any of them accepts it. A node with bodies is supported when
// its op is and every node of its bodies is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/link.h"
#include "core/graph/attribute.h"
#include "core/graph/graph.h"
#include "core/support/reason.h"

namespace cleave {

// Accepted element types of tensors, and accepted types of non-tensors.
struct TypeSet {
  std::uint32_t dtypes = 0;       // bit per DType
  std::uint16_t value_types = 0;  // bit per ValueType
  void add(DType dtype) { dtypes |= 1U << static_cast<unsigned>(dtype); }
  void add(ValueType type) {
    value_types = static_cast<std::uint16_t>(value_types | 1U << static_cast<unsigned>(type));
  }
  // A tensor is judged by its dtype, anything else by its type.
  bool accepts(const Value& value) const;
  bool operator==(const TypeSet&) const = default;
};
using MaybeTypes = std::optional<TypeSet>;  // nothing: any

struct AttributeRule {
  std::string name;
  std::vector<AttributeValue> accepted;  // one of these; empty: see the range
  std::optional<double> min, max;        // for numbers
  bool operator==(const AttributeRule&) const = default;
};

struct ShapeRule {
  std::uint32_t input = 0;
  std::optional<std::int64_t> rank;
  bool is_static = false;  // every dim known
  std::optional<std::int64_t> max_dim;
  std::vector<std::pair<std::int64_t, std::int64_t>> multiple_of;  // axis (may be negative), factor
  bool operator==(const ShapeRule&) const = default;
};

struct OpsetRule {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  // Instead of a range: opset `lowest`, or any in which the op's schema version is the same.
  bool same_schema = false;
  bool operator==(const OpsetRule&) const = default;
};

struct Rule {
  std::string op;  // exact, or a glob with * and ?; empty in a deny rule: any op of any domain
  std::string domain;
  std::optional<OpsetRule> opset;
  std::vector<MaybeTypes> inputs, outputs;  // by position
  std::vector<std::pair<std::string, TypeSet>> kwargs;
  std::vector<AttributeRule> attributes;
  std::vector<ShapeRule> shapes;
  std::string node_name;   // deny only: glob on node names; empty: any
  MaybeTypes input_dtype;  // deny only: any input (not a parameter that FX reads) has one of them
  std::string why;
  std::uint32_t line = 0;  // where it stands in its file, from 1; 0 when unknown
  std::uint32_t column = 0;
  bool operator==(const Rule&) const = default;
};

struct SupportList {
  std::string name;
  std::string path;
  std::string text;  // as it was read; reports keep it, so that a later run can read it again
  std::optional<Link> link;
  std::vector<Rule> allow;
  std::vector<Rule> deny;
};

// What the model's format knows of its operators. Each may be empty.
struct OpFacts {
  // The default of an attribute that a node does not state.
  std::function<std::optional<AttributeValue>(std::string_view domain, std::string_view op,
                                              std::int64_t opset, std::string_view attribute)>
      default_attribute;
  // The opset in which the op's schema at `opset` was introduced; 0 when not known.
  std::function<std::int64_t(std::string_view domain, std::string_view op, std::int64_t opset)>
      schema_version;
};

struct Support {
  NodeSet supported;
  PerNode<Reason> reasons;  // no_rule, denied, rule_failed
};

// The verdict on each node. Where several lists refuse, the reason is the first `denied`, else the
// first `rule_failed`, else `no_rule`. Linear in nodes + operands + attributes, times the rules
// that name the same op; globs are resolved once per op type.
Support match_support(const Graph& graph, const std::vector<SupportList>& lists,
                      const OpFacts& facts);

// The verdict on one node alone, whatever bodies it has; code none when it is accepted. Also for
// body nodes. Linear in the rules: for explanations, not for loops.
Reason match_node(const Graph& graph, NodeId node, const std::vector<SupportList>& lists,
                  const OpFacts& facts);

// Body nodes that no list accepts, each with its reason, in order of their owners and then of the
// bodies. Linear as match_support is.
std::vector<std::pair<NodeId, Reason>> refused_body_nodes(const Graph& graph,
                                                          const std::vector<SupportList>& lists,
                                                          const OpFacts& facts);

// One part of a rule that does not hold of a node.
struct FailedPart {
  enum class What : std::uint8_t { input, output, kwarg, attribute, shape, opset };
  What what;
  std::string subject;   // "input 2", "attribute group", "opset"
  std::string expected;  // "float32 or float16", "1", "rank 4"
  std::string actual;    // "int64", "32", "rank 3", "not given"
};

// Every part of the rule that fails on the node; empty when the rule holds. Also for body nodes.
std::vector<FailedPart> failed_parts(const Graph& graph, NodeId node, const Rule& rule,
                                     const OpFacts& facts);

// True when the text matches the pattern: * is any run of characters, ? any one. Linear in time for
// patterns with one star, |pattern| x |text| at worst; no recursion.
bool glob_match(std::string_view pattern, std::string_view text);
// True when the pattern holds a * or a ?.
bool is_glob(std::string_view pattern);

// "" for "ai.onnx", which is the default domain's other name; else the domain itself.
std::string_view plain_domain(std::string_view domain);
// The version of the domain that the model imports, if it says so.
std::optional<std::int64_t> imported_opset(const Graph& graph, std::string_view domain);

// An allow rule whose op is the op of no node, though one that the list does not cover differs by
// no more than a slip: case, a letter or two, the module it lives in, the domain.
struct NearMiss {
  std::uint16_t list;
  std::uint32_t rule;
  std::string_view op;      // of the graph
  std::string_view domain;  // its domain
};

// At most one for a rule, in order of lists and rules. A rule for an op that `facts` know is taken
// at its word. Cost: rules that match nothing, times op types of the graph that the list leaves
// uncovered.
std::vector<NearMiss> near_misses(const Graph& graph, const std::vector<SupportList>& lists,
                                  const OpFacts& facts);

}  // namespace cleave
