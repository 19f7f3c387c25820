#include "core/placement/changed_score.h"

#include <algorithm>

namespace cleave {
namespace {

constexpr auto kHost = PlacementProblem::kHost;

}  // namespace

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

}  // namespace cleave
