// The exact search: a dynamic program over the ideals of the order.
#pragma once

#include <cstdint>

#include "core/balance/instance.h"
#include "core/balance/search.h"

namespace cleave::balance {

struct ExactOptions {
  double below = kUnlimited;      // only what is better than this is looked for
  std::size_t most_ideals = 0;    // more: no search
  std::uint64_t most_stages = 0;  // pairs of ideals that are tried as a stage; more: given up
  const Deadline* deadline = nullptr;
  const Progress* progress = nullptr;
};

struct ExactResult {
  bool is_complete = false;  // then nothing is better than the best, or than `below` if none
  Candidate best;            // kUnlimited: none below the limit was found
};

// From each ideal grows stages group by group, as long as their compute is below the limit and the
// rest can still be done by the devices left.
ExactResult exact_search(const Instance& instance, const ExactOptions& options);

}  // namespace cleave::balance
