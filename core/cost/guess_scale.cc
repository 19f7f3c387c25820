#include "core/cost/guess_scale.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace cleave {
namespace {

// The lower median: with an even count the result is still a ratio that occurs.
double median(std::vector<double>& ratios) {
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

class GuessScales {
 public:
  GuessScales(const Graph& graph, const PerNode<double>& guesses, const PerNode<double>& measured)
      : graph_(graph) {
    std::vector<double> all;
    std::unordered_map<std::uint64_t, std::vector<double>> by_op;
    for (const NodeId node : graph.nodes()) {
      if (!(measured[node] > 0) || !(guesses[node] > 0)) continue;
      all.push_back(measured[node] / guesses[node]);
      by_op[op_of(node)].push_back(all.back());
    }
    if (all.empty()) return;
    of_all_ = median(all);
    for (auto& [op, ratios] : by_op) {
      if (ratios.size() >= kFewestOfAnOp) of_op_[op] = median(ratios);
    }
  }

  bool is_known() const { return of_all_ >= 0; }
  double of(NodeId node) const {
    const auto found = of_op_.find(op_of(node));
    return found != of_op_.end() ? found->second : of_all_;
  }

 private:
  std::uint64_t op_of(NodeId node) const {
    const Node& record = graph_.node(node);
    return std::uint64_t{index(record.domain)} << 32U | index(record.op);
  }

  const Graph& graph_;
  double of_all_ = -1;
  std::unordered_map<std::uint64_t, double> of_op_;
};

}  // namespace

ScaledTimes scale_guesses(const Graph& graph, const PerNode<double>& guesses,
                          const PerNode<double>& measured) {
  const GuessScales scales(graph, guesses, measured);
  ScaledTimes made{.times = guesses};
  for (const NodeId node : graph.nodes()) {
    if (measured[node] >= 0) {
      made.times[node] = measured[node];
    } else if (guesses[node] >= 0 && scales.is_known()) {
      made.times[node] = guesses[node] * scales.of(node);
      ++made.scaled;
    }
  }
  return made;
}

}  // namespace cleave
