// Random placement problems with one target and the host, and their exact answers by simple means.
#pragma once

#include <cstdint>

#include "core/devices/devices.h"

namespace cleave {

struct RandomOneTarget {
  std::uint32_t seed = 0;
  std::size_t units = 10;
  double launch_us = 0;
  double mean_crossing_us = 5;  // nodes take up to 10 on either device
  bool has_ties = false;
  Residency residency = Residency::on;
  bool has_state = false;
};

// Units in a random order of dependence, chains and branches; one unit in eight is for the CPU only.
// A byte takes a microsecond.
DeviceProblem random_one_target(const RandomOneTarget& wish);

// The time of a placement, by running it: take what is ready on one side, then on the other, CPU
// first.
double plain_time(const DeviceProblem& problem, const Devices& devices);

// The least time of all placements that keep ties and sides.
double least_time(const DeviceProblem& problem);

}  // namespace cleave
