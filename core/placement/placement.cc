// Steps:
// 1. find the clusters of units that must be on one side;
// 2. if few of them are free, try all choices; otherwise
// 3. search locally from minimum cuts at several charges, from all on the CPU, and from all on the
//    accelerator, from the result without residency or over a half-duplex link, then from random
//    changes of the best placement;
// 4. bound the time from below by minimum cuts, which may prove the placement optimal.
#include "core/placement/placement.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/dice.h"
#include "core/placement/changed_score.h"
#include "core/placement/problem.h"
#include "core/placement/search.h"

namespace cleave {
namespace {

// Shares of the link's time and of a launch that a cut charges for a value that crosses. The first
// is the charge used for the lower bound; larger ones lead to fewer and larger parts.
struct Charge {
  double link;
  double launch;
};
constexpr std::array<Charge, 8> kCharges = {
    {{1, 0}, {1, 1.0 / 4}, {2, 1}, {1, 1.0 / 16}, {1, 1}, {2, 0}, {4, 0}, {2, 1.0 / 8}}};
constexpr std::size_t kMostKicksInVain = 200;
constexpr std::size_t kMiddling = 30'000;  // units: fewer starts
constexpr std::size_t kLarge = 300'000;    // units: fewer starts

Sides all_where_possible(const PlacementProblem& problem, const Clusters& clusters,
                         AllowedSides side) {
  Sides sides(problem.unit_count());
  for (std::uint32_t unit = 0; unit < sides.size(); ++unit) {
    const AllowedSides allowed = clusters.allowed[clusters.of[unit]];
    sides[unit] = (allowed == AllowedSides::both ? side : allowed) == AllowedSides::acc ? 1 : 0;
  }
  return sides;
}

CutCharges charges_of(const PlacementProblem& problem, double in_weight, const Charge& charge) {
  const double launch_us = charge.launch * problem.launch_us;
  if (problem.duplex == Duplex::half) return {charge.link, charge.link, launch_us};
  return {charge.link * in_weight, charge.link * (1 - in_weight), launch_us};
}

// Tries every placement of the free clusters.
Placement try_all(PlacementScorer& scorer, const Clusters& clusters) {
  std::vector<std::uint32_t> free;
  for (std::uint32_t cluster = 0; cluster < clusters.allowed.size(); ++cluster) {
    if (clusters.allowed[cluster] == AllowedSides::both) free.push_back(cluster);
  }
  Placement best;
  Sides sides = all_where_possible(scorer.problem(), clusters, AllowedSides::cpu);
  for (std::uint64_t choice = 0; choice < std::uint64_t{1} << free.size(); ++choice) {
    for (std::size_t i = 0; i < free.size(); ++i) {
      for (const std::uint32_t unit : clusters.members.of(free[i])) {
        sides[unit] = static_cast<std::uint8_t>(choice >> i & 1U);
      }
    }
    for (const auto start : {PlacementScorer::Start::cpu, PlacementScorer::Start::acc}) {
      const PlacementScore score = scorer.score(sides, start);
      ++best.moves;
      if (!best.sides.empty() && score.total_us >= best.score.total_us) continue;
      best.sides = sides;
      best.start = start;
      best.score = score;
    }
  }
  best.proof = PlacementProof::exhaustive;
  return best;
}

class Placer {
 public:
  Placer(PlacementScorer& scorer, const Clusters& clusters, const PlacementEffort& effort)
      : scorer_(scorer),
        problem_(scorer.problem()),
        clusters_(clusters),
        effort_limits_(effort),
        known_(problem_.unit_count()),
        effort_{effort.looks, 0},
        cuts_(problem_.unit_count() > kLarge      ? 2
              : problem_.unit_count() > kMiddling ? 3
                                                  : kCharges.size()),
        starts_(cuts_ + (ChangedScore::serves(problem_) ? 3 : 4)) {
    if (ChangedScore::serves(problem_)) changed_.emplace(scorer_);
  }

  Placement run() && {
    if (!ChangedScore::serves(problem_) && problem_.unit_count() <= kMiddling) consider_plain();
    for (std::size_t i = 0; i < cuts_; ++i) {
      consider(min_cut_sides(problem_, clusters_, charges_of(problem_, 0.5, kCharges[i])));
    }
    consider(all_where_possible(problem_, clusters_, AllowedSides::cpu));
    if (problem_.unit_count() <= kLarge) {
      consider(all_where_possible(problem_, clusters_, AllowedSides::acc));
    }
    kick_while_effort_lasts();
    const auto other = scorer_.score(best_.sides, PlacementScorer::Start::acc);
    if (other.total_us < best_.score.total_us) {
      best_.score = other;
      best_.start = PlacementScorer::Start::acc;
    }
    best_.moves = moves_;
    return std::move(best_);
  }

 private:
  // Without residency, or over a half-duplex link, a placement takes as long or longer. With a start
  // from the best one found there, neither makes the result worse.
  void consider_plain() {
    PlacementProblem plain = problem_;
    if (plain.residency == Residency::on) {
      plain.residency = Residency::off;
    } else {
      plain.duplex = Duplex::half;
    }
    PlacementScorer scorer(plain);
    Placement found = Placer(scorer, clusters_, effort_limits_).run();
    moves_ += found.moves;
    consider(std::move(found.sides));
  }

  // Each start may spend a share of the effort that is left.
  void consider(Sides start) {
    const std::uint64_t share = effort_.left / std::max<std::uint64_t>(starts_, 1);
    if (starts_ > 0) --starts_;
    SearchBudget own{share, 0};
    PlacementResult found = search(std::move(start), own);
    effort_.left -= share - own.left;
    moves_ += own.moves;
    take_if_better(std::move(found));
  }

