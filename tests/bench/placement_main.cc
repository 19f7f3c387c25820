// Times the placement of generated problems and compares it with its targets: 100,000 nodes in a
// second, a million in ten, with at most 1 kB a node.
//
// usage: cleave_bench_placement [NODES...]      (100000 and 1000000)
//
// Exit status: 0 targets met, 1 one is missed, 2 wrong usage.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "core/devices/devices.h"
#include "tests/core/devices/random_one_target.h"

namespace cleave::bench {
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// A chain whose last node can only run on the CPU and whose links are expensive: all nodes must
// follow it, through the whole chain.
DeviceProblem dear_chain(std::size_t units) {
  DeviceProblem problem;
  problem.targets = {{.down_cost = 1, .up_cost = 1, .launch_cost = 50}};
  for (std::uint32_t unit = 0; unit < units; ++unit) {
    const bool is_last = unit + 1 == units;
    problem.unit_costs.push_back(is_last ? DeviceProblem::kRefused : 1);
    problem.unit_costs.push_back(2);
    problem.producer.push_back(unit);
    if (!is_last) problem.readers.add(unit + 1);
    problem.readers.end_list();
    problem.bytes.push_back(1e7);
    problem.host_reads.push_back(is_last ? 1 : 0);
  }
  return problem;
}

struct Kind {
  const char* name;
  DeviceProblem (*make)(std::size_t units);
};

DeviceProblem random_of(std::size_t units, double crossing_us, Residency residency) {
  return random_one_target({.seed = 3,
                            .units = units,
                            .launch_us = 50,
                            .mean_crossing_us = crossing_us,
                            .has_ties = true,
                            .residency = residency});
}

constexpr Kind kKinds[] = {
    {"cheap link", [](std::size_t units) { return random_of(units, 0.5, Residency::off); }},
    {"dear link", [](std::size_t units) { return random_of(units, 20, Residency::off); }},
    {"resident", [](std::size_t units) { return random_of(units, 3, Residency::on); }},
    {"dear chain", dear_chain},
};

// False when a target is missed.
bool run(const Kind& kind, std::size_t units) {
  const DeviceProblem problem = kind.make(units);
  const double before = cpu_seconds();
  const DevicePlacement found = find_placement(problem);
  const double seconds = cpu_seconds() - before;
  const double bytes_per_unit = peak_bytes() / static_cast<double>(units);
  const double most_seconds = static_cast<double>(units) / 1e5;
  const bool is_met = seconds <= most_seconds && bytes_per_unit <= 1000;
  std::printf(
      "%-11s %9zu nodes  %7.2f s of %5.1f  %5.0f B a node  %8zu launches  %4.1f%% above"
      " the bound  %s\n",
      kind.name, units, seconds, most_seconds, bytes_per_unit, found.rounds.acc_parts,
      100 * (found.score.total / found.bound - 1), is_met ? "" : "MISSED");
  return is_met;
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::strtoul(argv[i], nullptr, 10));
  if (sizes.empty()) sizes = {100'000, 1'000'000};
  bool are_met = true;
  for (const std::size_t units : sizes) {
    if (units == 0) return 2;
    for (const auto& kind : cleave::bench::kKinds)
      are_met = cleave::bench::run(kind, units) && are_met;
  }
  return are_met ? 0 : 1;
}
