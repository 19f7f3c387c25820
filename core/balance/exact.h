// The exact search: a dynamic program over the ideals of the order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/balance/instance.h"
#include "core/balance/search.h"

namespace cleave::balance {

// The ideals of an instance: sets of groups that contain all predecessors of their members. The
// stages of a pipeline are the differences of ever larger ideals, so a dynamic program over ideals
// is exact. There may be exponentially many: enumeration stops at a limit.
class Ideals {
 public:
  struct Next {
    std::uint32_t group = 0;  // the group that joins
    std::uint32_t ideal = 0;  // the ideal that results
  };

  // nullopt when there are more than `most`. Time and memory O(ideals x (groups / 64 + ready
  // groups)).
  static std::optional<Ideals> enumerate(const Instance& instance, std::size_t most);

  // Ideals ascend by number of groups: first the empty one, last that of all groups.
  std::size_t count() const { return next_begin_.size() - 1; }
  std::span<const Next> next(std::uint32_t ideal) const {
    return std::span(next_).subspan(next_begin_[ideal],
                                    next_begin_[ideal + 1] - next_begin_[ideal]);
  }

 private:
  explicit Ideals(const Instance& instance);
  bool expand(std::uint32_t ideal, std::size_t most);
  bool holds(std::span<const std::uint64_t> set, std::uint32_t group) const {
    return (set[group / 64] >> (group % 64) & 1U) != 0;
  }
  std::uint32_t find_or_add(std::uint64_t hash);
  void grow_table();
  void find_ready(std::uint32_t ideal);

  const Instance& instance_;
  std::size_t words_;
  std::vector<std::uint64_t> sets_;   // words_ each
  std::vector<std::uint64_t> hash_;   // by ideal
  std::vector<std::uint64_t> code_;   // by group; an ideal's hash is the sum of its groups'
  std::vector<std::uint32_t> table_;  // open addressing: ideals by hash
  std::vector<std::uint64_t> made_;   // the set being looked up
  std::vector<std::uint32_t> ready_;  // groups that may join the ideal being expanded
  std::vector<std::size_t> next_begin_ = {0};
  std::vector<Next> next_;
};

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
