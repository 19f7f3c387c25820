// Relations: arithmetic and comparison over attributes, dims, ranks and counts of a node, or of the
// nodes of a pattern.
//
//   attr.group == in[0].dim[1] and attr.kernel_shape[0] % 2 == 1
//   node[0].attr.axis == node[2].attr.axis
//
// A relation is a list of terms. Operands come before the terms that use them, and the last term is
// the whole relation. The grammar is at parse_relation(), the meaning in relation_value.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/graph/attribute.h"

namespace cleave {

struct RelationTerm {
  enum class Kind : std::uint8_t {
    literal,
    attribute,    // `text` is its name
    input,        // property `text` of input `position`
    output,       // property `text` of output `position`
    input_count,  // len(in): inputs that the node has
    output_count,
    item,  // first[second]
    tail,  // first[second:]
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
    length,  // functions of `first`
    least,
    greatest,
    all,
    any,
    list,  // the arguments of min() and max(): first, second
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  Kind kind = Kind::literal;
  std::uint32_t first = kNone, second = kNone;  // operands, by index
  std::uint32_t position = 0;                   // input, output; kNone: a list of all that it has
  std::uint32_t node = 0;  // attribute, input, output, counts: of this op of a pattern
  Literal literal = std::int64_t{0};
  std::string text = {};
  std::uint32_t begin = 0, end = 0;  // its bytes of the relation's text
  bool operator==(const RelationTerm&) const = default;
};

struct Relation {
  static constexpr std::size_t kMostTerms = 256;
  std::string text;  // as it is in the support list
  std::vector<RelationTerm> terms;
  bool operator==(const Relation&) const = default;
};

// The value of a term; std::monostate: unknown. Truth values are the integers 0 and 1.
using RelationItem = std::variant<std::monostate, std::int64_t, double, std::string>;
using RelationValue =
    std::variant<std::monostate, std::int64_t, double, std::string, std::vector<RelationItem>>;

// Reads a relation from its text. The grammar, loosest binding first:
//
//   or   and   not   == != < <= > >=   + -   * / %   - (sign)   [index] [first:]
//   123  1.5  "text"  ( )
//   attr.NAME   in[i].PROPERTY   out[i].PROPERTY
//   in.PROPERTY   out.PROPERTY: of every input or output, as one list
//   PROPERTY: dim, stride (lists)  rank  dtype  constant  elements  given  quantized
//             scale, zero_point (a number, or a list)  scales (how many)  quantized_axis
//             values (the elements of a constant, a list)
//   len(x)  len(in)  len(out)  min(x, ...)  max(x, ...)  all(x)  any(x)
//
// In a pattern, `attr`, `in` and `out` are of one of its nodes: node[0].attr.axis, len(node[1].in).
//
// Comparisons do not chain: `1 < x and x < 3`.
struct RelationFault {
  std::size_t at;  // byte of the text
  std::string message;
};

// At most Relation::kMostTerms terms, 64 levels of nesting and 4,096 bytes are read. Linear.
Result<Relation, RelationFault> parse_relation(std::string_view text);

// The same for a relation between the nodes of a pattern with `op_count` ops.
Result<Relation, RelationFault> parse_pattern_relation(std::string_view text, std::size_t op_count);

}  // namespace cleave
