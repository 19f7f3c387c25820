// Placement of several phases of one model at once.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/min_cut.h"
#include "core/devices/devices.h"
#include "core/devices/search.h"

namespace cleave {

namespace {

// Rounds in which each phase is searched anew beside the others. Each makes the sum less, so they end by
// themselves: on 400 random problems the third never did.
constexpr int kMostRounds = 4;

double least_of_devices(const DeviceProblem& problem, std::uint32_t unit) {
  double least = std::numeric_limits<double>::infinity();
  for (DeviceIndex device = 0; device <= problem.host(); ++device) {
    if (problem.accepts(device, unit)) least = std::min(least, problem.cost(unit, device));
  }
  return least;
}

DevicePlacement scored_placement(const DeviceProblem& problem, const Devices& devices) {
  DeviceScorer scorer(problem);
  DevicePlacement best;
  for (const DeviceIndex first : {problem.host(), DeviceIndex{0}}) {  // of one target, which begins
    if (first != problem.host() && problem.device_count() > 2) break;
    DevicePlacement placement{
        .devices = devices, .rounds = scorer.rounds(devices, first), .first = first, .score = {}};
    placement.score = scorer.score(devices, placement.rounds);
    const auto cost = [](const DeviceScore& score) { return score.total + score.penalty; };
    if (!best.devices.empty() && cost(placement.score) >= cost(best.score)) continue;
    best = std::move(placement);
  }
  return best;
}

class PhasesPlacer {
 public:
  PhasesPlacer(const PhasesProblem& problem, const DeviceEffort& effort)
      : problem_(problem), effort_(effort) {
    for (const DeviceProblem& phase : problem.phases) links_.emplace_back(phase);
  }

  PhasesPlacement run() {
    for (std::size_t i = 0; i < problem_.phases.size(); ++i) {
      best_.phases.push_back(find_placement(problem_.phases[i], effort_));
      best_.bound += problem_.runs[i] * best_.phases[i].bound;
    }
    best_.total = std::numeric_limits<double>::infinity();
    improve(devices_of(best_.phases));
    for (DeviceIndex device = 0; device <= problem_.phases.front().host(); ++device) {
      std::vector<Devices> all;
      for (const DeviceProblem& phase : problem_.phases) {
        all.push_back(place_in_order(phase, {device}));
      }
      take(all);
    }
    // Two devices are one minimum cut. More are not, so all phases are then searched as one problem. Either is only a
    // start: take() scores by the phases' own problems, so what these leave out cannot make the result worse.
    const bool is_of_two = problem_.phases.front().device_count() == 2;
    improve(is_of_two ? joint_cut() : placed_as_one());
    improve(devices_of(best_.phases));
    return std::move(best_);
  }

 private:
  static std::vector<Devices> devices_of(const std::vector<DevicePlacement>& placements) {
    std::vector<Devices> devices;
    for (const DevicePlacement& placement : placements) devices.push_back(placement.devices);
    return devices;
  }

  // The cost of handing one byte from a device to another. The links are those of the phase that reads it.
  double handover_cost(std::size_t phase, DeviceIndex from, DeviceIndex to) const {
    if (from == to) return 0;
    const LinkCosts& links = links_[phase];
    const double by_host = links.up(from) + links.down(to);
    return links.is_direct(from, to) ? std::min(by_host, links.direct(from, to)) : by_host;
  }

  // The phase's problem, in which units that hand state over pay for where the others are.
  DeviceProblem beside(std::size_t phase, const std::vector<Devices>& devices) const {
    DeviceProblem own = problem_.phases[phase];
    for (const Handover& state : problem_.handovers) {
      const auto add = [&](std::uint32_t unit, auto cost_on) {
        for (DeviceIndex device = 0; device <= own.host(); ++device) {
          double& cost = own.unit_costs[unit * own.device_count() + device];
          if (cost >= 0) cost += state.bytes * cost_on(device) / problem_.runs[phase];
        }
      };
      if (state.from_phase == phase) {
        const DeviceIndex to = devices[state.to_phase][state.to_unit];
        add(state.from_unit,
            [&](DeviceIndex device) { return handover_cost(state.to_phase, device, to); });
      }
      if (state.to_phase == phase) {
        const DeviceIndex from = devices[state.from_phase][state.from_unit];
        add(state.to_unit, [&](DeviceIndex device) { return handover_cost(phase, from, device); });
      }
    }
    return own;
  }

  double handovers_of(const std::vector<Devices>& devices) const {
    double sum = 0;
    for (const Handover& state : problem_.handovers) {
      sum += state.bytes * handover_cost(state.to_phase, devices[state.from_phase][state.from_unit],
                                         devices[state.to_phase][state.to_unit]);
    }
    return sum;
  }

