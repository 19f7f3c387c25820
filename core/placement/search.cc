#include "core/placement/search.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "core/placement/changed_score.h"

namespace cleave {

// Steps of score():
// 1. find the level of each unit (problem.h);
// 2. sum the times of units on their sides;
// 3. count the launches, one for each level on the accelerator;
// 4. sum the transfers of values that cross.

namespace {

constexpr auto kHost = PlacementProblem::kHost;

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

}  // namespace cleave
