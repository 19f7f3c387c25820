#include "core/balance/memory.h"

#include <algorithm>

namespace cleave::balance {

StageMemory::StageMemory(const Instance& instance)
    : problem_(*instance.problem), instance_(instance) {
  if (!instance.has_activations) return;
  Adjacency producers;
  for (const BalanceNet& net : problem_.nets) {
    if (net.producer != kNoItem) producers.add(net.producer);
    producers.end_list();
  }
  made_ = reversed(producers, problem_.items.size());
  read_ = reversed(problem_.consumers, problem_.items.size());
  stamp_.assign(problem_.items.size(), 0);
  net_stamp_.assign(problem_.nets.size(), 0);
  dies_.assign(problem_.items.size(), 0);
}

double StageMemory::activation_bytes(std::span<const std::uint32_t> groups) {
  ++now_;
  items_.clear();
  for (const std::uint32_t group : groups) {
    for (const std::uint32_t item : instance_.items_of.of(group)) {
      items_.push_back(item);
      stamp_[item] = now_;
      dies_[item] = 0;
    }
  }
  std::sort(items_.begin(), items_.end());
  const double inputs = input_bytes_and_lives();
  double live = 0;
  double peak = 0;
  for (const std::uint32_t item : items_) {
    for (const std::uint32_t net : made_.of(item)) live += problem_.nets[net].bytes;
    peak = std::max(peak, live);
    live -= dies_[item];
  }
  return inputs + peak;
}

// Returns the bytes of values made elsewhere, and records in dies_ where the stage's own values
// end.
double StageMemory::input_bytes_and_lives() {
  double inputs = 0;
  for (const std::uint32_t item : items_) {
    for (const std::uint32_t net : made_.of(item)) {
      std::uint32_t last = item;
      bool stays = !problem_.nets[net].is_output;
      for (const std::uint32_t reader : problem_.consumers.of(net)) {
        stays = stays && in_stage(reader);
        last = std::max(last, reader);
      }
      if (stays) dies_[last] += problem_.nets[net].bytes;
    }
    for (const std::uint32_t net : read_.of(item)) {
      const std::uint32_t producer = problem_.nets[net].producer;
      const bool is_own = producer != kNoItem && in_stage(producer);
      if (is_own || net_stamp_[net] == now_) continue;
      net_stamp_[net] = now_;
      inputs += problem_.nets[net].bytes;
    }
  }
  return inputs;
}

}  // namespace cleave::balance