  void improve(std::vector<Devices> devices) {
    double before = take(devices);
    for (int round = 0; round < kMostRounds && !problem_.handovers.empty(); ++round) {
      for (std::size_t phase = 0; phase < devices.size(); ++phase) {
        devices[phase] = find_placement(beside(phase, devices), effort_, {devices[phase]}).devices;
      }
      const double total = take(devices);
      if (total >= before * (1 - 1e-9)) return;
      before = total;
    }
  }

  // Keeps the placements if they cost less than the best; returns what they cost.
  double take(const std::vector<Devices>& devices) {
    std::vector<DevicePlacement> placements;
    double total = handovers_of(devices);
    for (std::size_t phase = 0; phase < devices.size(); ++phase) {
      placements.push_back(scored_placement(problem_.phases[phase], devices[phase]));
      const DeviceScore& score = placements.back().score;
      total += problem_.runs[phase] * (score.total + score.penalty);
      placements.back().bound = best_.phases[phase].bound;
    }
    if (total < best_.total * (1 - 1e-12)) {
      best_.total = total;
      best_.phases = std::move(placements);
    }
    return total;
  }

  // All phases as one problem, in which states that are handed over are values. Parts of different phases are one there,
  // where they run on one device, so a launch costs its mean.
  std::vector<Devices> placed_as_one() const {
    DeviceProblem one;
    const DeviceProblem& first = problem_.phases.front();
    one.targets = first.targets;
    one.links = first.links;
    one.residency = first.residency;
    const auto count = static_cast<double>(problem_.phases.size());
    for (std::size_t p = 0; p < problem_.phases.size(); ++p) {
      one.host_launch_cost += problem_.runs[p] * problem_.phases[p].host_launch_cost / count;
    }
    for (std::size_t i = 0; i < one.targets.size(); ++i) {
      DeviceTarget& target = one.targets[i];
      // Limits are of each phase, and would be too narrow for the sum. improve() holds each phase to its own.
      target.most_parts = std::numeric_limits<std::size_t>::max();
      target.memory.reset();
      target.launch_cost = 0;
      for (std::size_t p = 0; p < problem_.phases.size(); ++p) {
        target.launch_cost += problem_.runs[p] * problem_.phases[p].targets[i].launch_cost / count;
      }
    }
    std::vector<std::uint32_t> begin;  // by phase
    std::uint32_t units = 0;
    for (const DeviceProblem& phase : problem_.phases) {
      begin.push_back(units);
      units += static_cast<std::uint32_t>(phase.unit_count());
    }
    const auto add_value = [&](std::uint32_t producer, double bytes, std::uint8_t host_reads) {
      one.readers.end_list();
      one.producer.push_back(producer);
      one.bytes.push_back(bytes);
      one.host_reads.push_back(host_reads);
      one.later_readers.push_back(-1);
    };
    for (std::size_t p = 0; p < begin.size(); ++p) {
      const DeviceProblem& phase = problem_.phases[p];
      for (const double cost : phase.unit_costs) {
        // Below 0 is a device that refuses the unit, whatever the runs.
        one.unit_costs.push_back(cost < 0 ? cost : cost * problem_.runs[p]);
      }
      for (std::uint32_t unit = 0; unit < phase.unit_count(); ++unit) {
        one.stays_with.push_back(begin[p] +
                                 (phase.stays_with.empty() ? unit : phase.stays_with[unit]));
      }
      for (std::uint32_t value = 0; value < phase.value_count(); ++value) {
        const std::uint32_t maker = phase.producer[value];
        for (const std::uint32_t reader : phase.readers.of(value)) {
          one.readers.add(begin[p] + reader);
        }
        add_value(maker == DeviceProblem::kHost ? maker : begin[p] + maker,
                  phase.bytes[value] * problem_.runs[p], phase.host_reads[value]);
        if (phase.is_state(value)) one.later_readers.back() = phase.later_readers[value];
      }
    }
    // Not by the runs: a state is handed over once.
    for (const Handover& state : problem_.handovers) {
      one.readers.add(begin[state.to_phase] + state.to_unit);
      add_value(begin[state.from_phase] + state.from_unit, state.bytes, 0);
    }
    const Devices found = find_placement(one, effort_).devices;
    std::vector<Devices> devices;
    for (std::size_t p = 0; p < begin.size(); ++p) {
      const auto from = found.begin() + begin[p];
      devices.emplace_back(from,
                           from + static_cast<std::ptrdiff_t>(problem_.phases[p].unit_count()));
    }
    return devices;
  }

