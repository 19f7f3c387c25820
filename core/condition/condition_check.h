// Condition check: whether a condition holds for a node, and what the node has when it does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/condition/condition.h"
#include "core/condition/op_facts.h"
#include "core/condition/relation_value.h"
#include "core/condition/tensor_layout.h"
#include "core/graph/graph.h"

namespace cleave {

// What a node has where a condition of a rule asks for something else. This is data only; the text
// is made in formats/report/words.

// ---- shapes ----

struct FoundNoTensor {
  ValueType type;
  bool operator==(const FoundNoTensor&) const = default;
};
struct FoundNoRank {  // the rank is unknown
  bool operator==(const FoundNoRank&) const = default;
};
struct FoundRank {
  std::size_t rank;
  bool operator==(const FoundRank&) const = default;
};
struct FoundDim {
  std::int64_t axis;                 // as the rule counts it
  std::optional<std::int64_t> size;  // nullopt: named or unknown
  std::string symbol;                // the name; empty when it has none
  bool operator==(const FoundDim&) const = default;
};

// ---- inputs, outputs and values ----

struct FoundNoInput {  // the node has no such input
  bool operator==(const FoundNoInput&) const = default;
};
// A fact that is the opposite of what is wanted: constant, given, stated.
struct FoundOpposite {
  bool operator==(const FoundOpposite&) const = default;
};
struct FoundReaders {  // of an output that may have none
  std::uint32_t output;
  bool operator==(const FoundReaders&) const = default;
};
struct FoundType {
  std::uint32_t input;
  ValueType type;
  DType dtype;
  bool operator==(const FoundType&) const = default;
};
struct FoundTypes {  // which are not the same
  FoundType first, other;
  bool operator==(const FoundTypes&) const = default;
};
struct FoundShapeOf {  // the first input to blame
  std::uint32_t input;
  std::variant<FoundNoRank, FoundRank, FoundDim> shape;
  bool operator==(const FoundShapeOf&) const = default;
};
struct FoundAllKnown {  // every dim, where an unknown one is wanted
  bool operator==(const FoundAllKnown&) const = default;
};
struct FoundWritten {  // a parameter that the model writes
  bool operator==(const FoundWritten&) const = default;
};
struct FoundVariable {  // not a constant, so its elements are unknown
  bool operator==(const FoundVariable&) const = default;
};
struct FoundNoElements {  // a constant whose elements are not read
  bool operator==(const FoundNoElements&) const = default;
};
struct FoundCount {  // elements, where another number is wanted
  std::size_t elements;
  bool operator==(const FoundCount&) const = default;
};
struct FoundElement {
  std::size_t index;
  Literal value;
  bool operator==(const FoundElement&) const = default;
};

struct FoundLayout {
  TensorLayout layout;
  bool operator==(const FoundLayout&) const = default;
};
struct FoundNoLayout {  // the layout is unknown
  bool operator==(const FoundNoLayout&) const = default;
};

struct FoundQuantization {  // of a tensor that is quantised in another way
  std::uint32_t position;
  bool is_output;
  Quantization::Kind kind;
  bool is_symmetric;
  DType stored;
  bool operator==(const FoundQuantization&) const = default;
};
struct FoundNoQuantization {  // how the tensor is quantised is unknown
  std::uint32_t position;
  bool is_output;
  bool operator==(const FoundNoQuantization&) const = default;
};

using FoundInstead =
    std::variant<FoundNoTensor, FoundNoRank, FoundRank, FoundDim, FoundNoInput, FoundOpposite,
                 FoundReaders, FoundType, FoundTypes, FoundShapeOf, FoundAllKnown, FoundVariable,
                 FoundNoElements, FoundCount, FoundElement, FoundWritten, FoundLayout,
                 FoundNoLayout, RelationFailure, FoundQuantization, FoundNoQuantization>;

// True when the condition fails only because something is unknown: a type, a rank, a dim, a layout,
// the elements of a constant.
bool is_for_want_of_knowledge(const FoundInstead& found);

// Whether the condition holds. The same as find_instead(), without the words of a failed relation.
bool condition_holds(const Graph& graph, NodeId node, const Condition& condition,
                     const OpFacts& facts);

// What the node has instead of what the condition asks for; nullopt when the condition holds.
// Linear in the node's operands and in the elements of constants that the condition looks at.
std::optional<FoundInstead> find_instead(const Graph& graph, NodeId node,
                                         const Condition& condition, const OpFacts& facts);

}  // namespace cleave
