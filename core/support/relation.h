// Relations: integer arithmetic and comparison over a node's attributes, dims, ranks and counts.
//
//   attr.group == in[0].dim[1] and attr.kernel_shape[0] % 2 == 1
//
// A relation is a tree of terms, children before their parents, the root last. A list takes part in
// arithmetic and comparison with a number element by element; all() and any() make one truth value
// of the result. Two lists are compared as wholes with == and !=. What is unknown stays unknown, as
// in three-valued logic: `false and unknown` is false.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/attribute.h"
#include "core/graph/graph.h"
#include "core/support/op_facts.h"

namespace cleave {

struct RelationTerm {
  enum class Kind : std::uint8_t {
    literal,
    attribute,  // `text` is its name
    input,      // property `text` of input `position`: dim, rank, dtype, constant, elements
    output,     // the same of an output
    item,       // first[second]
    negate,
    plus,
    minus,
    times,
    divide,
    modulo,
    equal,
    unequal,
    less,
    less_equal,
    greater,
    greater_equal,
    logical_not,
    logical_and,
    logical_or,
    length,
    least,
    greatest,
    all,
    any,   // functions of `first`
    list,  // the arguments of min() and max(): first, second
  };
  static constexpr std::uint32_t kNoChild = 0xFFFFFFFFU;
  Kind kind = Kind::literal;
  std::uint32_t first = kNoChild, second = kNoChild;  // children, by index
  std::uint32_t position = 0;
  Literal literal = std::int64_t{0};
  std::string text = {};
  std::uint32_t begin = 0, end = 0;  // of the relation's text
  bool operator==(const RelationTerm&) const = default;
};

struct Relation {
  static constexpr std::size_t kMostTerms = 256;
  std::string text;  // as the list has it
  std::vector<RelationTerm> terms;
  bool operator==(const Relation&) const = default;
};

// A value of a term; std::monostate: unknown. Truth values are the integers 0 and 1.
using RelationItem = std::variant<std::monostate, std::int64_t, double, std::string>;
using RelationValue =
    std::variant<std::monostate, std::int64_t, double, std::string, std::vector<RelationItem>>;

// The value of the relation for the node; unknown too where types do not fit, on division by zero
// and on overflow. Linear in the terms, times the lengths of lists.
RelationValue evaluate(const Relation& relation, const Graph& graph, NodeId node,
                       const OpFacts& facts);

// True when the relation is known to hold: its value is a number other than 0.
bool is_true(const RelationValue& value);

// Why a relation does not hold: the first comparison that fails with the values of both its sides,
// or the first part that is unknown.
struct RelationFailure {
  bool is_unknown = false;
  std::string part;           // text of the comparison, or of the unknown part
  RelationValue left, right;  // sides of the comparison; both unknown when it is not one
  RelationTerm::Kind comparison = RelationTerm::Kind::equal;
  bool operator==(const RelationFailure&) const = default;
};
RelationFailure failure_of(const Relation& relation, const Graph& graph, NodeId node,
                           const OpFacts& facts);

}  // namespace cleave
