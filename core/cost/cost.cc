#include "core/cost/cost.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/cost/op_flops.h"
#include "core/graph/op_name.h"

namespace cleave {
namespace {

// How an op reads its inputs. `rows`: it looks rows up in a table, the larger of its inputs, and
// reads as much of it as it outputs. `bag`: it reads as many elements as it adds up. `free`: it
// reads no data, only a shape, or gives the same data another shape.
enum class Lookup : std::uint8_t { none, rows, bag, free };

Lookup lookup_of(const Graph& graph, NodeId node) {
  static constexpr std::array<std::string_view, 7> kLookups = {
      "gather",    "gathernd",    "gatherelements", "gatherblockquantized",
      "embedding", "indexselect", "takealongdim"};
  const std::string_view domain = plain_domain(graph.domain(node));
  if (!domain.empty() && domain != "com.microsoft") return Lookup::none;
  const std::string key = op_key(graph.op(node));
  static constexpr std::array<std::string_view, 11> kFree = {
      "shape",   "size", "identity", "reshape", "squeeze",   "unsqueeze",
      "flatten", "view", "detach",   "alias",   "unsafeview"};
  if (key == "embeddingbag") return Lookup::bag;
  if (std::find(kFree.begin(), kFree.end(), key) != kFree.end()) return Lookup::free;
  const bool is_lookup = std::find(kLookups.begin(), kLookups.end(), key) != kLookups.end();
  return is_lookup ? Lookup::rows : Lookup::none;
}

// Counts the bytes that nodes move: tensors read and made, and their own parameters, each once.
class ByteCounter {
 public:
  explicit ByteCounter(const Graph& graph) : graph_(graph) {}

  // What the file measured, else the sum.
  std::optional<double> of(NodeId node) {
    const MeasuredCost* const measured = graph_.measured_cost(node);
    if (measured != nullptr && measured->bytes >= 0) return measured->bytes;
    const Lookup lookup = known_lookup(node);
    if (lookup == Lookup::free) return 0;
    find_tensors(node);
    double total = 0, largest_read = 0;
    for (const ValueId tensor : tensors_) {
      const auto bytes = value_bytes(graph_, tensor);
      if (!bytes) return std::nullopt;
      total += static_cast<double>(*bytes);
      const bool is_read = graph_.value(tensor).producer != node;
      if (is_read) largest_read = std::max(largest_read, static_cast<double>(*bytes));
    }
    if (lookup == Lookup::none) return total;
    const auto looked_up = bytes_looked_up(node, lookup);
    return looked_up ? total - largest_read + std::min(largest_read, *looked_up) : total;
  }

 private:
  void find_tensors(NodeId node) {
    tensors_.clear();
    const auto add = [&](ValueId value) {
      if (graph_.value(value).is_tensor()) tensors_.push_back(value);
    };
    for (const Operand& operand : graph_.operands(node)) add(operand.value);
    for (const ValueId parameter : graph_.module_parameters(node)) add(parameter);
    for (const ValueId output : graph_.outputs(node)) add(output);
    std::sort(tensors_.begin(), tensors_.end());
    tensors_.erase(std::unique(tensors_.begin(), tensors_.end()), tensors_.end());
  }

  // Looks up each op type once.
  Lookup known_lookup(NodeId node) {
    const Node& record = graph_.node(node);
    const std::uint64_t op = std::uint64_t{index(record.domain)} << 32U | index(record.op);
    const auto [known, is_new] = lookups_.try_emplace(op, Lookup::none);
    if (is_new) known->second = lookup_of(graph_, node);
    return known->second;
  }

  std::optional<double> bytes_looked_up(NodeId node, Lookup lookup) const {
    const auto outputs = graph_.outputs(node);
    const auto made = outputs.empty() ? std::nullopt : value_bytes(graph_, outputs[0]);
    if (!made) return std::nullopt;
    if (lookup == Lookup::rows) return static_cast<double>(*made);
    const auto added = op_flops(graph_, node);
    const auto elements = element_count(graph_.shape(outputs[0]));
    if (!added || !elements || *elements == 0) return std::nullopt;
    return *added * static_cast<double>(*made) / static_cast<double>(*elements);
  }

  const Graph& graph_;
  std::vector<ValueId> tensors_;                       // of one node, each once
  std::unordered_map<std::uint64_t, Lookup> lookups_;  // by domain and op
};

}  // namespace

std::optional<std::uint64_t> value_bytes(const Graph& graph, ValueId value) {
  if (!graph.value(value).is_tensor() || !graph.has_rank(value)) return std::nullopt;
  return tensor_bytes(graph.value(value).dtype, graph.shape(value));
}

PerNode<std::optional<double>> node_flops(const Graph& graph) {
  PerNode<std::optional<double>> flops = op_flops(graph);
  for (const NodeId node : graph.nodes()) {
    const MeasuredCost* const measured = graph.measured_cost(node);
    if (measured != nullptr && measured->flops >= 0) flops[node] = measured->flops;
  }
  return flops;
}

NodeCost node_cost(const Graph& graph, NodeId node) {
  const MeasuredCost* measured = graph.measured_cost(node);
  NodeCost cost;
  if (measured && measured->flops >= 0) {
    cost.flops = measured->flops;
  } else {
    cost.flops = op_flops(graph, node);
  }
  cost.bytes = ByteCounter(graph).of(node);
  return cost;
}

PerNode<NodeCost> node_costs(const Graph& graph) {
  const PerNode<std::optional<double>> flops = node_flops(graph);
  PerNode<NodeCost> costs(graph.node_count());
  ByteCounter bytes(graph);
  for (const NodeId node : graph.nodes()) {
    costs[node] = {flops[node], bytes.of(node)};
  }
  return costs;
}

}  // namespace cleave
