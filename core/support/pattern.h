// A pattern of a support list: a small connected sub-graph that is accepted as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/condition/relation.h"
#include "core/pattern/pattern_graph.h"
#include "core/support/rule.h"

namespace cleave {

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

}  // namespace cleave
