// The placement of least time when launches cost nothing and the accelerator keeps what it has: one
// minimum cut. What it comes to is a lower bound on every placement, with or without residency.
//
//   source = accelerator, sink = CPU; a cluster's arcs to them are its times on the other side
//   a value that one cluster reads: an arc each way between maker and reader
//   a value that several read:      a node for each direction, so that it crosses once
//
//   maker --w--> out --uncut--> each reader          each reader --uncut--> in --w--> maker
#pragma once

#include "core/placement/problem.h"

namespace cleave {

// What a cut charges for a value that crosses.
struct CutCharges {
  double in_factor = 1;  // times its crossing_us, into the accelerator
  double out_factor = 1;
  double in_us = 0;  // and this: a share of a launch
};

// The sides of a minimum cut; of several the one with most on the accelerator. Close to linear.
Sides min_cut_sides(const PlacementProblem& problem, const Clusters& clusters,
                    const CutCharges& charges);

// What that problem charges for these sides. Linear.
double cut_cost(const PlacementProblem& problem, const Sides& sides, const CutCharges& charges);

}  // namespace cleave
