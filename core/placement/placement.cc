// Placement by cost between one accelerator and the host.
#include "core/placement/placement.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/base/min_cut.h"

namespace cleave {

// ---- problem ----

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

// ---- search ----

// Steps of score():
// 1. find the level of each unit (problem.h);
// 2. sum the times of units on their sides;
// 3. count the launches, one for each level on the accelerator;
// 4. sum the transfers of values that cross.

namespace {

Adjacency outputs_by_unit(const PlacementProblem& problem) {
  Adjacency outputs;
  outputs.begin.assign(problem.unit_count() + 1, 0);
  for (const std::uint32_t unit : problem.producer) {
    if (unit != kHost) ++outputs.begin[unit + 1];
  }
  std::partial_sum(outputs.begin.begin(), outputs.begin.end(), outputs.begin.begin());
  outputs.items.resize(outputs.begin.back());
  std::vector<std::uint32_t> fill(outputs.begin.begin(), outputs.begin.end() - 1);
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const std::uint32_t unit = problem.producer[value];
    if (unit != kHost) outputs.items[fill[unit]++] = value;
  }
  return outputs;
}

// The units, makers before readers.
std::vector<std::uint32_t> order_of(const PlacementProblem& problem, const Adjacency& outputs) {
  std::vector<std::uint32_t> waits(problem.unit_count(), 0);
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    if (problem.producer[value] == kHost) continue;
    for (const std::uint32_t reader : problem.readers.of(value)) ++waits[reader];
  }
  std::vector<std::uint32_t> order;
  order.reserve(waits.size());
  for (std::uint32_t unit = 0; unit < waits.size(); ++unit) {
    if (waits[unit] == 0) order.push_back(unit);
  }
  for (std::size_t next = 0; next < order.size(); ++next) {
    for (const std::uint32_t value : outputs.of(order[next])) {
      for (const std::uint32_t reader : problem.readers.of(value)) {
        if (--waits[reader] == 0) order.push_back(reader);
      }
    }
  }
  assert(order.size() == problem.unit_count());
  return order;
}

// More than any placement takes.
double penalty_of(const PlacementProblem& problem) {
  const double launch = problem.launch_us + problem.cpu_launch_us;
  double sum = 1 + launch * static_cast<double>(problem.unit_count());
  for (const double us : problem.cpu_us) sum += us;
  for (const double us : problem.acc_us) sum += us;
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const auto times = static_cast<double>(problem.readers.of(value).size() + 1);
    sum += std::max(problem.crossing_us[value], 0.0) * times;
  }
  return sum;
}

}  // namespace

PlacementScorer::PlacementScorer(const PlacementProblem& problem)
    : problem_(problem),
      outputs_(outputs_by_unit(problem)),
      order_(order_of(problem, outputs_)),
      levels_(problem.unit_count()),
      penalty_us_(penalty_of(problem)) {}

PlacementScore PlacementScorer::score(const Sides& sides, Start start) {
  find_levels(sides, start);
  seen_by_level_.assign(level_count_, 0);
  in_us_.assign(level_count_, 0);
  out_us_.assign(level_count_, 0);
  PlacementScore score;
  add_units(sides, score);
  add_launches(sides, score);
  for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
    if (problem_.residency == Residency::on) {
      add_crossing_once(sides, value);
    } else {
      add_crossing_per_part(sides, value);
    }
  }
  add_link(score);
  score.total_us = score.cpu_us + score.acc_us + score.link_us + score.launch_us + score.penalty_us;
  return score;
}

void PlacementScorer::find_levels(const Sides& sides, Start start) {
  const unsigned flip = start == Start::cpu ? 0 : 1;
  for (std::uint32_t unit = 0; unit < levels_.size(); ++unit) levels_[unit] = sides[unit] ^ flip;
  level_count_ = 0;
  for (const std::uint32_t unit : order_) {
    const std::uint32_t level = levels_[unit];
    level_count_ = std::max<std::size_t>(level_count_, level + 1);
    for (const std::uint32_t value : outputs_.of(unit)) {
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        const std::uint32_t least = level + (sides[reader] != sides[unit] ? 1U : 0U);
        levels_[reader] = std::max(levels_[reader], least);
      }
    }
  }
}

