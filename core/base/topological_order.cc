#include "core/base/topological_order.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

namespace cleave {
namespace {

// Every node left over waits for another node that is left over, so following these leads into a
// cycle. The cycle is listed from its first node in the source.
std::vector<std::uint32_t> find_cycle(const Adjacency& waits_for,
                                      const std::vector<std::uint32_t>& waits) {
  constexpr auto kUnseen = std::numeric_limits<std::uint32_t>::max();
  const auto left_over = [&](std::uint32_t n) { return waits[n] != 0; };
  std::uint32_t at = 0;
  while (!left_over(at)) ++at;
  std::vector<std::uint32_t> step(waits.size(), kUnseen);
  std::vector<std::uint32_t> path;
  while (step[at] == kUnseen) {
    step[at] = static_cast<std::uint32_t>(path.size());
    path.push_back(at);
    const auto makers = waits_for.of(at);
    at = *std::find_if(makers.begin(), makers.end(), left_over);
  }
  path.erase(path.begin(), path.begin() + step[at]);
  std::reverse(path.begin(), path.end());
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  return path;
}

}  // namespace

TopologicalOrder topological_order(const Adjacency& waits_for) {
  const auto count = static_cast<std::uint32_t>(waits_for.count());
  const Adjacency readers = reversed(waits_for);
  std::vector<std::uint32_t> waits(count);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t n = 0; n < count; ++n) {
    waits[n] = static_cast<std::uint32_t>(waits_for.of(n).size());
    if (waits[n] == 0) ready.push(n);
  }
  TopologicalOrder result;
  result.order.reserve(count);
  while (!ready.empty()) {
    const std::uint32_t n = ready.top();
    ready.pop();
    result.order.push_back(n);
    for (const std::uint32_t reader : readers.of(n)) {
      if (--waits[reader] == 0) ready.push(reader);
    }
  }
  if (result.order.size() != count) result.cycle = find_cycle(waits_for, waits);
  return result;
}

}  // namespace cleave
