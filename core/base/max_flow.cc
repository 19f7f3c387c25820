#include "core/base/max_flow.h"

#include <algorithm>
#include <limits>

namespace cleave {
namespace {

constexpr auto kNoArc = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kSource = 0;
constexpr std::uint32_t kSink = 1;
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

}  // namespace cleave
