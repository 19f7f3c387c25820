// Prints random placement problems with free launches and kept values, one JSON object a line, each
// with the time of the placement found; independent_cut_test.py solves them again.
//
// usage: print_placements COUNT UNITS

#include <cstdio>
#include <cstdlib>

#include "core/placement/placement.h"
#include "tests/core/placement/random_placement.h"

namespace cleave {

namespace {

void print_numbers(const char* name, const std::vector<double>& numbers) {
  std::printf("\"%s\": [", name);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::printf("%s%.17g", i == 0 ? "" : ", ", numbers[i]);
  }
  std::printf("], ");
}

void print_problem(const PlacementProblem& problem) {
  print_numbers("cpu_us", problem.cpu_us);
  print_numbers("acc_us", problem.acc_us);
  std::printf("\"allowed\": \"");
  for (const AllowedSides allowed : problem.allowed) {
    std::putchar("bca"[static_cast<std::size_t>(allowed)]);
  }
  std::printf("\", \"values\": [");
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const bool is_input = problem.producer[value] == PlacementProblem::kHost;
    std::printf("%s{\"maker\": %d, \"us\": %.17g, \"host_reads\": %s, \"readers\": [",
                value == 0 ? "" : ", ", is_input ? -1 : static_cast<int>(problem.producer[value]),
                problem.crossing_us[value], problem.host_reads[value] != 0 ? "true" : "false");
    const auto readers = problem.readers.of(value);
    for (std::size_t i = 0; i < readers.size(); ++i) {
      std::printf("%s%u", i == 0 ? "" : ", ", readers[i]);
    }
    std::printf("]}");
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
    const PlacementProblem problem = random_placement({.seed = seed,
                                                       .units = 5 + seed % units,
                                                       .mean_crossing_us = 3,
                                                       .has_ties = seed % 2 == 0});
    const Placement found = find_placement(problem, {.most_tried_out = 0});
    std::printf("{");
    print_problem(problem);
    std::printf("\"total_us\": %.17g, \"bound_us\": %.17g}\n", found.score.total_us,
                found.bound_us);
  }
  return 0;
}
