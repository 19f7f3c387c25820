// How much compute the devices of a fleet can do within a given time, whatever the groups are.
#pragma once

#include <vector>

#include "core/balance/instance.h"

namespace cleave::balance {

class Capacity {
 public:
  explicit Capacity(const Instance& instance);

  // The accelerator time of all groups; groups that only a host runs count 0.
  double total_time() const { return total_time_; }
  // An upper bound on the accelerator time that fits on one device within `objective`. `transfers`
  // is the device's transfer time, which counts in a model that adds it. On a host: an upper bound
  // that lets it take the best-saving groups, fractions included.
  double of(const DeviceKind& kind, double objective, double transfers) const;
  // The sum over all devices.
  double of_fleet(double objective) const;
  static double time_of(const Instance& instance, std::uint32_t group) {
    return instance.host_only[group] != 0 ? 0 : instance.time[group];
  }

 private:
  double of_host(double objective) const;

  const Instance& instance_;
  double total_time_ = 0;
  // Groups sorted by what a host saves per time, most first; prefix sums.
  std::vector<double> host_time_before_;
  std::vector<double> time_before_;
};

}  // namespace cleave::balance
