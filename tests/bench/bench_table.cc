#include "tests/bench/bench_table.h"

#include <cmath>
#include <cstdio>

#include "core/base/words.h"

namespace cleave::bench {
namespace {

constexpr double kMostGrowth = 12;                            // of a pass, for ten times the nodes
constexpr double kMostPeakBytes = 450, kMostKeptBytes = 250;  // a node
constexpr double kLeastSeconds = 1e-3;                        // growth from less is noise

double nanoseconds_a_node(const Measured& measured, double seconds) {
  return seconds * 1e9 / static_cast<double>(measured.nodes);
}

// How the time grew from size to size, for ten times the nodes.
double growth(const Measured& from, const Measured& to, double seconds_from, double seconds_to) {
  const double times = static_cast<double>(to.nodes) / static_cast<double>(from.nodes);
  return std::pow(10.0, std::log(seconds_to / seconds_from) / std::log(times));
}

void print_row(const char* name, const std::vector<Measured>& sizes,
               const std::vector<double>& seconds) {
  std::printf("  %-24s", name);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::printf(" %10.1f", nanoseconds_a_node(sizes[i], seconds[i]));
  }
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    std::printf(" %8.1fx", growth(sizes[i - 1], sizes[i], seconds[i - 1], seconds[i]));
  }
  std::printf(" %9.3f s\n", seconds.back());
}

void print_bytes_row(const char* name, const std::vector<Measured>& sizes,
                     double Measured::*bytes) {
  std::printf("  %-24s", name);
  for (const Measured& size : sizes) std::printf(" %10.0f", size.*bytes);
  std::printf("\n");
}

std::vector<double> seconds_of(const std::vector<Measured>& sizes, const std::string& step) {
  std::vector<double> seconds;
  for (const Measured& size : sizes) seconds.push_back(size.seconds(step));
  return seconds;
}

bool print_growth_target(const std::string& kind, const std::vector<Measured>& sizes) {
  bool all_met = true;
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    for (const Step& step : sizes[i].steps) {
      const double before = sizes[i - 1].seconds(step.name);
      if (step.kind != StepKind::pass || before < kLeastSeconds) continue;
      const double grown = growth(sizes[i - 1], sizes[i], before, step.seconds);
      if (grown <= kMostGrowth) continue;
      std::printf("MISSED  %s, %s: grew %.1fx to %s nodes, at most %.0fx is wanted\n", kind.c_str(),
                  step.name.c_str(), grown, count_text(sizes[i].nodes).c_str(), kMostGrowth);
      all_met = false;
    }
  }
  if (all_met) {
    std::printf("met     %s: no pass grows more than %.0fx\n", kind.c_str(), kMostGrowth);
  }
  return all_met;
}

// Without the mapped file, all bytes of which are touched.
bool print_memory_target(const std::string& kind, const Measured& largest) {
  const double file = static_cast<double>(largest.file_bytes) / static_cast<double>(largest.nodes);
  const double peak = largest.peak_split_bytes_a_node - file;
  const double kept = largest.graph_bytes_a_node - file;
  const bool is_met = peak <= kMostPeakBytes && kept <= kMostKeptBytes;
  std::printf(
      "%s  %s: %.0f bytes a node at the peak, %.0f once read, beyond the file; at most %.0f and "
      "%.0f are wanted\n",
      is_met ? "met   " : "MISSED", kind.c_str(), peak, kept, kMostPeakBytes, kMostKeptBytes);
  return is_met;
}

}  // namespace

void print_table(const std::string& kind, const std::vector<Measured>& sizes) {
  std::printf("\n%s: ns a node%*s growth for 10 times the nodes\n  %-24s", kind.c_str(),
              static_cast<int>(11 * sizes.size()), "", "nodes");
  for (const Measured& size : sizes) std::printf(" %10s", count_text(size.nodes).c_str());
  std::printf("\n  %-24s", "partitions");
  for (const Measured& size : sizes) std::printf(" %10s", count_text(size.parts).c_str());
  std::printf("\n  %-24s", "bytes of file a node");
  for (const Measured& size : sizes) {
    std::printf(" %10.1f", static_cast<double>(size.file_bytes) / static_cast<double>(size.nodes));
  }
  std::printf("\n");
  for (const Step& step : sizes.front().steps) {
    print_row(step.name.c_str(), sizes, seconds_of(sizes, step.name));
  }
  std::vector<double> passes;
  for (const Measured& size : sizes) passes.push_back(size.seconds_of_passes());
  print_row("ALL PASSES", sizes, passes);
  std::printf("  bytes a node in memory\n");
  print_bytes_row("after reading", sizes, &Measured::graph_bytes_a_node);
  print_bytes_row("most while reading", sizes, &Measured::peak_bytes_a_node);
  print_bytes_row("most, passes too", sizes, &Measured::peak_split_bytes_a_node);
}

bool print_targets(const std::string& kind, const std::vector<Measured>& sizes) {
  const bool grow_as_wanted = print_growth_target(kind, sizes);
  const Measured& largest = sizes.back();
  const double reading = largest.seconds("read_model");
  const bool faster = largest.seconds_of_passes() < reading;
  std::printf("%s  %s: all passes take %.3f s, reading %.3f s\n", faster ? "met   " : "MISSED",
              kind.c_str(), largest.seconds_of_passes(), reading);
  return print_memory_target(kind, largest) && grow_as_wanted && faster;
}

}  // namespace cleave::bench
