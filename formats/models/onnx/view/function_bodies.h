// Operators that ONNX defines by others, and which ONNX Runtime replaces by these when no provider takes
// them: it has no kernel for them itself.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"

namespace cleave {

// The body of one version of an operator. scripts/dev/newer_operators.py makes the table.
struct FunctionText {
  std::string_view op;
  std::int64_t version = 0;          // the first opset with it
  std::string_view inputs, outputs;  // names, separated by spaces
  // The nodes, separated by "; ": `HS_X = HardSigmoid X alpha=f0.16666667`. `alpha=@beta` is the
  // calling node's attribute.
  std::string_view nodes;
};

// By operator and version.
std::span<const FunctionText> function_texts();

// Whether ONNX Runtime 1.32 replaces the operator: it has a body in ONNX and no CPU kernel.
bool is_expanded_op(const Graph& graph, NodeId node);

// The body of an expanded operator as a graph, with the types of the node's inputs: constants of the
// body are parameters, as the runtime makes them. `facts` are those of the graph. Null for other
// operators, and for those whose body depends on the node's types; of these only CastLike is known.
std::shared_ptr<const FunctionBody> onnx_function_body(const Graph& graph, NodeId node,
                                                       const OpFacts& facts);

}  // namespace cleave
