// Topological orders of an instance's groups, for the dynamic program to cut. Which one is best
// depends on the graph: with costly transfers they differ by up to a tenth, the best of six seldom.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/balance/instance.h"

namespace cleave::balance {

using Order = std::vector<std::uint32_t>;  // all groups; successors later

// The groups as numbered, which is the items' own order as far as groups allow.
Order given_order(const Instance& instance);

// Given; last ready first; first ready first; reverse depth-first postorder from the sources;
// depth-first postorder from the sinks; least live cut next; longest way to the end first.
// O(edges + pins, times log).
std::vector<Order> standard_orders(const Instance& instance);

// Of those that are ready, the group with the least key goes first; the lower number among equals.
Order order_by_key(const Instance& instance, std::span<const double> key);

}  // namespace cleave::balance
