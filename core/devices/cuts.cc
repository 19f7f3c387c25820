#include "core/devices/cuts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/min_cut.h"
#include "core/placement/problem.h"

namespace cleave {
namespace {

constexpr auto kStays = std::numeric_limits<std::uint32_t>::max();  // the sink
constexpr auto kMoves = kStays - 1;                                 // the source

// Builds the network of one expansion. The source's side moves to the device; units that are there
// already are the source, those that do not accept it the sink.
class ExpansionBuilder {
 public:
  ExpansionBuilder(const DeviceProblem& problem, const LinkCosts& links, const Devices& devices,
                   DeviceIndex to, const DeviceCharges& charges)
      : problem_(problem), links_(links), devices_(devices), to_(to), charges_(charges) {}

  Devices run() && {
    add_units();
    for (std::uint32_t value = 0; value < problem_.value_count(); ++value) add_value(value);
    const std::vector<bool> moves = std::move(network_).solve();
    Devices devices = devices_;
    for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
      const std::uint32_t node = node_of_[unit];
      if (is_free(node) && moves[node]) devices[unit] = to_;
    }
    return devices;
  }

 private:
  // Whether a device in question reads a value: it does, or it does if one of `free_` stays or moves.
  enum class Reads { never, always, if_one_stays, if_one_moves };

  static bool is_free(std::uint32_t node) { return node < kMoves; }

  void add_units() {
    network_.reserve(problem_.unit_count(), problem_.readers.items.size());
    for (std::uint32_t unit = 0; unit < problem_.unit_count(); ++unit) {
      if (devices_[unit] == to_ || !problem_.accepts(to_, unit)) {
        node_of_.push_back(devices_[unit] == to_ ? kMoves : kStays);
        continue;
      }
      node_of_.push_back(network_.add_node());
      network_.add_source_arc(node_of_.back(), problem_.cost(unit, devices_[unit]));
      network_.add_sink_arc(node_of_.back(), problem_.cost(unit, to_));
    }
  }

  void add_value(std::uint32_t value) {
    const std::uint32_t unit = problem_.producer[value];
    maker_ = unit == DeviceProblem::kHost ? kStays : node_of_[unit];
    const DeviceIndex home = unit == DeviceProblem::kHost ? problem_.host() : devices_[unit];
    value_ = value;
    present_ = 1U << to_;
    if (problem_.host_reads[value] != 0) present_ |= 1U << problem_.host();
    for (const std::uint32_t reader : problem_.readers.of(value)) {
      present_ |= 1U << devices_[reader];
    }
    for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
      if ((present_ >> device & 1U) == 0) continue;
      add_charge(into(home, device), into(to_, device), reads(1U << device));
    }
    if (maker_ != kMoves) add_charge(up(home), 0, reads(through_host(home)));
    if (maker_ != kStays) add_charge(0, up(to_), reads(through_host(to_)));
  }

  double up(DeviceIndex home) const {
    return charges_.link * problem_.bytes[value_] * links_.up(home);
  }

  // The cost of the value on its way into `device`, when it was made at `home`.
  double into(DeviceIndex home, DeviceIndex device) const {
    if (home == device) return 0;
    const double of_byte =
        links_.is_direct(home, device) ? links_.direct(home, device) : links_.down(device);
    return charges_.link * problem_.bytes[value_] * of_byte +
           charges_.launch * links_.launch(device);
  }

