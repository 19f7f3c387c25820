// Rules and lists that match no node of a model, and what their author may have meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/support_list.h"

namespace cleave {

// Allowing rules: everything in a list that names ops that it accepts.

// The list's allow rules, then the ops of its patterns. Linear: copies them.
std::vector<Rule> allowing_rules(const SupportList& list);

// Idle lists: lists that put no node on the accelerator, because no allow rule names an op of the
// model. Such a list is valid, but usually it is another model's, or empty by mistake.
struct UsedOp {
  std::string_view domain, op;  // of the graph
  std::size_t nodes = 0;
};

struct IdleList {
  std::uint16_t list;
  std::vector<UsedOp> ops;  // the model's most frequent ops, at most 3
};

// The idle lists in the order of `lists`; none for a graph without nodes. Linear in the nodes, plus
// rules times op types.
std::vector<IdleList> find_idle_lists(const Graph& graph, std::span<const SupportList> lists);

// The names that one layer has in the two forms of a torch.export program: as exported (training IR)
// and after run_decompositions().
//
//   aten.conv2d    aten.convolution
//   aten.linear    aten.addmm, aten.mm
//   aten.relu_     aten.relu
struct IrTwin {
  std::string op;  // "aten.convolution": any overload
  bool is_decomposed;
};

// What the op "torch.ops.aten.conv2d.default" is called in the other form. Empty for ops that are
// not aten's, and for those that keep their name.
std::vector<IrTwin> ir_twins(std::string_view op);

// Near misses: allow rules that match no node because the op's name is misspelt. The kinds of
// slips:
//   argmax            ArgMax                          case
//   Sigmiod           Sigmoid                         a letter or two in a long name, but no digit:
//                                                     Conv2d is not a slip for Conv3d
//   Conv2d            torch.nn.modules.conv.Conv2d    the module is left out
//   torch.nn.Conv2d   torch.nn.modules.conv.Conv2d    the module's other path in the same package
//   FusedConv         com.microsoft::FusedConv        the domain

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
std::vector<NearMiss> near_misses(const Graph& graph, std::span<const SupportList> lists,
                                  const OpFacts& facts);

}  // namespace cleave