void PlacementScorer::add_units(const Sides& sides, PlacementScore& score) const {
  for (std::uint32_t unit = 0; unit < sides.size(); ++unit) {
    if (sides[unit] != 0) {
      score.acc_us += problem_.acc_us[unit];
    } else {
      score.cpu_us += problem_.cpu_us[unit];
    }
  }
}

void PlacementScorer::add_launches(const Sides& sides, PlacementScore& score) {
  constexpr std::uint8_t kCpu = 1, kAcc = 2;
  used_.assign(level_count_, 0);
  for (std::uint32_t unit = 0; unit < sides.size(); ++unit) {
    used_[levels_[unit]] = sides[unit] != 0 ? kAcc : kCpu;
  }
  const auto on_cpu = std::count(used_.begin(), used_.end(), kCpu);
  score.launches = static_cast<std::size_t>(std::count(used_.begin(), used_.end(), kAcc));
  score.launch_us = problem_.launch_us * static_cast<double>(score.launches) +
                    problem_.cpu_launch_us * static_cast<double>(on_cpu);
  if (score.launches > problem_.most_parts) {
    score.penalty_us = penalty_us_ * static_cast<double>(score.launches - problem_.most_parts);
  }
}

// A value enters with the first part that reads it.
void PlacementScorer::add_crossing_once(const Sides& sides, std::uint32_t value) {
  const std::uint32_t maker = problem_.producer[value];
  const bool is_made_on_acc = maker != kHost && sides[maker] != 0;
  bool crosses = is_made_on_acc && problem_.host_reads[value] != 0;
  std::size_t first = level_count_;
  for (const std::uint32_t reader : problem_.readers.of(value)) {
    if ((sides[reader] != 0) == is_made_on_acc) continue;
    crosses = true;
    first = std::min<std::size_t>(first, levels_[reader]);
  }
  if (!crosses) return;
  const double us = std::max(problem_.crossing_us[value], 0.0);
  if (is_made_on_acc) {
    out_us_[levels_[maker]] += us;
  } else {
    in_us_[first] += us;
  }
}

void PlacementScorer::add_link(PlacementScore& score) const {
  for (std::size_t level = 0; level < level_count_; ++level) {
    const double in = in_us_[level];
    const double out = out_us_[level];
    score.link_us += problem_.duplex == Duplex::half ? in + out : std::max(in, out);
  }
}

void PlacementScorer::add_crossing_per_part(const Sides& sides, std::uint32_t value) {
  const double us = std::max(problem_.crossing_us[value], 0.0);
  const std::uint32_t maker = problem_.producer[value];
  const bool is_made_on_acc = maker != kHost && sides[maker] != 0;
  bool leaves = is_made_on_acc && problem_.host_reads[value] != 0;
  for (const std::uint32_t reader : problem_.readers.of(value)) {
    const std::uint32_t level = levels_[reader];
    if (is_made_on_acc && level == levels_[maker]) continue;
    leaves = true;
    if (sides[reader] == 0 || seen_by_level_[level] == value + 1) continue;
    seen_by_level_[level] = value + 1;
    in_us_[level] += us;
  }
  if (is_made_on_acc && leaves) out_us_[levels_[maker]] += us;
}

// Steps of one round, each of which keeps a change only if the time falls:
// 1. drop accelerator partitions that lose, then single ones, the least valuable first;
// 2. move connected pieces to the CPU;
// 3. merge partitions by moving the CPU nodes between them;
// 4. move connected pieces to the accelerator;
// 5. drop partitions from either end;
// 6. move single clusters at the border.
// Rounds repeat until none helps.