  // The devices that a value made at `home` reaches through the host.
  std::uint32_t through_host(DeviceIndex home) const {
    std::uint32_t found = 0;
    for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
      if (device != home && !links_.is_direct(home, device)) found |= 1U << device;
    }
    return found & present_;
  }

  // Whether one of these devices reads the value; sets `free_`.
  Reads reads(std::uint32_t which) {
    free_.clear();
    const bool is_target = (which >> to_ & 1U) != 0;
    if (problem_.host_reads[value_] != 0 && (which >> problem_.host() & 1U) != 0) {
      return Reads::always;
    }
    for (const std::uint32_t reader : problem_.readers.of(value_)) {
      const bool is_read = (which >> devices_[reader] & 1U) != 0;
      const bool can_move = is_free(node_of_[reader]);
      if (is_read && (is_target || !can_move)) return Reads::always;
      if (can_move && is_read != is_target) free_.push_back(node_of_[reader]);
    }
    if (free_.empty()) return Reads::never;
    return is_target ? Reads::if_one_moves : Reads::if_one_stays;
  }

  // Charges one cost if the maker stays, the other if it moves, when the value is read.
  void add_charge(double if_stays, double if_moves, Reads reads) {
    if (reads == Reads::never) return;
    if (maker_ == kStays) if_moves = if_stays;
    if (maker_ == kMoves) if_stays = if_moves;
    const double common = std::min(if_stays, if_moves);
    if_stays -= common;
    if_moves -= common;
    if (common <= 0 && if_stays <= 0 && if_moves <= 0) return;
    if (reads == Reads::always) {
      if (if_stays > 0) network_.add_source_arc(maker_, if_stays);
      if (if_moves > 0) network_.add_sink_arc(maker_, if_moves);
    } else if (reads == Reads::if_one_stays) {
      const std::uint32_t gate = gate_before();
      if (common > 0) network_.add_source_arc(gate, common);
      if (if_moves > 0) network_.add_arc(maker_, gate, if_moves);
      if (if_stays > 0) network_.add_source_arc(maker_, if_stays);  // as if readers stay
    } else {
      const std::uint32_t gate = gate_after();
      if (common > 0) network_.add_sink_arc(gate, common);
      if (if_stays > 0) network_.add_arc(gate, maker_, if_stays);
      // That it costs more where the maker moves, too, does not happen: then it need not cross.
    }
  }

  // A node on the sink's side if one of `free_` is.
  std::uint32_t gate_before() {
    if (free_.size() == 1) return free_.front();
    const std::uint32_t gate = network_.add_node();
    for (const std::uint32_t node : free_) network_.add_arc(gate, node, kUncut);
    return gate;
  }

  // A node on the source's side if one of `free_` is.
  std::uint32_t gate_after() {
    if (free_.size() == 1) return free_.front();
    const std::uint32_t gate = network_.add_node();
    for (const std::uint32_t node : free_) network_.add_arc(node, gate, kUncut);
    return gate;
  }

  const DeviceProblem& problem_;
  const LinkCosts& links_;
  const Devices& devices_;
  const DeviceIndex to_;
  const DeviceCharges charges_;
  MinCut network_;
  std::vector<std::uint32_t> node_of_;  // by unit
  // The value whose nodes and edges are being added:
  std::uint32_t value_ = 0;
  std::uint32_t maker_ = kStays;
  std::uint32_t present_ = 0;        // devices that read it, and the one that units move to
  std::vector<std::uint32_t> free_;  // readers that may move
};

}  // namespace

double charged_cost(const DeviceProblem& problem, const LinkCosts& links, const Devices& devices,
                    const DeviceCharges& charges) {
  double sum = 0;
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    sum += problem.cost(unit, devices[unit]);
  }
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const std::uint32_t maker = problem.producer[value];
    const DeviceIndex home = maker == DeviceProblem::kHost ? problem.host() : devices[maker];
    std::uint32_t readers = problem.host_reads[value] != 0 ? 1U << problem.host() : 0;
    for (const std::uint32_t reader : problem.readers.of(value)) readers |= 1U << devices[reader];
    readers &= ~(1U << home);
    bool goes_up = false;
    double of_byte = 0;
    for (DeviceIndex device = 0; readers >> device != 0; ++device) {
      if ((readers >> device & 1U) == 0) continue;
      const bool is_direct = links.is_direct(home, device);
      goes_up = goes_up || !is_direct;
      of_byte += is_direct ? links.direct(home, device) : links.down(device);
      sum += charges.launch * links.launch(device);
    }
    if (goes_up) of_byte += links.up(home);
    sum += charges.link * problem.bytes[value] * of_byte;
  }
  return sum;
}

Devices expand_device(const DeviceProblem& problem, const LinkCosts& links, const Devices& devices,
                      DeviceIndex to, const DeviceCharges& charges) {
  return ExpansionBuilder(problem, links, devices, to, charges).run();
}

Devices expand_all(const DeviceProblem& problem, const LinkCosts& links, Devices devices,
                   const DeviceCharges& charges, std::size_t most_rounds) {
  double cost = charged_cost(problem, links, devices, charges);
  const std::size_t count = problem.device_count();
  std::size_t in_vain = 0;
  for (std::size_t i = 0; in_vain < count && i < most_rounds * count; ++i, ++in_vain) {
    Devices moved =
        expand_device(problem, links, devices, static_cast<DeviceIndex>(i % count), charges);
    if (moved == devices) continue;
    const double new_cost = charged_cost(problem, links, moved, charges);
    if (new_cost >= cost * (1 - 1e-12)) continue;
    cost = new_cost;
    devices = std::move(moved);
    in_vain = 0;
  }
  return devices;
}

// Steps of the bound:
// 1. the cheapest way in and out of each target, so that its cut charges no more than its share;
// 2. a problem with two sides, of all targets or of one, is what placement's minimum cut solves.

