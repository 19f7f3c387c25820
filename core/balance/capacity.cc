#include "core/balance/capacity.h"

#include <algorithm>
#include <numeric>

namespace cleave::balance {

Capacity::Capacity(const Instance& instance) : instance_(instance) {
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    total_time_ += time_of(instance, group);
  }
  if (!instance.fleet->has_host()) return;
  std::vector<std::uint32_t> by_saving(instance.size());
  std::iota(by_saving.begin(), by_saving.end(), 0U);
  const auto saves_more = [&](std::uint32_t a, std::uint32_t b) {
    const double x = time_of(instance, a) * instance.host_time[b];
    const double y = time_of(instance, b) * instance.host_time[a];
    return x != y ? x > y : a < b;
  };
  std::erase_if(by_saving, [&](std::uint32_t group) { return time_of(instance, group) <= 0; });
  std::sort(by_saving.begin(), by_saving.end(), saves_more);
  host_time_before_ = {0};
  time_before_ = {0};
  for (const std::uint32_t group : by_saving) {
    host_time_before_.push_back(host_time_before_.back() + instance.host_time[group]);
    time_before_.push_back(time_before_.back() + time_of(instance, group));
  }
}

double Capacity::of_host(double objective) const {
  const auto above =
      std::upper_bound(host_time_before_.begin(), host_time_before_.end(), objective);
  if (above == host_time_before_.end()) return time_before_.back();
  const auto i = static_cast<std::size_t>(above - host_time_before_.begin());
  const double part =
      (objective - host_time_before_[i - 1]) / (host_time_before_[i] - host_time_before_[i - 1]);
  return time_before_[i - 1] + part * (time_before_[i] - time_before_[i - 1]);
}

double Capacity::of(const DeviceKind& kind, double objective, double transfers) const {
  if (kind.is_host) return of_host(objective);
  const bool adds = instance_.comm == CommModel::serial;
  const double left = adds ? objective - transfers * kind.comm_scale : objective;
  return std::max(0.0, left) / kind.time_scale;
}

double Capacity::of_fleet(double objective) const {
  double sum = 0;
  for (const std::uint32_t kind : instance_.fleet->kind_of_device()) {
    sum += of(instance_.fleet->kinds()[kind], objective, 0);
  }
  return sum;
}

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