namespace {

constexpr auto kNowhere = std::numeric_limits<std::uint32_t>::max();

// Clusters that can change sides together, and the gain this seems to bring, without launches.
struct Piece {
  std::vector<std::uint32_t> clusters;
  double gain_us = 0;
};

class Search {
 public:
  Search(const SearchTools& tools, Sides sides, SearchBudget& effort)
      : scorer_(tools.scorer),
        changed_(tools.changed),
        problem_(scorer_.problem()),
        clusters_(tools.clusters),
        known_(tools.known),
        effort_(effort),
        sides_(std::move(sides)),
        total_us_(scorer_.score(sides_).total_us) {
    if (changed_ != nullptr) changed_->set(sides_);
  }

  PlacementResult run() && {
    bool is_better = true;
    while (is_better && has_effort()) {
      is_better = drop_losing_parts();
      is_better = drop_parts() || is_better;
      is_better = flip_pieces(1) || is_better;
      is_better = merge_parts() || is_better;
      is_better = flip_pieces(0) || is_better;
      is_better = flip_ends() || is_better;
      is_better = move_clusters() || is_better;
    }
    const PlacementScore score = scorer_.score(sides_);
    return {std::move(sides_), score};
  }

 private:
  bool has_effort() const { return effort_.left >= scorer_.size(); }
  bool is_free(std::uint32_t cluster) const {
    return clusters_.allowed[cluster] == AllowedSides::both;
  }
  bool is_on_acc(std::uint32_t cluster) const {
    return sides_[clusters_.members.of(cluster).front()] != 0;
  }

  void flip(std::span<const std::uint32_t> clusters) {
    for (const std::uint32_t cluster : clusters) {
      for (const std::uint32_t unit : clusters_.members.of(cluster)) sides_[unit] ^= 1U;
    }
  }

  // The time after flip() of these.
  double total_with(std::span<const std::uint32_t> flipped) {
    if (changed_ == nullptr) return scorer_.score(sides_).total_us;
    for (const std::uint32_t cluster : flipped) {
      for (const std::uint32_t unit : clusters_.members.of(cluster)) changed_->flip(unit);
    }
    return changed_->total_us();
  }

  // Changes sides if the time falls. Callers that need levels must score afterwards.
  bool try_flip(std::span<const std::uint32_t> clusters) {
    if (clusters.empty() || !has_effort()) return false;
    effort_.left -= scorer_.size();
    ++effort_.moves;
    flip(clusters);
    double& known_us = known_.of(sides_);
    const bool is_known_in_vain = known_us > 0 && !is_less(known_us);
    if (is_known_in_vain) {
      flip(clusters);
      return false;
    }
    const double total_us = known_us = total_with(clusters);
    has_levels_ = has_levels_ && changed_ != nullptr;
    const bool is_better = is_less(total_us);
    if (is_better) {
      total_us_ = total_us;
      has_levels_ = false;
    } else {
      flip(clusters);
    }
    if (changed_ != nullptr) is_better ? changed_->keep() : changed_->undo();
    return is_better;
  }

  // By more than rounding can make.
  bool is_less(double total_us) const { return total_us < total_us_ - 1e-9 * total_us_; }

  // Those of sides_, until a step is taken.
  const std::vector<std::uint32_t>& current_levels() {
    if (!has_levels_) scorer_.find_levels(sides_);
    has_levels_ = true;
    return scorer_.levels();
  }

  // For each level the free clusters on this side in it.
  std::vector<std::vector<std::uint32_t>> clusters_by_level(std::uint8_t side) {
    const std::vector<std::uint32_t>& levels = current_levels();
    std::vector<std::vector<std::uint32_t>> found(scorer_.level_count());
    for (std::uint32_t cluster = 0; cluster < clusters_.allowed.size(); ++cluster) {
      const std::uint32_t unit = clusters_.members.of(cluster).front();
      if (is_free(cluster) && sides_[unit] == side) found[levels[unit]].push_back(cluster);
    }
    return found;
  }

