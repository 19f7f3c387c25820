// A placement problem with several devices: which unit runs on which target, or on the host, so that
// one inference costs the least. It knows no model, only units, values and costs.
//
//   unit    a node, or nodes that stay together in one part
//   value   made by a unit or given by the host, read by units and perhaps by the host
//   cost    microseconds, or millijoules: whatever is to be small (`--goal`)
//
// The cost of a placement is the sum of its units' costs, of the launches of its parts on targets,
// which are those of find_rounds(), and of its transfers. These go through the host: a value that
// another device reads goes up once, and down once to each target that reads it; the host's own
// values need not go up. Without residency it goes up once from the part that made it, and down to
// each part that reads it. A direct link between two targets, where it costs no more, replaces both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/adjacency.h"
#include "core/base/byte_memo.h"
#include "core/cost/device.h"
#include "core/devices/rounds.h"

namespace cleave {

// A target, with its link to the host.
struct DeviceTarget {
  double down_cost = 0;  // of a byte from the host to it
  double up_cost = 0;    // of a byte from it to the host
  double launch_cost = 0;
  Duplex duplex = Duplex::half;
  std::size_t most_parts = std::numeric_limits<std::size_t>::max();
  std::optional<std::uint64_t> memory = {};  // bytes
};

// A link between two targets that does not go through the host.
struct DirectLink {
  DeviceIndex from = 0;
  DeviceIndex to = 0;
  double cost = 0;  // of a byte; 0: they share their memory
  bool operator==(const DirectLink&) const = default;
};

struct DeviceProblem {
  static constexpr auto kHost = std::numeric_limits<std::uint32_t>::max();
  static constexpr double kRefused = -1;

  std::vector<DeviceTarget> targets;  // in the user's order; the host is the device after the last
  std::vector<DirectLink> links;      // one way each

  std::vector<double> unit_costs;  // by unit, for each its devices: the cost there, or kRefused

  std::vector<std::uint32_t> producer;   // by value: a unit, or kHost
  Adjacency readers;                     // by value: units, each once, never the producer
  std::vector<double> bytes;             // by value
  std::vector<std::uint8_t> host_reads;  // by value: 1 when it is an output of the model

  Adjacency weights;                 // by unit: what it reads of the weights; may be empty
  std::vector<double> weight_bytes;  // by weight: it is held once on each device that reads it

  Residency residency = Residency::off;

  std::size_t device_count() const { return targets.size() + 1; }
  DeviceIndex host() const { return static_cast<DeviceIndex>(targets.size()); }
  std::size_t unit_count() const { return unit_costs.size() / device_count(); }
  std::size_t value_count() const { return producer.size(); }
  double cost(std::uint32_t unit, DeviceIndex device) const {
    return unit_costs[unit * device_count() + device];
  }
  bool accepts(DeviceIndex device, std::uint32_t unit) const { return cost(unit, device) >= 0; }
};

// By unit: its device. Each accepts its units.
using Devices = std::vector<DeviceIndex>;

// What a byte costs from one device to another.
class LinkCosts {
 public:
  explicit LinkCosts(const DeviceProblem& problem);

  double up(DeviceIndex from) const { return up_[from]; }      // to the host; 0 from the host
  double down(DeviceIndex to) const { return down_[to]; }      // from the host; 0 to the host
  double launch(DeviceIndex to) const { return launch_[to]; }  // of a part; 0 on the host
  bool is_direct(DeviceIndex from, DeviceIndex to) const { return direct(from, to) >= 0; }
  // Below 0: through the host.
  double direct(DeviceIndex from, DeviceIndex to) const { return direct_[from * up_.size() + to]; }

 private:
  std::vector<double> up_, down_, launch_;  // by device
  std::vector<double> direct_;              // by devices
};

struct DeviceScore {
  std::vector<double> unit_costs;         // by device
  std::vector<double> link_costs;         // by device: of its parts' transfers; the host has none
  std::vector<double> launch_costs;       // by device
  std::vector<std::size_t> parts;         // by device
  std::vector<std::uint64_t> peak_bytes;  // by device: held at once, weights included
  std::vector<double> part_costs;         // by part: units, transfers and launch
  double total = 0;
  double penalty = 0;  // above 0: a target has more parts, or holds more, than it can
};

// Keeps what all placements share, so that scoring many is quick. The problem must outlive it.
class DeviceScorer {
 public:
  explicit DeviceScorer(const DeviceProblem& problem);
  DeviceScorer(const DeviceScorer&) = delete;
  DeviceScorer& operator=(const DeviceScorer&) = delete;

  const DeviceProblem& problem() const { return problem_; }
  const LinkCosts& links() const { return links_; }
  // By unit: the units that read from it, once for each value.
  const Adjacency& unit_readers() const { return unit_readers_; }

  Rounds rounds(const Devices& devices) const;
  // Of a large problem those by the rule alone, which may be a few more.
  Rounds quick_rounds(const Devices& devices) const;
  // `rounds` are those of the placement. Linear.
  DeviceScore score(const Devices& devices, const Rounds& rounds) const;
  // True when what targets hold decides whether a placement fits.
  bool has_memory() const { return has_memory_; }
  // Total and penalty of a placement with the quick rounds, if that is below `limit`. Otherwise some
  // number that is not below it: the sum is given up as soon as it reaches the limit. A placement that was
  // asked for before costs little, and counts as many steps.
  double total(const Devices& devices, double limit) const;
  // Units and readers visited so far: the measure of effort.
  std::uint64_t steps() const { return steps_; }

 private:
  // What total() has computed of a placement.
  struct Known {
    enum class Depth : std::uint8_t { nothing, least, parts, all };
    Depth depth = Depth::nothing;
    double least = 0;               // at_least()
    double parts = 0;               // score_of_parts()
    double all = 0;                 // with the penalty
    std::uint64_t parts_steps = 0;  // of the rounds and the parts
    std::uint64_t rest_steps = 0;   // of the rest
  };

  double total_of(const Devices& devices, double limit, Known& known) const;
  DeviceScore score_of_parts(const Devices& devices, const Rounds& rounds) const;
  double at_least(const Devices& devices) const;
  void add_transfers(const Devices& devices, const Rounds& rounds, DeviceScore& score) const;
  void add_peaks(const Devices& devices, const Rounds& rounds, DeviceScore& score) const;
  void add_penalty(DeviceScore& score) const;

  const DeviceProblem& problem_;
  LinkCosts links_;
  Adjacency unit_readers_;
  RoundsGraph rounds_graph_;
  bool has_memory_;
  double penalty_ = 0;  // more than any placement costs
  mutable std::uint64_t steps_ = 0;
  mutable ByteMemo<Known> known_;
};

}  // namespace cleave
