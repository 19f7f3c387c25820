#include "tests/fuzz/plain_split.h"

#include <utility>

namespace cleave::fuzz {
namespace {

// `fewest` keeps the side that the reference takes unless the other gives fewer.
std::vector<plain::Subgraph> found_from(const Graph& graph, const plain::Fusions& fusions,
                                        StartSide start) {
  if (start != StartSide::fewest) return plain::split_subgraphs(graph, fusions, start);
  auto best = plain::split_subgraphs(graph, fusions, StartSide::reference);
  for (const StartSide side : {StartSide::cpu, StartSide::acc}) {
    auto other = plain::split_subgraphs(graph, fusions, side);
    if (other.size() < best.size()) best = std::move(other);
  }
  return best;
}

bool is_acc(const std::vector<plain::Subgraph>& subgraphs, std::size_t i) {
  return i < subgraphs.size() && subgraphs[i].device == Device::acc;
}

// False when there is no such subgraph.
bool extend(const Graph& graph, const plain::Fusions& fusions, const ExtendOptions& options,
            std::vector<plain::Subgraph>& subgraphs) {
  using Which = ExtendOptions::Which;
  if (options.which == Which::none) return true;
  if (options.which == Which::one) {
    if (!is_acc(subgraphs, options.subgraph)) return false;
    plain::extend_subgraph(graph, fusions, subgraphs, options.subgraph);
    return true;
  }
  for (std::size_t k = subgraphs.size(); k-- > 0;) {
    if (!is_acc(subgraphs, k) || subgraphs[k].nodes.empty()) continue;
    auto extended = subgraphs;
    plain::extend_subgraph(graph, fusions, extended, k);
    const bool falls = plain::link_bytes(graph, extended) < plain::link_bytes(graph, subgraphs);
    if (options.which == Which::all || falls) subgraphs = std::move(extended);
  }
  return true;
}

}  // namespace

std::optional<PlainSplit> plain_split(const Graph& graph, const plain::Nodes& supported,
                                      const SplitOptions& options) {
  const bool keeps_all = options.most_kept == SplitOptions::kUnlimited;
  if (options.keep_qdq || options.host_shapes || !keeps_all) return std::nullopt;
  PlainSplit split;
  split.acc_found = options.allow_non_tensor ? supported : plain::find_acc_nodes(graph, supported);
  split.fusions = options.skip_fusion ? plain::Fusions{{}, split.acc_found}
                                      : plain::find_fusions(graph, split.acc_found);
  split.found = found_from(graph, split.fusions, options.start);
  split.subgraphs = plain::merge_small_subgraphs(split.found, options.min_acc_size);
  if (!extend(graph, split.fusions, options.extend, split.subgraphs)) return std::nullopt;
  return split;
}

}  // namespace cleave::fuzz
