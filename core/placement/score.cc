// Steps of score():
// 1. find the level of each unit (problem.h);
// 2. sum the times of units on their sides;
// 3. count the launches, one for each level on the accelerator;
// 4. sum the transfers of values that cross.
#include "core/placement/score.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace cleave {
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
  double sum = 1 + problem.launch_us * static_cast<double>(problem.unit_count());
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
  used_.assign(level_count_, 0);
  for (std::uint32_t unit = 0; unit < sides.size(); ++unit) {
    if (sides[unit] != 0) used_[levels_[unit]] = 1;
  }
  score.launches = static_cast<std::size_t>(std::count(used_.begin(), used_.end(), 1));
  score.launch_us = problem_.launch_us * static_cast<double>(score.launches);
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

}  // namespace cleave
