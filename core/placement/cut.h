// The placement with the least time when launches are free and the accelerator keeps its values:
// one minimum cut. Its cost is a lower bound on every placement, with or without residency.
//
//   source = accelerator, sink = CPU; a cluster's arcs to them are its times on the other side
//   a value that one cluster reads: an arc each way between maker and reader
//   a value that several read:      a node for each direction, so that it crosses once
//
//   maker --w--> out --uncut--> each reader          each reader --uncut--> in --w--> maker
#pragma once

#include "core/placement/problem.h"

namespace cleave {

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