  // Both devices of all phases by one minimum cut; the source is the target. A launch is an arc from a unit to the
  // one before it in the order of the phase: where one is on the target and the other is not, a part begins. That is
  // exact where units are a chain.
  std::vector<Devices> joint_cut() const {
    MinCut cut;
    std::vector<std::vector<std::uint32_t>> nodes(problem_.phases.size());
    for (std::size_t p = 0; p < nodes.size(); ++p) {
      for (std::size_t i = 0; i < problem_.phases[p].unit_count(); ++i) {
        nodes[p].push_back(cut.add_node());
      }
    }
    for (std::size_t p = 0; p < nodes.size(); ++p) add_phase(cut, p, nodes[p]);
    for (const Handover& state : problem_.handovers) {
      const std::uint32_t from = nodes[state.from_phase][state.from_unit];
      const std::uint32_t to = nodes[state.to_phase][state.to_unit];
      cut.add_arc(from, to, state.bytes * handover_cost(state.to_phase, 0, 1),
                  state.bytes * handover_cost(state.to_phase, 1, 0));
    }
    const auto is_on_target = std::move(cut).solve();
    std::vector<Devices> devices;
    for (std::size_t p = 0; p < nodes.size(); ++p) {
      const DeviceProblem& phase = problem_.phases[p];
      Devices& own = devices.emplace_back();
      for (std::uint32_t unit = 0; unit < nodes[p].size(); ++unit) {
        const DeviceIndex device = is_on_target[nodes[p][unit]] ? 0 : 1;
        own.push_back(phase.accepts(device, unit) ? device : static_cast<DeviceIndex>(1 - device));
      }
    }
    return devices;
  }

  void add_phase(MinCut& cut, std::size_t p, const std::vector<std::uint32_t>& nodes) const {
    const DeviceProblem& phase = problem_.phases[p];
    const LinkCosts& links = links_[p];
    const double runs = problem_.runs[p];
    double all = 1;  // more than any cut
    for (std::uint32_t unit = 0; unit < nodes.size(); ++unit) {
      for (const double cost : {phase.cost(unit, 0), phase.cost(unit, 1)}) {
        all += runs * std::max(cost, 0.0);
      }
    }
    for (std::uint32_t unit = 0; unit < nodes.size(); ++unit) {
      const double least = least_of_devices(phase, unit);
      const auto cost_on = [&](DeviceIndex device) {
        return phase.accepts(device, unit) ? runs * (phase.cost(unit, device) - least) : all;
      };
      cut.add_source_arc(nodes[unit], cost_on(1));
      cut.add_sink_arc(nodes[unit], cost_on(0));
      if (!phase.stays_with.empty() && phase.stays_with[unit] != unit) {
        cut.add_arc(nodes[unit], nodes[phase.stays_with[unit]], kUncut, kUncut);
      }
    }
    for (std::uint32_t value = 0; value < phase.value_count(); ++value) {
      const std::uint32_t maker = phase.producer[value];
      const double bytes = runs * phase.bytes[value];
      const auto readers = phase.readers.of(value);
      if (bytes <= 0) continue;
      if (!readers.empty()) {  // down: the host makes it, and any reader is on the target
        const std::uint32_t down = cut.add_node();
        for (const std::uint32_t reader : readers) cut.add_arc(nodes[reader], down, kUncut);
        if (maker == DeviceProblem::kHost) {
          cut.add_sink_arc(down, bytes * links.down(0));
        } else {
          cut.add_arc(down, nodes[maker], bytes * links.down(0));
        }
      }
      if (maker == DeviceProblem::kHost) continue;
      if (phase.host_reads[value] != 0) {
        cut.add_sink_arc(nodes[maker], bytes * links.up(0));
      } else if (!readers.empty()) {  // up: the target makes it, and any reader is on the host
        const std::uint32_t up = cut.add_node();
        cut.add_arc(nodes[maker], up, bytes * links.up(0));
        for (const std::uint32_t reader : readers) cut.add_arc(up, nodes[reader], kUncut);
      }
    }
    const DeviceScorer scorer(phase);
    const std::vector<std::uint32_t>& order = scorer.order();
    if (!order.empty()) cut.add_sink_arc(nodes[order[0]], runs * links.launch(0));
    for (std::size_t i = 1; i < order.size(); ++i) {
      cut.add_arc(nodes[order[i]], nodes[order[i - 1]], runs * links.launch(0),
                  runs * phase.host_launch_cost);
    }
  }

  const PhasesProblem& problem_;
  const DeviceEffort& effort_;
  std::vector<LinkCosts> links_;  // by phase
  PhasesPlacement best_;
};

}  // namespace

PhasesPlacement find_phases_placement(const PhasesProblem& problem, const DeviceEffort& effort) {
  return PhasesPlacer(problem, effort).run();
}

}  // namespace cleave