  // The gain of each level from being on the accelerator. Exact without residency, since what
  // enters and leaves one part does not depend on which others are kept.
  std::vector<double> part_gains() {
    const std::vector<std::uint32_t>& levels = current_levels();
    std::vector<double> gains(scorer_.level_count(), -problem_.launch_us);
    for (std::uint32_t unit = 0; unit < sides_.size(); ++unit) {
      gains[levels[unit]] += problem_.cpu_us[unit] - problem_.acc_us[unit];
    }
    std::vector<double> in(gains.size(), 0);
    std::vector<double> out(gains.size(), 0);
    std::vector<std::uint32_t> seen(gains.size(), 0);
    for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
      const double us = std::max(problem_.crossing_us[value], 0.0);
      const std::uint32_t maker = problem_.producer[value];
      const std::uint32_t home = maker == kHost ? kNowhere : levels[maker];
      bool leaves = problem_.host_reads[value] != 0;
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        const std::uint32_t level = levels[reader];
        if (level == home) continue;
        leaves = true;
        if (seen[level] == value + 1) continue;
        seen[level] = value + 1;
        in[level] += us;
      }
      if (leaves && home != kNowhere) out[home] += us;
    }
    for (std::size_t level = 0; level < gains.size(); ++level) {
      const bool is_half = problem_.duplex == Duplex::half;
      gains[level] -= is_half ? in[level] + out[level] : std::max(in[level], out[level]);
    }
    return gains;
  }

  bool drop_losing_parts() {
    const std::vector<double> gains = part_gains();
    const auto parts = clusters_by_level(1);
    std::vector<std::uint32_t> losing;
    for (std::size_t level = 0; level < parts.size(); ++level) {
      if (gains[level] < 0) losing.insert(losing.end(), parts[level].begin(), parts[level].end());
    }
    return try_flip(losing);
  }

  // Drops parts one by one, the least valuable first.
  bool drop_parts() {
    const std::vector<double> gains = part_gains();
    const auto parts = clusters_by_level(1);
    std::vector<std::size_t> order(parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return gains[a] < gains[b]; });
    return std::count_if(order.begin(), order.end(),
                         [&](std::size_t level) { return try_flip(parts[level]); }) > 0;
  }

  bool merge_parts() {
    const auto between = clusters_by_level(0);
    return std::count_if(between.begin(), between.end(),
                         [&](const auto& clusters) { return try_flip(clusters); }) > 0;
  }

  // Moves all parts up to one, or from one on, to the CPU.
  bool flip_ends() {
    bool is_better = false;
    for (const bool first : {true, false}) {
      auto parts = clusters_by_level(1);
      if (first) std::reverse(parts.begin(), parts.end());
      std::vector<std::uint32_t> all;
      for (const auto& part : parts) {
        all.insert(all.end(), part.begin(), part.end());
        if (part.empty()) continue;
        if (try_flip(all)) {
          is_better = true;
          all.clear();
        }
      }
    }
    return is_better;
  }

  // Free clusters on one side, grouped into pieces connected by values.
  std::vector<Piece> pieces(std::uint8_t side) {
    const std::vector<std::uint32_t>& levels = current_levels();
    std::vector<std::uint32_t> parent(clusters_.allowed.size());
    std::iota(parent.begin(), parent.end(), 0U);
    const auto find = [&](std::uint32_t item) {
      while (parent[item] != item) item = parent[item] = parent[parent[item]];
      return item;
    };
    const auto counts = [&](std::uint32_t unit) {
      return sides_[unit] == side && is_free(clusters_.of[unit]);
    };
    for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
      const std::uint32_t maker = problem_.producer[value];
      if (maker == kHost || !counts(maker)) continue;
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        if (!counts(reader) || levels[reader] != levels[maker]) continue;
        const std::uint32_t a = find(clusters_.of[maker]);
        const std::uint32_t b = find(clusters_.of[reader]);
        parent[std::max(a, b)] = std::min(a, b);
      }
    }
    std::vector<Piece> found;
    std::vector<std::uint32_t> piece_of(parent.size(), kNowhere);
    for (std::uint32_t cluster = 0; cluster < parent.size(); ++cluster) {
      if (!counts(clusters_.members.of(cluster).front())) continue;
      std::uint32_t& piece = piece_of[find(cluster)];
      if (piece == kNowhere) {
        piece = static_cast<std::uint32_t>(found.size());
        found.emplace_back();
      }
      found[piece].clusters.push_back(cluster);
      found[piece].gain_us += compute_gain(cluster);
    }
    return found;
  }

  // The change in the nodes' times when the cluster changes sides.
  double compute_gain(std::uint32_t cluster) const {
    double gain = 0;
    for (const std::uint32_t unit : clusters_.members.of(cluster)) {
      const double us = problem_.acc_us[unit] - problem_.cpu_us[unit];
      gain += sides_[unit] != 0 ? us : -us;
    }
    return gain;
  }

  // Tries the most promising pieces first.
  bool flip_pieces(std::uint8_t side) {
    std::vector<Piece> found = pieces(side);
    std::stable_sort(found.begin(), found.end(),
                     [](const Piece& a, const Piece& b) { return a.gain_us > b.gain_us; });
    return std::count_if(found.begin(), found.end(),
                         [&](const Piece& piece) { return try_flip(piece.clusters); }) > 0;
  }

  // Tries free clusters that make or read a value that crosses.
  bool move_clusters() {
    std::vector<std::uint8_t> is_border(clusters_.allowed.size(), 0);
    for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
      const std::uint32_t maker = problem_.producer[value];
      const bool made_on_acc = maker != kHost && sides_[maker] != 0;
      bool crosses = made_on_acc && problem_.host_reads[value] != 0;
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        crosses = crosses || (sides_[reader] != 0) != made_on_acc;
      }
      if (!crosses) continue;
      if (maker != kHost) is_border[clusters_.of[maker]] = 1;
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        is_border[clusters_.of[reader]] = 1;
      }
    }
    bool is_better = false;
    for (std::uint32_t cluster = 0; cluster < is_border.size() && has_effort(); ++cluster) {
      if (is_border[cluster] == 0 || !is_free(cluster)) continue;
      is_better = try_flip(std::span(&cluster, 1)) || is_better;
    }
    return is_better;
  }

  PlacementScorer& scorer_;
  ChangedScore* changed_;
  const PlacementProblem& problem_;
  const Clusters& clusters_;
  KnownTotals& known_;
  SearchBudget& effort_;
  Sides sides_;
  double total_us_;
  bool has_levels_ = false;  // the scorer's levels are those of sides_
};

}  // namespace

