#include "core/devices/schedule.h"

#include <algorithm>
#include <limits>

namespace cleave {

Adjacency needed_parts(const Adjacency& unit_readers, const Rounds& rounds) {
  Adjacency makers;  // by part: where the parts that read from it are, more than once
  for (std::uint32_t part = 0; part < rounds.count(); ++part) {
    for (const std::uint32_t unit : rounds.units.of(part)) {
      for (const std::uint32_t reader : unit_readers.of(unit)) {
        if (rounds.part_of[reader] != part) makers.add(rounds.part_of[reader]);
      }
    }
    makers.end_list();
  }
  const Adjacency needed = reversed(makers, rounds.count());
  Adjacency once;
  for (std::uint32_t part = 0; part < rounds.count(); ++part) {
    const auto parts = needed.of(part);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i == 0 || parts[i] != parts[i - 1]) once.add(parts[i]);
    }
    once.end_list();
  }
  return once;
}

PartSchedule schedule_parts(std::span<const DeviceIndex> devices, const Adjacency& needed,
                            std::span<const double> costs) {
  constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();
  PartSchedule schedule;
  std::vector<std::uint32_t> waited_for(devices.size(), kNone);
  std::vector<std::uint32_t> last_on(std::numeric_limits<DeviceIndex>::max() + 1, kNone);
  std::uint32_t last = kNone;
  for (std::uint32_t part = 0; part < devices.size(); ++part) {
    double start = 0;
    const auto wait_for = [&](std::uint32_t other) {
      if (waited_for[part] != kNone && schedule.end[other] <= start) return;
      start = schedule.end[other];
      waited_for[part] = other;
    };
    for (const std::uint32_t other : needed.of(part)) wait_for(other);
    if (last_on[devices[part]] != kNone) wait_for(last_on[devices[part]]);
    last_on[devices[part]] = part;
    schedule.start.push_back(start);
    schedule.end.push_back(start + costs[part]);
    if (last == kNone || schedule.end[part] > schedule.makespan) {
      last = part;
      schedule.makespan = schedule.end[part];
    }
  }
  for (; last != kNone; last = waited_for[last]) schedule.critical.push_back(last);
  std::reverse(schedule.critical.begin(), schedule.critical.end());
  return schedule;
}

}  // namespace cleave
