// How much compute the devices of a fleet can do within a time, whatever the groups are.
#pragma once

#include <vector>

#include "core/balance/instance.h"

namespace cleave::balance {

class Capacity {
 public:
  explicit Capacity(const Instance& instance);

  // All accelerator time that has to be done somewhere: groups that only a host runs have none.
  double total_time() const { return total_time_; }
  // At most so much of it fits on one device within `objective`, whose transfers take `transfers`
  // beside it in a model that adds them. On a host: as if it could take the groups, and parts of
  // them, that save most.
  double of(const DeviceKind& kind, double objective, double transfers) const;
  // Of all devices.
  double of_fleet(double objective) const;
  static double time_of(const Instance& instance, std::uint32_t group) {
    return instance.host_only[group] != 0 ? 0 : instance.time[group];
  }

 private:
  double of_host(double objective) const;

  const Instance& instance_;
  double total_time_ = 0;
  // Groups by what a host saves per time, most first; sums up to each.
  std::vector<double> host_time_before_;
  std::vector<double> time_before_;
};

}  // namespace cleave::balance
