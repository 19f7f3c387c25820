// Adjacency lists and the minimum cut.
#include "core/base/min_cut.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

namespace cleave {

// ---- adjacency ----

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
  return adjacency_of(item_count, [&](const auto& take) {
    for (std::uint32_t from = 0; from < edges.count(); ++from) {
      for (const std::uint32_t to : edges.of(from)) take(to, from);
    }
  });
}

Adjacency members_of(std::span<const std::uint32_t> group_of, std::size_t group_count) {
  return adjacency_of(group_count, [&](const auto& take) {
    for (std::uint32_t item = 0; item < group_of.size(); ++item) take(group_of[item], item);
  });
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
    at = *std::ranges::find_if(makers, left_over);
  }
  path.erase(path.begin(), path.begin() + step[at]);
  std::ranges::reverse(path);
  std::rotate(path.begin(), std::ranges::min_element(path), path.end());
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

// ---- min cut ----

namespace {

constexpr auto kNoArc = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kSource = 0;
constexpr std::uint32_t kSink = 1;
// An arc with less room than that has none: differences of capacities leave such rests, and flow along them would
// go on for long without changing the cut.
constexpr double kNoRoom = 1e-12;

}  // namespace

void FlowNetwork::clear() {
  arcs_.clear();
  first_.assign(2, kNoArc);
  flow_ = 0;
}

std::uint32_t FlowNetwork::add_node() {
  first_.push_back(kNoArc);
  return static_cast<std::uint32_t>(first_.size() - 1);
}

void FlowNetwork::add_arc(std::uint32_t from, std::uint32_t to, double capacity, double back) {
  arcs_.push_back({to, first_[from], capacity});
  first_[from] = static_cast<std::uint32_t>(arcs_.size() - 1);
  arcs_.push_back({from, first_[to], back});
  first_[to] = static_cast<std::uint32_t>(arcs_.size() - 1);
}

double FlowNetwork::augment(double limit) {
  while (flow_ < limit && find_levels()) {
    current_ = first_;
    while (flow_ < limit) {
      const double pushed = push_along_levels(limit - flow_);
      if (pushed <= 0) break;
      flow_ += pushed;
    }
  }
  return flow_;
}

// Finds distances from the source over arcs with room; false when the sink cannot be reached.
bool FlowNetwork::find_levels() {
  level_.assign(first_.size(), kNoArc);
  level_[kSource] = 0;
  queue_.assign(1, kSource);
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const std::uint32_t node = queue_[head];
    for (std::uint32_t i = first_[node]; i != kNoArc; i = arcs_[i].next) {
      ++steps_;
      if (arcs_[i].room <= kNoRoom || level_[arcs_[i].to] != kNoArc) continue;
      level_[arcs_[i].to] = level_[node] + 1;
      queue_.push_back(arcs_[i].to);
    }
  }
  return level_[kSink] != kNoArc;
}

// Pushes flow along one path from the source to the sink that goes up a level with each arc;
// returns 0 when none is left.
double FlowNetwork::push_along_levels(double most) {
  path_.clear();
  std::uint32_t node = kSource;
  while (node != kSink) {
    std::uint32_t& i = current_[node];
    while (i != kNoArc && (arcs_[i].room <= kNoRoom || level_[arcs_[i].to] != level_[node] + 1)) {
      i = arcs_[i].next;
      ++steps_;
    }
    if (i != kNoArc) {
      path_.push_back(i);
      node = arcs_[i].to;
      continue;
    }
    if (node == kSource) return 0;
    node = arcs_[path_.back() ^ 1U].to;  // a dead end: step back, and past the arc that led here
    current_[node] = arcs_[path_.back()].next;
    path_.pop_back();
  }
  double pushed = most;
  for (const std::uint32_t i : path_) pushed = std::min(pushed, arcs_[i].room);
  for (const std::uint32_t i : path_) {
    arcs_[i].room -= pushed;
    arcs_[i ^ 1U].room += pushed;
  }
  return pushed;
}

// A node's label is a lower bound on its distance to the sink over arcs with room; excess is pushed
// to lower labels. Arcs of the terminals are not stored: what the source can give is excess from
// the start, and what the sink takes is a node's `sink_room`. Excess that cannot reach the sink
// stays where it is; those nodes are on the source's side.