  PlacementResult search(Sides start, SearchBudget& own) {
    return search_placement({scorer_, changed_ ? &*changed_ : nullptr, clusters_, known_},
                            std::move(start), own);
  }

  bool take_if_better(PlacementResult found) {
    if (!best_.sides.empty() && found.score.total_us >= best_.score.total_us) return false;
    best_.sides = std::move(found.sides);
    best_.score = found.score;
    return true;
  }

  // Iterated local search: some connected clusters change sides, whatever the cost, and the search
  // continues from there.
  void kick_while_effort_lasts() {
    std::size_t in_vain = 0;
    while (in_vain < kMostKicksInVain && effort_.left > 20 * scorer_.size()) {
      Sides kicked = best_.sides;
      kick(kicked);
      SearchBudget own{effort_.left, 0};
      PlacementResult found = search(std::move(kicked), own);
      effort_.left = own.left;
      moves_ += own.moves;
      in_vain = take_if_better(std::move(found)) ? 0 : in_vain + 1;
    }
  }

  void kick(Sides& sides) {
    if (dice_.below(2) == 0) {
      kick_neighbours(sides);
    } else {
      kick_window(sides);
    }
  }

  void put(Sides& sides, std::uint32_t unit, std::uint8_t side) const {
    const std::uint32_t cluster = clusters_.of[unit];
    if (clusters_.allowed[cluster] != AllowedSides::both) return;
    for (const std::uint32_t member : clusters_.members.of(cluster)) sides[member] = side;
  }

  // A unit and some units that read from it, or from the same unit, move to the other side.
  void kick_neighbours(Sides& sides) {
    const std::uint32_t first = dice_.below(sides.size());
    const std::uint8_t side = sides[first] ^ 1U;
    const std::size_t wanted = std::size_t{1} << dice_.below(6);
    std::vector<std::uint32_t> units = {first};
    for (std::size_t next = 0; next < units.size() && next < wanted; ++next) {
      put(sides, units[next], side);
      for (const std::uint32_t value : scorer_.outputs().of(units[next])) {
        for (const std::uint32_t reader : problem_.readers.of(value)) units.push_back(reader);
      }
    }
  }

  // A stretch of the order moves to one side.
  void kick_window(Sides& sides) {
    const auto side = static_cast<std::uint8_t>(dice_.below(2));
    const std::size_t first = dice_.below(sides.size());
    const std::size_t most = std::max<std::size_t>(sides.size() >> dice_.below(6), 1);
    const std::size_t last = std::min<std::size_t>(first + 1 + dice_.below(most), sides.size());
    for (std::size_t i = first; i < last; ++i) put(sides, scorer_.order()[i], side);
  }

  PlacementScorer& scorer_;
  std::optional<ChangedScore> changed_;  // where it serves
  const PlacementProblem& problem_;
  const Clusters& clusters_;
  const PlacementEffort effort_limits_;
  KnownTotals known_;
  SearchBudget effort_;
  const std::size_t cuts_;
  std::uint64_t starts_;  // still to come
  std::uint64_t moves_ = 0;
  Dice dice_;
  Placement best_;
};

double bound_with(const PlacementProblem& problem, const Clusters& clusters,
                  const CutCharges& charges) {
  return cut_cost(problem, min_cut_sides(problem, clusters, charges), charges);
}

}  // namespace

double placement_bound(const PlacementProblem& problem, const Clusters& clusters) {
  double bound = bound_with(problem, clusters, charges_of(problem, 0.5, kCharges[0]));
  if (problem.duplex == Duplex::full) {
    for (const double weight : {0.0, 0.25, 0.75, 1.0}) {
      bound =
          std::max(bound, bound_with(problem, clusters, charges_of(problem, weight, kCharges[0])));
    }
  }
  const Sides on_cpu = all_where_possible(problem, clusters, AllowedSides::cpu);
  bound += problem.launch_us;
  if (std::find(on_cpu.begin(), on_cpu.end(), 1) != on_cpu.end()) return bound;
  double all_cpu = 0;
  for (const double us : problem.cpu_us) all_cpu += us;
  return std::min(bound, all_cpu);
}

Placement find_placement(const PlacementProblem& problem, const PlacementEffort& effort) {
  const Clusters clusters = find_clusters(problem);
  PlacementScorer scorer(problem);
  const auto free = static_cast<std::size_t>(
      std::count(clusters.allowed.begin(), clusters.allowed.end(), AllowedSides::both));
  Placement placement = free <= effort.most_tried_out ? try_all(scorer, clusters)
                                                      : Placer(scorer, clusters, effort).run();
  placement.bound_us = placement_bound(problem, clusters);
  const double tolerance = 1e-9 * placement.score.total_us;
  if (placement.score.total_us <= placement.bound_us + tolerance) {
    placement.bound_us = std::min(placement.bound_us, placement.score.total_us);
    placement.proof = PlacementProof::cut;
  } else if (placement.proof == PlacementProof::exhaustive) {
    placement.bound_us = placement.score.total_us;
  }
  return placement;
}

Placement FoundPlacements::find(PlacementProblem problem) {
  const auto known = std::find_if(found_.begin(), found_.end(),
                                  [&](const auto& one) { return one.first == problem; });
  if (known != found_.end()) return known->second;
  if (found_.size() == kMost) found_.pop_front();
  Placement placement = find_placement(problem);
  return found_.emplace_back(std::move(problem), std::move(placement)).second;
}

}  // namespace cleave
