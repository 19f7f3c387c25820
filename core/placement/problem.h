// A placement problem: which units of a graph go to the accelerator so that one inference takes the
// least time. It knows no model, only units, values and microseconds.
//
//   unit   a node, or nodes that stay together in one part
//   value  made by a unit or by the host, read by units and perhaps by the host
//   level  units run in alternating levels, CPU first. A unit's level is the lowest of its own side
//          that is not below the level of a unit that it reads from. The units of an accelerator
//          level form one accelerator part, which is launched once; those of a CPU level one CPU part.
//
// The time of a placement is the sum of its units' times, of its launches, and of its crossings.
// Without residency a value crosses once into each accelerator part that reads it from elsewhere,
// and once out of an accelerator part when anything outside reads it. With residency it crosses at
// most once in each direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/adjacency.h"
#include "core/cost/device.h"

namespace cleave {

enum class AllowedSides : std::uint8_t { both, cpu, acc };

struct PlacementProblem {
  static constexpr auto kHost = std::numeric_limits<std::uint32_t>::max();
  // Crossing time of a non-tensor value: all units that make or read it are on one side.
  static constexpr double kTied = -1;

  std::vector<double> cpu_us;  // by unit
  std::vector<double> acc_us;
  std::vector<AllowedSides> allowed;

  std::vector<std::uint32_t> producer;   // by value: a unit, or kHost
  Adjacency readers;                     // by value: units, each once, never the producer
  std::vector<double> crossing_us;       // by value: time of one crossing, or kTied
  std::vector<std::uint8_t> host_reads;  // by value: 1 when it is an output of the graph

  double launch_us = 0;
  double cpu_launch_us = 0;                                          // of a CPU part
  std::size_t most_parts = std::numeric_limits<std::size_t>::max();  // on the accelerator
  Residency residency = Residency::off;
  Duplex duplex = Duplex::half;

  std::size_t unit_count() const { return cpu_us.size(); }
  std::size_t value_count() const { return producer.size(); }

  bool operator==(const PlacementProblem&) const = default;
};

// For each unit whether it is on the accelerator.
using Sides = std::vector<std::uint8_t>;

// Sets of units that ties keep on one side; clusters are numbered by their first unit. Linear.
struct Clusters {
  std::vector<std::uint32_t> of;
  Adjacency members;                  // by cluster: its units
  std::vector<AllowedSides> allowed;  // by cluster; cpu if a member must be on the CPU
};
Clusters find_clusters(const PlacementProblem& problem);

// The placement with the least time when launches are free and the accelerator keeps its values:
// one minimum cut. Its cost is a lower bound on every placement, with or without residency.
//
//   source = accelerator, sink = CPU; a cluster's arcs to them are its times on the other side
//   a value that one cluster reads: an arc each way between maker and reader
//   a value that several read:      a node for each direction, so that it crosses once
//
//   maker --w--> out --uncut--> each reader          each reader --uncut--> in --w--> maker

// The charges of a cut for a value that crosses.
struct CutCharges {
  double in_factor = 1;  // factor on its crossing_us, into the accelerator
  double out_factor = 1;
  double in_us = 0;  // added per value: a share of a launch
};

// The sides of a minimum cut; of several the one with most clusters on the accelerator. Close to
// linear.
Sides min_cut_sides(const PlacementProblem& problem, const Clusters& clusters,
                    const CutCharges& charges);

// The cost of these sides under the charges. Linear.
double cut_cost(const PlacementProblem& problem, const Sides& sides, const CutCharges& charges);

}  // namespace cleave
