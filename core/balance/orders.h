// Topological orders of an instance's groups, for the dynamic program to cut. Which one is best
// depends on the graph: with costly transfers they differ by up to a tenth, but the best of six
// seldom do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/balance/instance.h"

namespace cleave::balance {

using Order = std::vector<std::uint32_t>;  // all groups; successors later

// The groups as numbered: the items' own order, as far as groups allow.
Order given_order(const Instance& instance);

// Seven orders: as given; last ready first; first ready first; reverse depth-first postorder from
// the sources; depth-first postorder from the sinks; least live cut next; longest way to the end
// first. O(edges + pins, times log).
std::vector<Order> standard_orders(const Instance& instance);

// Takes the ready group with the least key first; among equals the one with the lower number.
Order order_by_key(const Instance& instance, std::span<const double> key);

}  // namespace cleave::balance
