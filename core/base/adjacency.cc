#include "core/base/adjacency.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

namespace cleave {
namespace {

// Tarjan's algorithm with its call stack made explicit.
class Tarjan {
 public:
  explicit Tarjan(const Adjacency& edges)
      : edges_(edges), number_(edges.count(), kUnseen), low_(edges.count()) {
    result_.of.assign(edges.count(), kUnseen);
  }

  Components run() && {
    for (std::uint32_t root = 0; root < edges_.count(); ++root) {
      if (number_[root] == kUnseen) visit_from(root);
    }
    return std::move(result_);
  }

 private:
  static constexpr auto kUnseen = std::numeric_limits<std::uint32_t>::max();
  struct Call {
    std::uint32_t item;
    std::uint32_t next;  // position in edges_.items
  };

  void enter(std::uint32_t item) {
    number_[item] = low_[item] = visited_++;
    open_.push_back(item);
    calls_.push_back({item, edges_.begin[item]});
  }

  void visit_from(std::uint32_t root) {
    enter(root);
    while (!calls_.empty()) {
      Call& call = calls_.back();
      const std::uint32_t item = call.item;
      if (call.next == edges_.begin[item + 1]) {
        leave(item);
        continue;
      }
      const std::uint32_t other = edges_.items[call.next++];
      if (number_[other] == kUnseen) {
        enter(other);
      } else if (result_.of[other] == kUnseen) {  // still open
        low_[item] = std::min(low_[item], number_[other]);
      }
    }
  }

  void leave(std::uint32_t item) {
    calls_.pop_back();
    if (!calls_.empty()) {
      std::uint32_t& low = low_[calls_.back().item];
      low = std::min(low, low_[item]);
    }
    if (low_[item] != number_[item]) return;
    const auto component = static_cast<std::uint32_t>(result_.count++);
    std::uint32_t member;
    do {
      member = open_.back();
      open_.pop_back();
      result_.of[member] = component;
    } while (member != item);
  }

  const Adjacency& edges_;
  std::vector<std::uint32_t> number_, low_;
  std::vector<std::uint32_t> open_;
  std::vector<Call> calls_;
  std::uint32_t visited_ = 0;
  Components result_;
};

}  // namespace

Adjacency reversed(const Adjacency& edges) { return reversed(edges, edges.count()); }

Adjacency reversed(const Adjacency& edges, std::size_t item_count) {
  Adjacency result;
  result.begin.assign(item_count + 1, 0);
  for (const std::uint32_t to : edges.items) ++result.begin[to + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.items.resize(edges.items.size());
  std::vector<std::uint32_t> fill(result.begin.begin(), result.begin.end() - 1);
  for (std::uint32_t from = 0; from < edges.count(); ++from) {
    for (const std::uint32_t to : edges.of(from)) result.items[fill[to]++] = from;
  }
  return result;
}

Adjacency members_of(std::span<const std::uint32_t> group_of, std::size_t group_count) {
  Adjacency result;
  result.begin.assign(group_count + 1, 0);
  for (const std::uint32_t group : group_of) ++result.begin[group + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.items.resize(group_of.size());
  std::vector<std::uint32_t> fill(result.begin.begin(), result.begin.end() - 1);
  for (std::uint32_t item = 0; item < group_of.size(); ++item) {
    result.items[fill[group_of[item]]++] = item;
  }
  return result;
}

Components strongly_connected_components(const Adjacency& edges) { return Tarjan(edges).run(); }

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
