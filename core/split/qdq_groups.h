// Q/DQ groups (--keep-qdq): a quantised operator as exporters write it, dequantised inputs, the
// operator in floating point, its result quantised again. A runtime that computes in integers takes
// the group as one operator; cut apart it computes in floating point, and four times the bytes
// cross.
//
//   xq -> DQ -> Conv -> Relu -> Q -> yq      {DQ Conv Relu Q} is a group
//   wq -> DQ ---^                            this DQ too, unless it is a constant: those are copied
//
// A group is: an operator that reads at least one DequantizeLinear; behind it any chain of nodes
// each of which is the only reader of the one before and reads no other node; and the
// QuantizeLinears that read the chain's end. Nothing else may read it, nor may it be an output of
// the model: what is read in floating point too is no quantised operator to a runtime, either.
//
// Groups that share a member (a DQ that two operators read) are one; each is made convex, and free
// of circles with the others and with fusion groups. A group with a node on the CPU is none: its
// members leave the accelerator set. Native JSON: torch's quantize_per_tensor, dequantize and
// their kin are Q and DQ, and the same holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/fusion.h"

namespace cleave {

// Groups as they stand in the graph, before any is joined with others; by their operators.
struct QdqGroups {
  std::vector<std::uint32_t> begin = {0};  // CSR
  std::vector<NodeId> members;             // DQs, the operator and its chain, Qs

  std::size_t count() const { return begin.size() - 1; }
  std::span<const NodeId> group(std::size_t i) const {
    return std::span(members).subspan(begin[i], begin[i + 1] - begin[i]);
  }
};

// Linear.
QdqGroups find_qdq_groups(const Graph& graph);

// The fusion groups joined with these, and what is then left of the accelerator set (`qdq_group`
// for what leaves, with the CPU node to blame). Members leave after the acc finder has run: data
// that is no tensor but holds one may cross then, which reports name as a hazard.
Fusions keep_qdq_groups(const Graph& graph, const QdqGroups& groups, Fusions fusions);

}  // namespace cleave
