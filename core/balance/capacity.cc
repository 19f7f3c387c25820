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

}  // namespace cleave::balance
