#include "core/balance/moves.h"

#include <algorithm>
#include <utility>

namespace cleave::balance {

StageState::StageState(const Instance& instance, const Candidate& candidate,
                       std::vector<double> reserve)
    : instance_(instance),
      reserve_(std::move(reserve)),
      sums_(candidate.kind_of_stage.size()),
      stage_of_(candidate.stage_of),
      members_(candidate.kind_of_stage.size()),
      place_(instance.size(), 0),
      pins_in_(instance.net_count() * members_.size(), 0),
      users_in_(instance.problem->shared_bytes.size() * members_.size(), 0) {
  for (const std::uint32_t kind : candidate.kind_of_stage) {
    kinds_.push_back(&instance.fleet->kinds()[kind]);
  }
  for (std::uint32_t net = 0; net < instance.net_count(); ++net) {
    for (const std::uint32_t group : instance.pins.of(net)) ++pins_in(net, stage_of_[group]);
    for (std::uint32_t stage = 0; stage < stage_count(); ++stage) count_net(net, stage, 1);
  }
  for (std::uint32_t group = 0; group < instance.size(); ++group) add(group, stage_of_[group]);
}

StageState::Range StageState::range_of(std::uint32_t group) const {
  Range range{0, stage_count() - 1};
  for (const std::uint32_t other : instance_.predecessors.of(group)) {
    range.first = std::max(range.first, stage_of_[other]);
  }
  for (const std::uint32_t other : instance_.successors.of(group)) {
    range.last = std::min(range.last, stage_of_[other]);
  }
  return range;
}

void StageState::count_net(std::uint32_t net, std::uint32_t stage, double sign) {
  const std::uint32_t inside = pins_in(net, stage);
  if (inside == 0 || inside == instance_.pins.of(net).size()) return;
  const bool is_home = stage_of_[instance_.net_home[net]] == stage;
  (is_home ? sums_[stage].out : sums_[stage].in) += sign * instance_.net_cost[net];
}

void StageState::move(std::uint32_t group, std::uint32_t to) {
  const std::uint32_t from = stage_of_[group];
  for (const std::uint32_t net : instance_.nets_of.of(group)) {
    count_net(net, from, -1);
    count_net(net, to, -1);
  }
  remove(group);
  stage_of_[group] = to;
  add(group, to);
  for (const std::uint32_t net : instance_.nets_of.of(group)) {
    --pins_in(net, from);
    ++pins_in(net, to);
    count_net(net, from, 1);
    count_net(net, to, 1);
  }
}

void StageState::add(std::uint32_t group, std::uint32_t stage) {
  Sums& sums = sums_[stage];
  sums.time += instance_.time[group];
  sums.host_time += instance_.host_time[group];
  sums.bytes += instance_.bytes[group];
  for (const std::uint32_t shared : instance_.shared.of(group)) {
    if (users_in(shared, stage)++ == 0) sums.bytes += instance_.problem->shared_bytes[shared];
  }
  place_[group] = static_cast<std::uint32_t>(members_[stage].size());
  members_[stage].push_back(group);
}

void StageState::remove(std::uint32_t group) {
  const std::uint32_t stage = stage_of_[group];
  Sums& sums = sums_[stage];
  sums.time -= instance_.time[group];
  sums.host_time -= instance_.host_time[group];
  sums.bytes -= instance_.bytes[group];
  for (const std::uint32_t shared : instance_.shared.of(group)) {
    if (--users_in(shared, stage) == 0) sums.bytes -= instance_.problem->shared_bytes[shared];
  }
  members_[stage][place_[group]] = members_[stage].back();
  place_[members_[stage].back()] = place_[group];
  members_[stage].pop_back();
}

}  // namespace cleave::balance
