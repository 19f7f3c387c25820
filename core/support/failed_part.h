// Failed parts: the conditions of a rule that a node does not meet, each with what the rule wants
// and what the node has instead. Data only: formats/report/words turns it into text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/condition/found.h"
#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/rule.h"

namespace cleave {

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
  std::string domain;  // "" is the default domain
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

}  // namespace cleave