namespace {

struct WayCosts {
  std::vector<double> in, out;  // by target, of a byte
};

// The longer direction of a full-duplex link takes at least half of both.
double share_of_way(const DeviceTarget& target) { return target.duplex == Duplex::half ? 1 : 0.5; }

WayCosts host_ways(const DeviceProblem& problem) {
  WayCosts ways;
  for (const DeviceTarget& target : problem.targets) {
    ways.in.push_back(target.down_cost * share_of_way(target));
    ways.out.push_back(target.up_cost * share_of_way(target));
  }
  return ways;
}

// Half of a direct link is charged to either end.
WayCosts cheapest_ways(const DeviceProblem& problem, const LinkCosts& links) {
  WayCosts ways = host_ways(problem);
  for (DeviceIndex one = 0; one < problem.host(); ++one) {
    for (DeviceIndex other = 0; other < problem.host(); ++other) {
      const double in = links.direct(other, one) * share_of_way(problem.targets[one]) / 2;
      const double out = links.direct(one, other) * share_of_way(problem.targets[other]) / 2;
      if (links.is_direct(other, one)) ways.in[one] = std::min(ways.in[one], in);
      if (links.is_direct(one, other)) ways.out[one] = std::min(ways.out[one], out);
    }
  }
  return ways;
}

// The values of the problem, with units that have no side yet.
PlacementProblem two_sides(const DeviceProblem& problem) {
  PlacementProblem sides;
  sides.cpu_us.assign(problem.unit_count(), 0);
  sides.acc_us.assign(problem.unit_count(), 0);
  sides.allowed.assign(problem.unit_count(), AllowedSides::both);
  sides.producer = problem.producer;
  sides.readers = problem.readers;
  sides.crossing_us = problem.bytes;
  sides.host_reads = problem.host_reads;
  return sides;
}

double cut_of(const PlacementProblem& sides, double in, double out) {
  const CutCharges charges{.in_factor = in, .out_factor = out};
  return cut_cost(sides, min_cut_sides(sides, find_clusters(sides), charges), charges);
}

struct Cheapest {
  DeviceIndex device = 0;
  double cost = 0;
  double next = 0;  // on any other device; infinity: none
};

Cheapest cheapest(const DeviceProblem& problem, std::uint32_t unit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Cheapest found{0, kInfinity, kInfinity};
  for (DeviceIndex device = 0; device <= problem.host(); ++device) {
    const double cost = problem.accepts(device, unit) ? problem.cost(unit, device) : kInfinity;
    if (cost < found.cost) {
      found = {device, cost, found.cost};
    } else {
      found.next = std::min(found.next, cost);
    }
  }
  return found;
}

void allow(PlacementProblem& sides, std::uint32_t unit, bool here, bool elsewhere) {
  if (here && elsewhere) return;
  sides.allowed[unit] = here ? AllowedSides::acc : AllowedSides::cpu;
}

double bound_as_one(const DeviceProblem& problem) {
  const WayCosts ways = host_ways(problem);
  PlacementProblem sides = two_sides(problem);
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    double best = std::numeric_limits<double>::infinity();
    for (DeviceIndex device = 0; device < problem.host(); ++device) {
      if (problem.accepts(device, unit)) best = std::min(best, problem.cost(unit, device));
    }
    const bool has_target = best < std::numeric_limits<double>::infinity();
    const bool accepts_host = problem.accepts(problem.host(), unit);
    allow(sides, unit, has_target, accepts_host);
    sides.acc_us[unit] = has_target ? best : 0;
    sides.cpu_us[unit] = accepts_host ? problem.cost(unit, problem.host()) : 0;
  }
  return cut_of(sides, *std::min_element(ways.in.begin(), ways.in.end()),
                *std::min_element(ways.out.begin(), ways.out.end()));
}

// What a unit costs above its cheapest device is shared by two cuts: that of the device it is on, and
// that of its cheapest device, which it left. The host has no cut, so that the other has all of it.
double bound_one_by_one(const DeviceProblem& problem, const WayCosts& ways) {
  const DeviceIndex host = problem.host();
  double bound = 0;
  std::vector<Cheapest> best(problem.unit_count());
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    best[unit] = cheapest(problem, unit);
    bound += best[unit].cost;
  }
  for (DeviceIndex device = 0; device < host; ++device) {
    PlacementProblem sides = two_sides(problem);
    for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
      const bool here = problem.accepts(device, unit);
      const bool is_best = best[unit].device == device;
      const bool elsewhere = !is_best || best[unit].next < std::numeric_limits<double>::infinity();
      allow(sides, unit, here, elsewhere);
      if (!here || !elsewhere) continue;
      if (is_best) {
        double left = std::numeric_limits<double>::infinity();
        for (DeviceIndex other = 0; other <= host; ++other) {
          if (other == device || !problem.accepts(other, unit)) continue;
          const double more = problem.cost(unit, other) - best[unit].cost;
          left = std::min(left, other == host ? more : more / 2);
        }
        sides.cpu_us[unit] = left;
      } else {
        const double more = problem.cost(unit, device) - best[unit].cost;
        sides.acc_us[unit] = best[unit].device == host ? more : more / 2;
      }
    }
    bound += cut_of(sides, ways.in[device], ways.out[device]);
  }
  return bound;
}

}  // namespace

double least_cost(const DeviceProblem& problem) {
  const LinkCosts links(problem);
  double all_on_host = 0;
  bool host_takes_all = true;
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    host_takes_all = host_takes_all && problem.accepts(problem.host(), unit);
    all_on_host += problem.cost(unit, problem.host());
  }
  if (problem.targets.empty()) return all_on_host;
  const WayCosts ways = cheapest_ways(problem, links);
  double launch = std::numeric_limits<double>::infinity();
  for (const DeviceTarget& target : problem.targets) launch = std::min(launch, target.launch_cost);
  const double bound = std::max(bound_as_one(problem), bound_one_by_one(problem, ways)) + launch;
  return host_takes_all ? std::min(bound, all_on_host) : bound;
}

}  // namespace cleave
