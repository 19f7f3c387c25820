// The exact search: a dynamic program over the ideals of the order.
#pragma once

#include <cstdint>

#include "core/balance/instance.h"
#include "core/balance/search.h"

namespace cleave::balance {

struct ExactOptions {
  double below = kUnlimited;      // looks only for results below this
  std::size_t most_ideals = 0;    // with more ideals there is no search
  std::uint64_t most_stages = 0;  // limit of the pairs of ideals tried as a stage
  const Deadline* deadline = nullptr;
  const Progress* progress = nullptr;
};

struct ExactResult {
  // then no result is better than `best`, or than `below` if there is none
  bool is_complete = false;
  Candidate best;  // objective kUnlimited: none below the limit was found
};

// Grows stages from each ideal, group by group, as long as their compute is below the limit and the
// devices left can still do the rest.
ExactResult exact_search(const Instance& instance, const ExactOptions& options);

}  // namespace cleave::balance
