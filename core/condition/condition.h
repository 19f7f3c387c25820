// Conditions of a rule beyond dtypes, attributes, shapes and opset: what values of inputs, which
// inputs and outputs, which ranks and dims. A condition that cannot be decided does not hold. Nor
// does one on an input that the node does not have, unless it asks only `if_given`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/condition/relation.h"
#include "core/condition/tensor_layout.h"
#include "core/graph/attribute.h"
#include "core/graph/graph.h"

namespace cleave {

// A set of types: element types of tensors, and types of values that are not tensors.

// The element types of tensors, and the types of other values, that a rule accepts.
struct TypeSet {
  std::uint32_t dtypes = 0;       // bit per DType
  std::uint16_t value_types = 0;  // bit per ValueType
  void add(DType dtype) { dtypes |= 1U << static_cast<unsigned>(dtype); }
  void add(ValueType type) {
    value_types = static_cast<std::uint16_t>(value_types | 1U << static_cast<unsigned>(type));
  }
  // A tensor is judged by its dtype, any other value by its type.
  bool accepts(const Value& value) const;
  bool operator==(const TypeSet&) const = default;
};
using MaybeTypes = std::optional<TypeSet>;  // nullopt: any type

// What an integer must be: one of a list if there is one, and within the bounds.
struct IntegerRule {
  std::vector<std::int64_t> one_of;  // empty: any
  std::optional<std::int64_t> min, max;
  std::optional<std::int64_t> multiple_of;  // 1 or more
  bool accepts(std::int64_t number) const;
  bool operator==(const IntegerRule&) const = default;
};

// An input by position. `if_given`: the condition holds where the node has no such input.
struct InputPlace {
  std::uint32_t position = 0;
  bool if_given = false;
  bool operator==(const InputPlace&) const = default;
};

// Whether an input must be known at compile time, which parameters and constants are unless the
// model writes them.
struct ConstantCondition {
  InputPlace input;
  bool wanted = true;
  bool operator==(const ConstantCondition&) const = default;
};

// Whether an optional input must be given or left out.
struct GivenCondition {
  std::uint32_t input = 0;
  bool wanted = true;
  bool operator==(const GivenCondition&) const = default;
};

// The only outputs that nodes or the graph's outputs may read, ascending.
struct OutputsUsedCondition {
  std::vector<std::uint32_t> outputs;
  bool operator==(const OutputsUsedCondition&) const = default;
};

struct RankCondition {
  InputPlace input;
  IntegerRule rank;
  bool operator==(const RankCondition&) const = default;
};

// The most dims that any tensor input may have.
struct MaxRankCondition {
  std::int64_t most = 0;
  bool operator==(const MaxRankCondition&) const = default;
};

// The size of one dim. Whatever the bounds, the size must be known.
struct DimCondition {
  InputPlace input;
  std::int64_t axis = 0;  // below 0: from the end
  IntegerRule size;
  bool operator==(const DimCondition&) const = default;
};

// The types that inputs may have: one set for all inputs.
struct EveryInputCondition {
  TypeSet types;
  bool operator==(const EveryInputCondition&) const = default;
};

// All inputs are of one type, whichever it is.
struct SameInputsCondition {
  bool operator==(const SameInputsCondition&) const = default;
};

// `fixed`: every dim of every tensor input is known; `batched`: every one but the first of each
// tensor, which may be; `open`: at least one is not. Parameters are inputs too.
struct InputShapeCondition {
  enum class Shape : std::uint8_t { fixed, batched, open };
  Shape shape = Shape::fixed;
  bool operator==(const InputShapeCondition&) const = default;
};

// What the elements of a constant must be.
struct ValuesCondition {
  InputPlace input;
  std::optional<std::vector<Literal>> list;  // all elements, in order
  std::vector<Literal> one_of;               // each element; empty: any
  std::optional<double> min, max;            // each element
  bool power_of_two = false;                 // each element: 0.5, 1, 2, 4 ...
  bool finite = false;                       // each element
  bool operator==(const ValuesCondition&) const = default;
};

// The layouts in memory that a tensor may have.
struct LayoutCondition {
  InputPlace input;
  LayoutSet one_of;
  bool operator==(const LayoutCondition&) const = default;
};

// How a tensor must be quantised: in one of these ways, with numbers of one of these types, or of the
// type that those of the node's input 0 have.
struct QuantizationSet {
  enum Way : std::uint8_t { none, tensor, axis, other, symmetric };
  std::uint8_t ways = 0;  // bit per Way; 0: quantised in any way
  TypeSet types;          // of the numbers; empty: any
  bool as_input_0 = false;
  void add(Way way) { ways = static_cast<std::uint8_t>(ways | 1U << way); }
  bool has(Way way) const { return (ways >> way & 1U) != 0; }
  bool operator==(const QuantizationSet&) const = default;
};
inline constexpr std::array<std::string_view, 5> kQuantizationWays = {"none", "tensor", "axis",
                                                                      "other", "symmetric"};

// How one tensor must be quantised, or several: `every` tensor that the node reads or makes, or
// those of them that are no constants, its `activations`. An output that the node does not have is
// quantised as asked.
struct QuantizedCondition {
  enum class Of : std::uint8_t { input, output, activations, every };
  Of of = Of::input;
  InputPlace place;  // of the input or the output
  QuantizationSet wanted;
  bool operator==(const QuantizedCondition&) const = default;
};

// The node does not state the attribute, whatever its default.
struct AbsentAttributeCondition {
  std::string name;
  bool wanted = true;  // false: the node must state it
  bool operator==(const AbsentAttributeCondition&) const = default;
};

struct RelationCondition {
  Relation relation;
  std::string why = {};  // what it asks for, in the words of its source; "": the relation says it
  bool operator==(const RelationCondition&) const = default;
};

using Condition =
    std::variant<ConstantCondition, GivenCondition, OutputsUsedCondition, RankCondition,
                 MaxRankCondition, DimCondition, EveryInputCondition, SameInputsCondition,
                 InputShapeCondition, ValuesCondition, LayoutCondition, AbsentAttributeCondition,
                 RelationCondition, QuantizedCondition>;

// The position of the input that the condition is about; nullopt for a condition about several
// inputs or none, and for `given`, which may hold for an input that the node does not have.
std::optional<std::uint32_t> input_of(const Condition& condition);

}  // namespace cleave
