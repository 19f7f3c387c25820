// Steps of one round, each of which keeps a change only if the time falls:
// 1. drop accelerator partitions that lose, then single ones, the least valuable first;
// 2. move connected pieces to the CPU;
// 3. merge partitions by moving the CPU nodes between them;
// 4. move connected pieces to the accelerator;
// 5. drop partitions from either end;
// 6. move single clusters at the border.
// Rounds repeat until none helps.
#include "core/placement/search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace cleave {
namespace {

constexpr auto kHost = PlacementProblem::kHost;
constexpr auto kNowhere = std::numeric_limits<std::uint32_t>::max();

// Clusters that can change sides together, and the gain this seems to bring, without launches.
struct Piece {
  std::vector<std::uint32_t> clusters;
  double gain_us = 0;
};

class Search {
 public:
  Search(PlacementScorer& scorer, const Clusters& clusters, Sides sides, SearchBudget& effort)
      : scorer_(scorer),
        problem_(scorer.problem()),
        clusters_(clusters),
        effort_(effort),
        sides_(std::move(sides)),
        score_(scorer.score(sides_)) {}

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
    return {std::move(sides_), score_};
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

  // Changes sides if the time falls. Afterwards the levels belong to the new placement, or to one
  // that was not kept: callers that need levels must score again.
  bool try_flip(std::span<const std::uint32_t> clusters) {
    if (clusters.empty() || !has_effort()) return false;
    effort_.left -= scorer_.size();
    ++effort_.moves;
    flip(clusters);
    const PlacementScore score = scorer_.score(sides_);
    if (score.total_us < score_.total_us - 1e-9 * score_.total_us) {
      score_ = score;
      return true;
    }
    flip(clusters);
    return false;
  }

  std::vector<std::uint32_t> current_levels() {
    scorer_.score(sides_);
    return scorer_.levels();
  }

  // For each level the free clusters on this side in it.
  std::vector<std::vector<std::uint32_t>> clusters_by_level(std::uint8_t side) {
    const std::vector<std::uint32_t> levels = current_levels();
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
    const std::vector<std::uint32_t> levels = current_levels();
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
    const std::vector<std::uint32_t> levels = current_levels();
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
  const PlacementProblem& problem_;
  const Clusters& clusters_;
  SearchBudget& effort_;
  Sides sides_;
  PlacementScore score_;
};

}  // namespace

PlacementResult search_placement(PlacementScorer& scorer, const Clusters& clusters, Sides sides,
                                 SearchBudget& effort) {
  return Search(scorer, clusters, std::move(sides), effort).run();
}

}  // namespace cleave
