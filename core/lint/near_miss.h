// Near misses: allow rules that match no node because the op's name is misspelt. The kinds of
// slips:
//   argmax            ArgMax                          case
//   Sigmiod           Sigmoid                         a letter or two in a long name, but no digit:
//                                                     Conv2d is not a slip for Conv3d
//   Conv2d            torch.nn.modules.conv.Conv2d    the module is left out
//   torch.nn.Conv2d   torch.nn.modules.conv.Conv2d    the module's other path in the same package
//   FusedConv         com.microsoft::FusedConv        the domain
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/support_list.h"

namespace cleave {

// A rule that names no op of the graph, and the op that it probably means. The list has no rule for
// that op.
struct NearMiss {
  std::uint16_t list;
  std::uint32_t rule;   // of allowing_rules()
  std::string_view op;  // of the graph
  std::string_view domain;
};

// At most one near miss for each rule, in order of lists and rules. A rule for an op that `facts`
// knows is not a slip. Linear in ops and rules, plus at most some million steps to compare misspelt
// names letter by letter; names beyond that, and names of more than 256 bytes, are not compared.
std::vector<NearMiss> near_misses(const Graph& graph, const std::vector<SupportList>& lists,
                                  const OpFacts& facts);

}  // namespace cleave