PlacementResult search_placement(const SearchTools& tools, Sides sides, SearchBudget& effort) {
  return Search(tools, std::move(sides), effort).run();
}

// ---- changed score ----

namespace {}  // namespace

bool ChangedScore::serves(const PlacementProblem& problem) {
  return problem.residency == Residency::off && problem.duplex == Duplex::half;
}

ChangedScore::ChangedScore(const PlacementScorer& scorer)
    : problem_(scorer.problem()),
      position_of_(scorer.order().size()),
      units_(scorer.order()),
      penalty_us_(scorer.penalty_us()),
      most_before_(units_.size() + 1, 0),
      most_from_(units_.size() + 1, 0),
      last_read_before_(units_.size() + 1, 0),
      sides_(units_.size(), 0),
      levels_(units_.size(), 0),
      seen_level_(units_.size() + 2, 0) {
  add_units(scorer);
  add_values();
}

void ChangedScore::add_units(const PlacementScorer& scorer) {
  const auto count = static_cast<std::uint32_t>(units_.size());
  for (std::uint32_t position = 0; position < count; ++position) {
    position_of_[units_[position]] = position;
  }
  Adjacency readers;
  for (std::uint32_t position = 0; position < count; ++position) {
    last_reader_.push_back(0);
    for (const std::uint32_t value : scorer.outputs().of(units_[position])) {
      for (const std::uint32_t reader : problem_.readers.of(value)) {
        readers.add(position_of_[reader]);
        last_reader_.back() = std::max(last_reader_.back(), position_of_[reader]);
      }
    }
    readers.end_list();
  }
  makers_ = reversed(readers);
  while (source_count_ < count && makers_.of(source_count_).empty()) ++source_count_;
}

