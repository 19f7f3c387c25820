// Random graphs of units on several devices, random placement problems, and answers to them by plain
// definition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

#include "core/base/min_cut.h"
#include "core/devices/devices.h"

namespace cleave {

// A number from 0 to 1, the same on every machine.
double fraction(std::mt19937& random);

// Each unit reads from each earlier one with the given probability, or one of .08, .15 and .25.
Adjacency random_readers(std::mt19937& random, std::size_t units, double probability = 0);

struct RandomDevices {
  std::uint32_t seed = 0;
  std::size_t units = 8;
  std::size_t targets = 2;
  double most_launch_cost = 0;
  Residency residency = Residency::on;
  bool has_links = false;  // some targets are linked directly
  bool has_weights = false;
  bool has_state = false;
};

// Makes some values state, which units before and after their makers read in the next step.
void add_state(std::mt19937& random, DeviceProblem& problem);

DeviceProblem random_devices(const RandomDevices& wish);

// Graphs of all kinds: with and without launches and residency, without direct links.
DeviceProblem any_devices(std::uint32_t seed, std::size_t units, std::size_t targets);

// What problem.h says that a placement costs, transfer by transfer.
double plain_cost(const DeviceProblem& problem, const Devices& devices);

// By device: what problem.h says that it holds at once, step by step.
std::vector<double> plain_peaks(const DeviceProblem& problem, const Devices& devices);

// The least cost of all placements that are allowed; infinity if none is. `at_most` is the cost of
// one of them.
double least_of_all(const DeviceProblem& problem, double at_most);

}  // namespace cleave
