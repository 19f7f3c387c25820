// Reads a relation from its text. The grammar, loosest binding first:
//
//   or   and   not   == != < <= > >=   + -   * / %   - (sign)   [index]
//   123  1.5  "text"  ( )
//   attr.NAME   in[i].PROPERTY   out[i].PROPERTY
//   PROPERTY: dim, stride (lists)  rank  dtype  constant  elements  given
//   len(x)  len(in)  len(out)  min(x, ...)  max(x, ...)  all(x)  any(x)
//
// In a pattern, `attr`, `in` and `out` are of one of its nodes: node[0].attr.axis, len(node[1].in).
//
// Comparisons do not chain: `1 < x and x < 3`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/condition/relation.h"

namespace cleave {

struct RelationFault {
  std::size_t at;  // byte of the text
  std::string message;
};

// At most Relation::kMostTerms terms, 64 levels of nesting and 4,096 bytes are read. Linear.
Result<Relation, RelationFault> parse_relation(std::string_view text);

// The same for a relation between the nodes of a pattern with `op_count` ops.
Result<Relation, RelationFault> parse_pattern_relation(std::string_view text, std::size_t op_count);

}  // namespace cleave
