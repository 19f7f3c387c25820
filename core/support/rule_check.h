// Rule check: which conditions of a rule a node does not meet. The check makes no text, so that
// matching a million nodes is cheap; FailedPart has the values that failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/condition/condition_check.h"
#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/graph/op_name.h"
#include "core/support/support_list.h"

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

// Whether the rule is for nodes of that name; a rule without a name is for all.
bool names_node(const Rule& rule, std::string_view node_name);

// True when a value that the node reads, captures included, has one of the types. Parameters do not
// count.
bool has_input_of(const Graph& graph, NodeId node, const TypeSet& types);

// Failed parts: the conditions of a rule that a node does not meet, each with what the rule wants
// and what the node has instead. Data only: formats/report/words turns it into text.

// An input, an output or a keyword argument is of a type that the rule does not list.
struct FailedType {
  enum class Place : std::uint8_t { input, output, keyword };
  Place place;
  std::uint32_t position = 0;  // input, output
  std::string keyword;         // keyword
  TypeSet wanted;
  ValueType type;  // the value's type; `dtype` is set too for a tensor
  DType dtype;
  bool operator==(const FailedType&) const = default;
};

enum class ValueOrigin : std::uint8_t {
  stated,      // by the node
  by_default,  // the operator's default
  absent,      // neither stated nor a default
  opaque,      // stated, but not a number, a string or a list of these
};

struct FailedAttribute {
  AttributeRule wanted;
  ValueOrigin origin;
  std::optional<AttributeValue> value;  // stated, by_default
  bool operator==(const FailedAttribute&) const = default;
};

// What a shape rule wants of one input.
struct WantedInput {  // that the node has it
  bool operator==(const WantedInput&) const = default;
};
struct WantedRank {
  std::int64_t rank;
  bool operator==(const WantedRank&) const = default;
};
struct WantedStatic {  // a known size in every dim
  bool operator==(const WantedStatic&) const = default;
};
struct WantedMaxDim {  // of every dim
  std::int64_t most;
  bool operator==(const WantedMaxDim&) const = default;
};
struct WantedMultiple {
  std::int64_t axis;
  std::int64_t factor;
  bool operator==(const WantedMultiple&) const = default;
};
using WantedShape =
    std::variant<WantedInput, WantedRank, WantedStatic, WantedMaxDim, WantedMultiple>;

// What the input has instead: its type when it is not a tensor, its rank, or the first dim that
// fails; or there is no such input.
using FoundShape = std::variant<FoundNoTensor, FoundNoRank, FoundRank, FoundDim, FoundNoInput>;

struct FailedShape {
  std::uint32_t input;
  WantedShape wanted;
  FoundShape found;
  bool operator==(const FailedShape&) const = default;
};

struct FailedOpset {
  std::string domain;  // "" is ONNX's default domain; "tflite": the version of the operator
  OpsetRule wanted;
  std::optional<std::int64_t> found;  // nullopt: the model does not import the domain
  bool operator==(const FailedOpset&) const = default;
};

// A condition of the rule's list of conditions.
struct UnmetCondition {
  Condition wanted;
  FoundInstead found;
  bool operator==(const UnmetCondition&) const = default;
};

using FailedPart =
    std::variant<FailedType, FailedAttribute, FailedShape, FailedOpset, UnmetCondition>;

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

}  // namespace cleave
