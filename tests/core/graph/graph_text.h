// Graphs as text, for tests. One statement a line, `#` starts a comment:
//
//   input x: float32[1,batch,?]          a dim is a size, a symbol or ? (unknown)
//   param w: float32[3,3]
//   param v = w                          another name of w
//   const c = Cast(w)                    a constant
//   a = conv(x, w)                       makes a value and a node, both called "a"
//   s: scalar = size(a)
//   t: tuple(float32[2], scalar) = chunk(a, _)            _ is a literal: a position without value
//   p, q: list(int64[2]) = ml::split(x, [a, a], axis=s, k=[a], ^c)   list, keyword, capture by a
//                                        body; the node of several values is called as the first
//   n@ u = relu(x)                       value "u", node "n"
//   m = Conv(x) {group=2, pads=[0,1], mode="same", alpha=1.5, body}      attributes; body is opaque
//   l = linear(x) !w                     w is a parameter of l's module
//   i = If(a, ^x)
//   | h = relu(x)                        a node in a body of the node above
//   scope layer1.0                       of the nodes that follow; `scope` alone ends it
//   opset "" 17
//   output p, s
//
// A type is `tensor`, `float32` or another dtype (rank unknown), `float32[2,2]`, `scalar`, `none`,
// `tuple(...)` of types, and so on. Without one: float32[2,2].
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/lists/support.h"
#include "core/split/groups.h"
#include "core/split/split.h"

namespace cleave {

// Throws std::invalid_argument with the fault, on an invalid text or graph.
Graph graph_from_text(std::string_view text);
// The same, with the builder's answer; a node's or declaration's place is its line.
Result<Graph, std::vector<GraphFault>> build_from_text(std::string_view text);

// The node or value with that name; throws when there is none. Also finds constants and body nodes.
NodeId node_named(const Graph& graph, std::string_view name);
ValueId value_named(const Graph& graph, std::string_view name);
NodeSet nodes_named(const Graph& graph, std::string_view names);  // separated by spaces

// A support list's verdict: all nodes but those named (`no_rule`).
Support support_all_but(const Graph& graph, std::string_view names);

// ---- results as text: names separated by spaces, in model order where sets are given ----
std::string names_of(const Graph& graph, const NodeSet& nodes);
std::string names_of(const Graph& graph, std::span<const NodeId> nodes);
std::string names_of(const Graph& graph, std::span<const ValueId> values);
// "{a b} {d e f}"
std::string describe(const Graph& graph, const Fusions& fusions);
// "cpu: a b | acc: c | cpu:"
std::string describe(const Graph& graph, const Subgraphs& subgraphs);
// "p0(x y; w) -> a b\n": a line a part: inputs; parameters and constants, then outputs
std::string describe(const Graph& graph, const Partition& partition, const Boundaries& boundaries);
// "a: non_tensor_output b\n": a line for each node that has a reason, with the node to blame
std::string describe(const Graph& graph, const PerNode<Reason>& reasons);

}  // namespace cleave
