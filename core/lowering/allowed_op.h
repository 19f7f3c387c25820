// AllowedOp: the allow rule of an op that covers nodes that a backend accepts: their opsets and the
// dtypes of their inputs.
#pragma once

#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/support_list.h"

namespace cleave {

class AllowedOp {
 public:
  // Adds a node of the op, the same for all. Linear in its operands.
  void add(const Graph& graph, NodeId node, const OpFacts& facts);
  // The rule. It asks for the dtypes of the inputs before the first one that is not, in all nodes, a
  // tensor of known dtype.
  Rule rule() const;

 private:
  void add_dtypes(const Graph& graph, NodeId node);

  Rule rule_;
  std::vector<TypeSet> inputs_;
  bool is_first_ = true;
};

}  // namespace cleave
