#include "core/placement/problem.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/min_cut.h"

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

// Steps of a cut:
// 1. add a network node for each free cluster, with its time on either side;
// 2. for each value, add arcs that charge its transfer once, however many readers it has;
// 3. cut the network: clusters on the source's side are on the accelerator.

namespace {

constexpr auto kHost = PlacementProblem::kHost;
constexpr auto kCpu = std::numeric_limits<std::uint32_t>::max();  // the sink
constexpr auto kAcc = kCpu - 1;                                   // the source

// Builds the network; a cluster allowed on one side only is that terminal.
class CutBuilder {
 public:
  CutBuilder(const PlacementProblem& problem, const Clusters& clusters, const CutCharges& charges)
      : problem_(problem), clusters_(clusters), charges_(charges) {}

  Sides run() && {
    add_clusters();
    for (std::uint32_t value = 0; value < problem_.value_count(); ++value) add_value(value);
    const std::vector<bool> on_acc = std::move(network_).solve();
    Sides sides(problem_.unit_count());
    for (std::uint32_t unit = 0; unit < sides.size(); ++unit) {
      const std::uint32_t node = node_of_[clusters_.of[unit]];
      sides[unit] = node == kAcc || (node != kCpu && on_acc[node]) ? 1 : 0;
    }
    return sides;
  }

 private:
  void add_clusters() {
    network_.reserve(clusters_.allowed.size(), problem_.readers.items.size());
    for (std::uint32_t cluster = 0; cluster < clusters_.allowed.size(); ++cluster) {
      switch (clusters_.allowed[cluster]) {
        case AllowedSides::cpu:
          node_of_.push_back(kCpu);
          break;
        case AllowedSides::acc:
          node_of_.push_back(kAcc);
          break;
        case AllowedSides::both:
          node_of_.push_back(network_.add_node());
          for (const std::uint32_t unit : clusters_.members.of(cluster)) {
            network_.add_source_arc(node_of_.back(), problem_.cpu_us[unit]);
            network_.add_sink_arc(node_of_.back(), problem_.acc_us[unit]);
          }
      }
    }
  }

  // Finds the network nodes that read the value, each once, without the maker.
  void find_readers(std::uint32_t value, std::uint32_t maker) {
    readers_.clear();
    for (const std::uint32_t unit : problem_.readers.of(value)) {
      readers_.push_back(node_of_[clusters_.of[unit]]);
    }
    if (problem_.host_reads[value] != 0) readers_.push_back(kCpu);
    std::sort(readers_.begin(), readers_.end());
    readers_.erase(std::unique(readers_.begin(), readers_.end()), readers_.end());
    readers_.erase(std::remove(readers_.begin(), readers_.end(), maker), readers_.end());
  }

  void add_value(std::uint32_t value) {
    const double us = problem_.crossing_us[value];
    if (us == PlacementProblem::kTied) return;
    const std::uint32_t unit = problem_.producer[value];
    const std::uint32_t maker = unit == kHost ? kCpu : node_of_[clusters_.of[unit]];
    find_readers(value, maker);
    if (readers_.empty()) return;
    const double in = us * charges_.in_factor + charges_.in_us;
    const double out = us * charges_.out_factor;
    const bool one_is_free = maker < kAcc && readers_.size() == 1 && readers_.front() < kAcc;
    if (one_is_free) {
      network_.add_arc(maker, readers_.front(), out, in);
      return;
    }
    if (maker != kAcc) add_in(maker, in);
    if (maker != kCpu) add_out(maker, out);
  }

  // Charges `us` when the maker is on the CPU and a reader is on the accelerator.
  void add_in(std::uint32_t maker, double us) {
    const bool acc_reads = std::find(readers_.begin(), readers_.end(), kAcc) != readers_.end();
    if (acc_reads) {
      if (maker != kCpu) network_.add_source_arc(maker, us);
      return;
    }
    const std::size_t free = free_readers();
    if (free == 0) return;
    const std::uint32_t gate = free == 1 ? readers_.front() : network_.add_node();
    if (maker == kCpu) {
      network_.add_sink_arc(gate, us);
    } else {
      network_.add_arc(gate, maker, us);
    }
    if (free == 1) return;
    for (std::size_t i = 0; i < free; ++i) network_.add_arc(readers_[i], gate, kUncut);
  }

  // Charges `us` when the maker is on the accelerator and a reader is on the CPU.
  void add_out(std::uint32_t maker, double us) {
    if (readers_.back() == kCpu) {
      if (maker != kAcc) network_.add_sink_arc(maker, us);
      return;
    }
    const std::size_t free = free_readers();
    if (free == 0) return;
    const std::uint32_t gate = free == 1 ? readers_.front() : network_.add_node();
    if (maker == kAcc) {
      network_.add_source_arc(gate, us);
    } else {
      network_.add_arc(maker, gate, us);
    }
    if (free == 1) return;
    for (std::size_t i = 0; i < free; ++i) network_.add_arc(gate, readers_[i], kUncut);
  }

  // The number of free readers, which are at the front.
  std::size_t free_readers() const {
    return static_cast<std::size_t>(std::lower_bound(readers_.begin(), readers_.end(), kAcc) -
                                    readers_.begin());
  }

  const PlacementProblem& problem_;
  const Clusters& clusters_;
  const CutCharges& charges_;
  MinCut network_;
  std::vector<std::uint32_t> node_of_;  // by cluster
  std::vector<std::uint32_t> readers_;  // of the current value, ascending: free ones, kAcc, kCpu
};

}  // namespace

Sides min_cut_sides(const PlacementProblem& problem, const Clusters& clusters,
                    const CutCharges& charges) {
  return CutBuilder(problem, clusters, charges).run();
}

double cut_cost(const PlacementProblem& problem, const Sides& sides, const CutCharges& charges) {
  double cost = 0;
  for (std::uint32_t unit = 0; unit < sides.size(); ++unit) {
    cost += sides[unit] != 0 ? problem.acc_us[unit] : problem.cpu_us[unit];
  }
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const double us = problem.crossing_us[value];
    if (us == PlacementProblem::kTied) continue;
    const std::uint32_t unit = problem.producer[value];
    const bool made_on_acc = unit != kHost && sides[unit] != 0;
    bool crosses = made_on_acc && problem.host_reads[value] != 0;
    for (const std::uint32_t reader : problem.readers.of(value)) {
      crosses = crosses || (sides[reader] != 0) != made_on_acc;
    }
    if (!crosses) continue;
    cost += made_on_acc ? us * charges.out_factor : us * charges.in_factor + charges.in_us;
  }
  return cost;
}

}  // namespace cleave