void ChangedScore::add_values() {
  Adjacency users;  // by value: its maker and its readers
  for (std::uint32_t value = 0; value < problem_.value_count(); ++value) {
    if (problem_.crossing_us[value] <= 0) continue;
    const std::uint32_t unit = problem_.producer[value];
    const std::uint32_t maker = unit == kHost ? kHost : position_of_[unit];
    values_.push_back({problem_.crossing_us[value], maker, 0, problem_.host_reads[value] != 0});
    if (maker != kHost) users.add(maker);
    for (const std::uint32_t reader : problem_.readers.of(value)) {
      readers_.add(position_of_[reader]);
      users.add(position_of_[reader]);
      values_.back().last_reader = std::max(values_.back().last_reader, position_of_[reader]);
    }
    readers_.end_list();
    users.end_list();
  }
  values_of_ = reversed(users, units_.size());
  for (std::uint32_t position = 0; position < units_.size(); ++position) {
    std::uint32_t& last = last_read_before_[position + 1];
    last = std::max(last_read_before_[position], last_reader_[position]);
    for (const std::uint32_t value : values_of_.of(position)) {
      if (values_[value].maker == kHost) last = std::max(last, values_[value].last_reader);
    }
  }
  costs_.assign(values_.size(), 0);
  seen_value_.assign(values_.size(), 0);
}

void ChangedScore::set(const Sides& sides) {
  for (std::uint32_t unit = 0; unit < sides.size(); ++unit) {
    sides_[position_of_[unit]] = sides[unit];
  }
  keep();
}

// All anew, so that no rounding of single steps adds up.
void ChangedScore::keep() {
  const auto count = static_cast<std::uint32_t>(sides_.size());
  end_ = count;
  shift_ = 0;
  units_us_ = 0;
  sources_on_cpu_ = 0;
  for (std::uint32_t position = 0; position < count; ++position) {
    levels_[position] = find_level(position);
    most_before_[position + 1] = std::max(most_before_[position], levels_[position]);
    const std::uint32_t unit = units_[position];
    units_us_ += sides_[position] != 0 ? problem_.acc_us[unit] : problem_.cpu_us[unit];
    if (position < source_count_ && sides_[position] == 0) ++sources_on_cpu_;
  }
  for (std::uint32_t position = count; position > 0; --position) {
    most_from_[position - 1] = std::max(most_from_[position], levels_[position - 1]);
  }
  link_us_ = 0;
  for (std::uint32_t value = 0; value < values_.size(); ++value) {
    link_us_ += costs_[value] = crossing_us(value);
  }
  kept_levels_ = levels_;
  changed_units_us_ = units_us_;
  flipped_.clear();
}

void ChangedScore::flip(std::uint32_t unit) {
  const std::uint32_t position = position_of_[unit];
  const double gain = problem_.acc_us[unit] - problem_.cpu_us[unit];
  const bool was_on_acc = sides_[position] != 0;
  changed_units_us_ += was_on_acc ? -gain : gain;
  if (position < source_count_) sources_on_cpu_ += was_on_acc ? 1U : ~0U;
  sides_[position] ^= 1U;
  first_ = flipped_.empty() ? position : std::min(first_, position);
  last_ = flipped_.empty() ? position : std::max(last_, position);
  flipped_.push_back(position);
}

// The level of a unit whose makers have theirs. The CPU's levels are even.
std::uint32_t ChangedScore::find_level(std::uint32_t position) const {
  const std::uint32_t side = sides_[position];
  std::uint32_t level = side;
  for (const std::uint32_t maker : makers_.of(position)) {
    level = std::max(level, levels_[maker] + ((levels_[maker] & 1U) ^ side));
  }
  return level;
}