namespace {

using Amount = std::int64_t;

// Whole numbers, whose sums are exact: the cut that is found is a least one of the scaled
// capacities. 2^60 and 2^61 together stay below 2^63, so that room to which flow is given back
// cannot overflow.
constexpr Amount kTotal = Amount{1} << 60U;      // the sum of all finite capacities, at most
constexpr Amount kUncutRoom = Amount{1} << 61U;  // more than can ever flow
constexpr auto kNoNode = std::numeric_limits<std::uint32_t>::max();

struct Arc {
  std::uint32_t to;
  std::uint32_t reverse;  // index of the reverse arc among all arcs
  Amount room;
};

class PushRelabel {
 public:
  PushRelabel(std::vector<std::uint32_t> begin, std::vector<Arc> arcs, std::vector<Amount> excess,
              std::vector<Amount> sink_room)
      : begin_(std::move(begin)),
        arcs_(std::move(arcs)),
        excess_(std::move(excess)),
        sink_room_(std::move(sink_room)),
        count_(static_cast<std::uint32_t>(excess_.size())),
        label_(count_, 0),
        current_(count_, 0),
        next_(count_, kNoNode),
        previous_(count_, kNoNode),
        next_active_(count_, kNoNode),
        bucket_(count_ + 1, kNoNode),
        active_(count_ + 1, kNoNode) {}

  std::vector<bool> run() && {
    find_distances();
    const std::uint64_t patience = 6 * std::uint64_t{count_} + arcs_.size();
    while (true) {
      while (highest_active_ > 0 && active_[highest_active_] == kNoNode) --highest_active_;
      if (highest_active_ == 0) break;
      const std::uint32_t node = active_[highest_active_];
      active_[highest_active_] = next_active_[node];
      if (label_[node] != highest_active_) continue;  // closing a gap changed the label
      discharge(node);
      if (work_ > patience) find_distances();
    }
    find_distances();
    std::vector<bool> on_source_side(count_);
    for (std::uint32_t node = 0; node < count_; ++node) {
      on_source_side[node] = label_[node] == count_ + 1;
    }
    return on_source_side;
  }

 private:
  // Computes exact labels by a search back from the sink; count_ + 1 means out of reach.
  void find_distances() {
    work_ = 0;
    const std::uint32_t far = count_ + 1;
    std::ranges::fill(label_, far);
    std::ranges::fill(bucket_, kNoNode);
    std::ranges::fill(active_, kNoNode);
    highest_ = highest_active_ = 0;
    queue_.clear();
    for (std::uint32_t node = 0; node < count_; ++node) {
      if (sink_room_[node] > 0) reach(node, 1);
    }
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const std::uint32_t node = queue_[head];
      for (std::uint32_t i = begin_[node]; i < begin_[node + 1]; ++i) {
        const Arc& arc = arcs_[i];
        if (label_[arc.to] == far && arcs_[arc.reverse].room > 0) reach(arc.to, label_[node] + 1);
      }
    }
  }

  void reach(std::uint32_t node, std::uint32_t label) {
    queue_.push_back(node);
    put(node, label);
    if (excess_[node] > 0) make_active(node);
  }

  void put(std::uint32_t node, std::uint32_t label) {
    label_[node] = label;
    current_[node] = begin_[node];
    next_[node] = bucket_[label];
    previous_[node] = kNoNode;
    if (bucket_[label] != kNoNode) previous_[bucket_[label]] = node;
    bucket_[label] = node;
    highest_ = std::max(highest_, label);
  }

  void take_out(std::uint32_t node) {
    if (previous_[node] != kNoNode) {
      next_[previous_[node]] = next_[node];
    } else {
      bucket_[label_[node]] = next_[node];
    }
    if (next_[node] != kNoNode) previous_[next_[node]] = previous_[node];
  }

  void make_active(std::uint32_t node) {
    next_active_[node] = active_[label_[node]];
    active_[label_[node]] = node;
    highest_active_ = std::max(highest_active_, label_[node]);
  }

  // Pushes until no excess is left or the sink is out of reach.
  void discharge(std::uint32_t node) {
    while (true) {
      if (label_[node] == 1) push_to_sink(node);
      push_along_arcs(node);
      if (excess_[node] == 0) return;
      relabel(node);
      if (label_[node] > count_) return;
    }
  }

  void push_to_sink(std::uint32_t node) {
    const Amount pushed = std::min(excess_[node], sink_room_[node]);
    excess_[node] -= pushed;
    sink_room_[node] -= pushed;
  }

  void push_along_arcs(std::uint32_t node) {
    const std::uint32_t lower = label_[node] - 1;
    for (std::uint32_t& i = current_[node]; excess_[node] > 0 && i < begin_[node + 1]; ++i) {
      Arc& arc = arcs_[i];
      if (arc.room == 0 || label_[arc.to] != lower) continue;
      const Amount pushed = std::min(excess_[node], arc.room);
      if (excess_[arc.to] == 0) make_active(arc.to);
      arc.room -= pushed;
      arcs_[arc.reverse].room += pushed;
      excess_[node] -= pushed;
      excess_[arc.to] += pushed;
      if (excess_[node] == 0) return;  // the arc may have room left
    }
  }

