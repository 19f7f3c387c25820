#include "core/devices/schedule.h"

#include <algorithm>
#include <random>

#include "tests/catch2.h"
#include "tests/core/devices/random_devices.h"

namespace cleave {
namespace {

TEST_CASE("Parts of different devices overlap, and the critical path is named") {
  const Devices devices = {0, 1, 0, 2};
  Adjacency needed;
  needed.end_list();
  needed.add(0);
  needed.end_list();
  needed.add(0);
  needed.end_list();
  needed.add(1);
  needed.add(2);
  needed.end_list();
  const std::vector<double> costs = {2, 3, 5, 1};
  const PartSchedule schedule = schedule_parts(devices, needed, costs);
  CHECK(schedule.start == std::vector<double>{0, 2, 2, 7});
  CHECK(schedule.end == std::vector<double>{2, 5, 7, 8});
  CHECK(schedule.makespan == 8);
  CHECK(schedule.critical == std::vector<std::uint32_t>{0, 2, 3});
}

TEST_CASE("Nothing to run ends at once") {
  const PartSchedule schedule = schedule_parts({}, {}, {});
  CHECK(schedule.makespan == 0);
  CHECK(schedule.critical.empty());
}

TEST_CASE("A schedule keeps each device's order, and is as long as its critical path") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Adjacency readers = random_readers(random, 20);
    Devices devices;
    for (int i = 0; i < 20; ++i) devices.push_back(static_cast<DeviceIndex>(random() % 3));
    const RoundsGraph graph(readers);
    const Rounds rounds = find_rounds({graph, devices, 3});
    const Adjacency needed = needed_parts(readers, rounds);
    std::vector<double> costs;
    for (std::size_t i = 0; i < rounds.count(); ++i)
      costs.push_back(static_cast<double>(1 + random() % 9));
    const PartSchedule schedule = schedule_parts(rounds.devices, needed, costs);
    INFO("seed " << seed);
    double sum = 0;
    for (const std::uint32_t part : schedule.critical) sum += costs[part];
    CHECK(sum == schedule.makespan);
    for (std::uint32_t part = 0; part < rounds.count(); ++part) {
      CHECK(schedule.end[part] == schedule.start[part] + costs[part]);
      for (std::uint32_t other = 0; other < part; ++other) {
        const auto list = needed.of(part);
        const bool waits = rounds.devices[other] == rounds.devices[part] ||
                           std::find(list.begin(), list.end(), other) != list.end();
        if (waits) CHECK(schedule.end[other] <= schedule.start[part]);
      }
    }
    for (std::uint32_t unit = 0; unit < 20; ++unit) {
      for (const std::uint32_t reader : readers.of(unit)) {
        const std::uint32_t one = rounds.part_of[unit];
        const auto list = needed.of(rounds.part_of[reader]);
        const bool is_needed = std::find(list.begin(), list.end(), one) != list.end();
        CHECK(is_needed == (one != rounds.part_of[reader]));
      }
    }
  }
}

}  // namespace
}  // namespace cleave