// Ends where all makers of values that are still to be read moved by as much, and none of them
// changed sides: units that are not sources then move as their makers do.
void ChangedScore::find_levels() {
  std::uint32_t still_read = last_read_before_[first_];  // by whom: of those that did not move
  std::uint32_t moved_read = 0;                          // of those that moved by shift_
  std::uint32_t others_read = 0;                         // of those that moved otherwise
  shift_ = 0;
  const std::uint32_t must_end = std::max(last_ + 1, source_count_);
  for (end_ = first_; end_ < sides_.size(); ++end_) {
    if (end_ >= must_end && others_read < end_ && (still_read < end_ || moved_read < end_)) {
      if (moved_read < end_) shift_ = 0;
      return;
    }
    levels_[end_] = find_level(end_);
    const std::uint32_t moved = levels_[end_] - kept_levels_[end_];
    if (moved == 0) {
      still_read = std::max(still_read, last_reader_[end_]);
      continue;
    }
    if ((moved & 1U) != 0) {
      others_read = std::max(others_read, last_reader_[end_]);
      continue;
    }
    if (moved != shift_) {
      others_read = std::max(others_read, moved_read);
      moved_read = 0;
      shift_ = moved;
    }
    moved_read = std::max(moved_read, last_reader_[end_]);
  }
}

double ChangedScore::total_us() {
  find_levels();
  std::uint32_t most_level = most_before_[first_];
  double link_us = link_us_;
  const std::uint64_t begin = visit_;
  for (std::uint32_t position = first_; position < end_; ++position) {
    most_level = std::max(most_level, levels_[position]);
    const bool has_moved = levels_[position] != kept_levels_[position];
    if (!has_moved && shift_ == 0) continue;
    for (const std::uint32_t value : values_of_.of(position)) {
      // Units from end_ on have all moved alike: a value of one that stayed may cross anew only if they
      // read it.
      if (!has_moved && values_[value].last_reader < end_) continue;
      if (seen_value_[value] > begin) continue;
      link_us += crossing_us(value) - costs_[value];
      seen_value_[value] = visit_;
    }
  }
  if (end_ < sides_.size()) most_level = std::max(most_level, most_from_[end_] + shift_);
  return changed_units_us_ + link_us + launches_us(most_level);
}

// Levels alternate, and a unit's is one above a maker's or one of the first two: none is left out
// between the first and the last.
double ChangedScore::launches_us(std::uint32_t most_level) const {
  const std::uint32_t on_acc = (most_level + 1) / 2;
  const std::uint32_t on_cpu = most_level / 2 + (sources_on_cpu_ > 0 ? 1 : 0);
  double us = problem_.launch_us * on_acc + problem_.cpu_launch_us * on_cpu;
  if (on_acc > problem_.most_parts) {
    us += penalty_us_ * static_cast<double>(on_acc - problem_.most_parts);
  }
  return us;
}

// Once into each accelerator part that reads the value from elsewhere, and once out of its own.
double ChangedScore::crossing_us(std::uint32_t index) {
  const Value& value = values_[index];
  const std::uint32_t home = value.maker == kHost ? 0 : level(value.maker);
  const bool is_made_on_acc = (home & 1U) != 0;
  bool leaves = is_made_on_acc && value.host_reads;
  std::uint32_t entries = 0;
  ++visit_;
  for (const std::uint32_t reader : readers_.of(index)) {
    const std::uint32_t at = level(reader);
    if (at == home) continue;
    leaves = leaves || is_made_on_acc;
    if ((at & 1U) == 0 || seen_level_[at] == visit_) continue;
    seen_level_[at] = visit_;
    ++entries;
  }
  return value.us * (entries + (leaves ? 1 : 0));
}

void ChangedScore::undo() {
  for (const std::uint32_t position : flipped_) {
    sides_[position] ^= 1U;
    if (position < source_count_) sources_on_cpu_ += sides_[position] == 0 ? 1U : ~0U;
  }
  std::copy(kept_levels_.begin() + first_, kept_levels_.begin() + end_, levels_.begin() + first_);
  changed_units_us_ = units_us_;
  flipped_.clear();
}

// ---- placement ----
//
// Steps:
// 1. find the clusters of units that must be on one side;
// 2. if few of them are free, try all choices; otherwise
// 3. search locally from minimum cuts at several charges, from all on the CPU, and from all on the
//    accelerator, from the result without residency or over a half-duplex link, then from random
//    changes of the best placement;
// 4. bound the time from below by minimum cuts, which may prove the placement optimal.

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