  void relabel(std::uint32_t node) {
    const std::uint32_t before = label_[node];
    std::uint32_t lowest = sink_room_[node] > 0 ? 0 : count_;
    for (std::uint32_t i = begin_[node]; i < begin_[node + 1]; ++i) {
      if (arcs_[i].room > 0) lowest = std::min(lowest, label_[arcs_[i].to]);
    }
    work_ += 12 + begin_[node + 1] - begin_[node];
    take_out(node);
    if (bucket_[before] == kNoNode) {
      close_gap(before);
      label_[node] = count_ + 1;
    } else if (lowest >= count_) {
      label_[node] = count_ + 1;
    } else {
      put(node, lowest + 1);
    }
  }

  // No node has the label `gap`, so nodes with higher labels cannot reach the sink.
  void close_gap(std::uint32_t gap) {
    for (std::uint32_t label = gap + 1; label <= highest_; ++label) {
      for (std::uint32_t node = bucket_[label]; node != kNoNode; node = next_[node]) {
        label_[node] = count_ + 1;
      }
      bucket_[label] = kNoNode;
      active_[label] = kNoNode;
    }
    highest_ = gap;
  }

  std::vector<std::uint32_t> begin_;
  std::vector<Arc> arcs_;
  std::vector<Amount> excess_;
  std::vector<Amount> sink_room_;
  const std::uint32_t count_;
  std::vector<std::uint32_t> label_;  // 1..count_, or count_ + 1
  std::vector<std::uint32_t> current_;
  std::vector<std::uint32_t> next_, previous_;  // of the same label
  std::vector<std::uint32_t> next_active_;
  std::vector<std::uint32_t> bucket_;  // by label: its first node
  std::vector<std::uint32_t> active_;  // by label: its first node with excess
  std::vector<std::uint32_t> queue_;
  std::uint32_t highest_ = 0;
  std::uint32_t highest_active_ = 0;
  std::uint64_t work_ = 0;  // since the last exact labels
};

double finite(double capacity) { return capacity == kUncut ? 0 : capacity; }

}  // namespace

void MinCut::reserve(std::size_t nodes, std::size_t arcs) {
  from_source_.reserve(nodes);
  to_sink_.reserve(nodes);
  arcs_.reserve(arcs);
}

std::uint32_t MinCut::add_node() {
  from_source_.push_back(0);
  to_sink_.push_back(0);
  return static_cast<std::uint32_t>(from_source_.size() - 1);
}

void MinCut::add_source_arc(std::uint32_t node, double capacity) { from_source_[node] += capacity; }

void MinCut::add_sink_arc(std::uint32_t node, double capacity) { to_sink_[node] += capacity; }

void MinCut::add_arc(std::uint32_t from, std::uint32_t to, double capacity, double back) {
  arcs_.push_back({from, to, capacity, back});
}

std::vector<bool> MinCut::solve() && {
  double total = 0;
  for (const double capacity : from_source_) total += capacity;
  for (const double capacity : to_sink_) total += capacity;
  for (const PlainArc& arc : arcs_) total += finite(arc.capacity) + finite(arc.back);
  const double scale = total > 0 ? static_cast<double>(kTotal) / total / 2 : 1;
  const auto amount = [&](double capacity) {
    return capacity == kUncut ? kUncutRoom : static_cast<Amount>(std::llround(capacity * scale));
  };

  const std::size_t count = node_count();
  std::vector<std::uint32_t> begin(count + 1, 0);
  for (const PlainArc& arc : arcs_) {
    ++begin[arc.from + 1];
    ++begin[arc.to + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Arc> arcs(2 * arcs_.size());
  std::vector<std::uint32_t> fill(begin.begin(), begin.end() - 1);
  for (const PlainArc& arc : arcs_) {
    const std::uint32_t there = fill[arc.from]++;
    const std::uint32_t back = fill[arc.to]++;
    arcs[there] = {arc.to, back, amount(arc.capacity)};
    arcs[back] = {arc.from, there, amount(arc.back)};
  }
  arcs_ = {};
  std::vector<Amount> excess(count, 0);
  std::vector<Amount> sink_room(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Amount net = amount(from_source_[i]) - amount(to_sink_[i]);
    (net > 0 ? excess : sink_room)[i] = std::abs(net);
  }
  return PushRelabel(std::move(begin), std::move(arcs), std::move(excess), std::move(sink_room))
      .run();
}

}  // namespace cleave
