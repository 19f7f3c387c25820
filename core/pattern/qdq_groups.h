// Q/DQ groups: a quantised operator as exporters write it: dequantised inputs, the operator in
// floating point, its result quantised again. A runtime that computes in integers runs the group as
// one operator. When the group is split, it computes in floating point, and four times the bytes
// cross.
//
//   xq -> DQ -> Conv -> Relu -> Q -> yq      {DQ Conv Relu Q} is a group
//   wq -> DQ ---^                            this DQ too, unless it is a constant: those are copied
//
// A group is: an operator that reads at least one DequantizeLinear; a chain of nodes after it, each
// of which is the only reader of the one before and reads no other node; and the QuantizeLinears
// that read the chain's end. No other node may read the chain's end, and it may not be an output of
// the model: when its result is also read in floating point, runtimes do not treat it as quantised.
// In native JSON, torch's quantize_per_tensor, dequantize and the like are Q and DQ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// Groups as found in the graph, before any are merged; ordered by their operators.
struct QdqGroups {
  std::vector<std::uint32_t> begin = {0};  // CSR
  std::vector<NodeId> members;             // DQs, the operator and its chain, Qs

  std::size_t count() const { return begin.size() - 1; }
  std::span<const NodeId> group(std::size_t i) const {
    return std::span(members).subspan(begin[i], begin[i + 1] - begin[i]);
  }
};

// `operators`: groups have no chain, no DQ that several nodes read, and all floats that are computed come
// from DQs. So ONNX Runtime's providers see a quantised operator, and lists of single operators mean it.
enum class QdqReach : std::uint8_t { operators, chains };

// Linear.
QdqGroups find_qdq_groups(const Graph& graph, QdqReach reach);

}  // namespace cleave
