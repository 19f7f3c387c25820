#include "core/placement/problem.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cleave {
namespace {

class UnionFind {
 public:
  explicit UnionFind(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  std::uint32_t find(std::uint32_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  // The representative of a set is its least member.
  void join(std::uint32_t one, std::uint32_t other) {
    one = find(one);
    other = find(other);
    parent_[std::max(one, other)] = std::min(one, other);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

// A set tied to both sides goes to the CPU, as a tie with the host requires.
AllowedSides both_of(AllowedSides a, AllowedSides b) {
  if (a == AllowedSides::cpu || b == AllowedSides::cpu) return AllowedSides::cpu;
  return a == AllowedSides::acc ? a : b;
}

}  // namespace

Clusters find_clusters(const PlacementProblem& problem) {
  constexpr auto kUnmet = std::numeric_limits<std::uint32_t>::max();
  const std::size_t count = problem.unit_count();
  UnionFind sets(count);
  std::vector<AllowedSides> allowed = problem.allowed;
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const auto readers = problem.readers.of(value);
    if (problem.crossing_us[value] != PlacementProblem::kTied) continue;
    const std::uint32_t maker = problem.producer[value];
    const bool is_tied_to_host = maker == PlacementProblem::kHost || problem.host_reads[value] != 0;
    if (maker != PlacementProblem::kHost && is_tied_to_host) allowed[maker] = AllowedSides::cpu;
    for (const std::uint32_t reader : readers) {
      if (maker != PlacementProblem::kHost) sets.join(maker, reader);
      if (is_tied_to_host) allowed[reader] = AllowedSides::cpu;
    }
  }
  Clusters clusters;
  clusters.of.assign(count, kUnmet);
  for (std::uint32_t unit = 0; unit < count; ++unit) {
    const std::uint32_t first = sets.find(unit);
    if (first == unit) {
      clusters.of[unit] = static_cast<std::uint32_t>(clusters.allowed.size());
      clusters.allowed.push_back(allowed[unit]);
    } else {
      const std::uint32_t cluster = clusters.of[unit] = clusters.of[first];
      clusters.allowed[cluster] = both_of(clusters.allowed[cluster], allowed[unit]);
    }
  }
  clusters.members = members_of(clusters.of, clusters.allowed.size());
  return clusters;
}

}  // namespace cleave
