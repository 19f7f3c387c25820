// Prints random placement problems with free launches and kept values, one JSON object a line, each
// with the time of the placement found; independent_cut_test.py solves them again.
//
// usage: print_placements COUNT UNITS

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "core/devices/devices.h"
#include "tests/core/devices/random_one_target.h"

namespace cleave {

namespace {

void print_numbers(const char* name, const std::vector<double>& numbers) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::printf("%s%.17g", i == 0 ? "" : ", ", numbers[i]);
  }
  std::printf("], ");
}

void print_value(const char* before, int maker, double us, bool host_reads,
                 std::span<const std::uint32_t> readers) {
  std::printf("%s{\"maker\": %d, \"us\": %.17g, \"host_reads\": %s, \"readers\": [", before, maker,
              us, host_reads ? "true" : "false");
  for (std::size_t i = 0; i < readers.size(); ++i) {
    std::printf("%s%u", i == 0 ? "" : ", ", readers[i]);
  }
  std::printf("]}");
}

// Units that stay together are written as a value that must not cross.
void print_problem(const DeviceProblem& problem) {
  std::vector<double> on_host, on_target;
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    on_target.push_back(std::max(problem.cost(unit, 0), 0.0));
    on_host.push_back(problem.cost(unit, 1));
  }
  print_numbers("cpu_us", on_host);
  print_numbers("acc_us", on_target);
  std::printf("\"allowed\": \"");
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    std::putchar(problem.accepts(0, unit) ? 'b' : 'c');
  }
  std::printf("\", \"values\": [");
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const bool is_input = problem.producer[value] == DeviceProblem::kHost;
    print_value(value == 0 ? "" : ", ", is_input ? -1 : static_cast<int>(problem.producer[value]),
                problem.bytes[value], problem.host_reads[value] != 0, problem.readers.of(value));
  }
  for (std::uint32_t unit = 0; unit < problem.stays_with.size(); ++unit) {
    if (problem.stays_with[unit] == unit) continue;
    print_value(", ", static_cast<int>(problem.stays_with[unit]), -1, false, std::span(&unit, 1));
  }
  std::printf("], ");
}

}  // namespace

}  // namespace cleave

int main(int argc, char** argv) {
  using namespace cleave;
  if (argc != 3) return 2;
  const auto count = static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10));
  const std::size_t units = std::strtoul(argv[2], nullptr, 10);
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const DeviceProblem problem = random_one_target({.seed = seed,
                                                     .units = 5 + seed % units,
                                                     .mean_crossing_us = 3,
                                                     .has_ties = seed % 2 == 0});
    const DevicePlacement found = find_placement(problem, {.most_tried = 0});
    std::printf("{");
    print_problem(problem);
    std::printf("\"total_us\": %.17g, \"bound_us\": %.17g}\n", found.score.total, found.bound);
  }
  return 0;
}
