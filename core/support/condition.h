// Conditions of a rule beyond dtypes, attributes, shapes and opset. All conditions of a rule must
// hold; one that cannot be decided is *unknown* and does not hold. A condition on an input that the
// node does not have fails.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "core/graph/attribute.h"
#include "core/support/relation.h"
#include "core/support/type_set.h"

namespace cleave {

// What an integer must be: one of a list if there is one, and within the bounds.
struct IntegerRule {
  std::vector<std::int64_t> one_of;  // empty: any
  std::optional<std::int64_t> min, max;
  std::optional<std::int64_t> multiple_of;  // 1 or more
  bool accepts(std::int64_t number) const;
  bool operator==(const IntegerRule&) const = default;
};

// Whether an input must be known at compile time: a parameter or a constant.
struct ConstantCondition {
  std::uint32_t input;
  bool wanted;
  bool operator==(const ConstantCondition&) const = default;
};

// Whether an optional input must be given or left out.
struct GivenCondition {
  std::uint32_t input;
  bool wanted;
  bool operator==(const GivenCondition&) const = default;
};

// The only outputs that may have readers (nodes or the graph's outputs), ascending.
struct OutputsUsedCondition {
  std::vector<std::uint32_t> outputs;
  bool operator==(const OutputsUsedCondition&) const = default;
};

struct RankCondition {
  std::uint32_t input;
  IntegerRule rank;
  bool operator==(const RankCondition&) const = default;
};

// The size of one dim. Without bounds the size must be known (`static`).
struct DimCondition {
  std::uint32_t input;
  std::int64_t axis;  // below 0: from the end
  IntegerRule size;
  bool operator==(const DimCondition&) const = default;
};

// The types that every input must be of, one set for all.
struct EveryInputCondition {
  TypeSet types;
  bool operator==(const EveryInputCondition&) const = default;
};

// All inputs are of one type, whichever it is.
struct SameInputsCondition {
  bool operator==(const SameInputsCondition&) const = default;
};

// `fixed`: every dim of every tensor input is known; `open`: at least one is not.
struct InputShapeCondition {
  enum class Shape : std::uint8_t { fixed, open };
  Shape shape;
  bool operator==(const InputShapeCondition&) const = default;
};

// What each element of a constant must be.
struct ValuesCondition {
  std::uint32_t input;
  std::vector<Literal> one_of;  // each element is one of these; empty: any
  std::vector<Literal> list;    // the elements, in order; empty: not asked for
  std::optional<double> min, max;
  bool power_of_two = false;
  bool finite = false;
  bool operator==(const ValuesCondition&) const = default;
};

// A relation of attributes, dims, ranks and counts.
struct RelationCondition {
  Relation relation;
  bool operator==(const RelationCondition&) const = default;
};

using Condition =
    std::variant<ConstantCondition, GivenCondition, OutputsUsedCondition, RankCondition,
                 DimCondition, EveryInputCondition, SameInputsCondition, InputShapeCondition,
                 ValuesCondition, RelationCondition>;

}  // namespace cleave
