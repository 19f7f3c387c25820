// What the search for a placement is made of: scores, and minimum cuts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/base.h"
#include "core/devices/devices.h"

namespace cleave {

// ---- score ----

// True when what targets hold decides whether a placement fits.
bool has_memory(const DeviceProblem& problem);

// What a byte costs from one device to another.
class LinkCosts {
 public:
  // The shares are those of the two directions of full-duplex links: a part waits for the longer one
  // only, but minimum cuts add both.
  explicit LinkCosts(const DeviceProblem& problem, double in_share = 1, double out_share = 1);

  double up(DeviceIndex from) const { return up_[from]; }      // to the host; 0 from the host
  double down(DeviceIndex to) const { return down_[to]; }      // from the host; 0 to the host
  double launch(DeviceIndex to) const { return launch_[to]; }  // of a part
  bool is_direct(DeviceIndex from, DeviceIndex to) const { return direct(from, to) >= 0; }
  // Below 0: through the host.
  double direct(DeviceIndex from, DeviceIndex to) const { return direct_[from * up_.size() + to]; }

 private:
  std::vector<double> up_, down_, launch_;  // by device
  std::vector<double> direct_;              // by devices
};

// Keeps what all placements share, and memory, so that scoring many is quick. The problem must outlive it.
class DeviceScorer : Pinned {
 public:
  explicit DeviceScorer(const DeviceProblem& problem);

  const DeviceProblem& problem() const { return problem_; }
  const LinkCosts& links() const { return links_; }
  // By unit: the units that read from it, once for each value.
  const Adjacency& unit_readers() const { return unit_readers_; }
  // The units, makers before readers.
  const std::vector<std::uint32_t>& order() const { return rounds_graph_.order; }
  // Units and readers.
  std::uint64_t size() const { return problem_.unit_count() + problem_.readers.items.size(); }
  // For each part beyond a limit: more than any placement costs.
  double penalty() const { return penalty_; }

  // With one target the two devices take turns, the host first, which never needs more launches.
  Rounds rounds(const Devices& devices) { return rounds(devices, problem_.host()); }
  Rounds rounds(const Devices& devices, DeviceIndex first_of_two);
  // A large problem with several targets gets the rounds of the rule alone: faster, perhaps a few more rounds.
  Rounds quick_rounds(const Devices& devices, bool lists_units = true);
  // `rounds` are those of the placement. Linear.
  DeviceScore score(const Devices& devices, const Rounds& rounds);

  // By unit and by part.
  struct Parts {
    std::span<const std::uint32_t> of;
    std::span<const DeviceIndex> devices;
  };
  // Those of quick_rounds(); valid until the next placement is looked at.
  Parts parts(const Devices& devices);
  // By part: units, launch, and transfers as they would be without residency, where what enters and leaves
  // one part does not depend on others. Valid as long as parts().
  const std::vector<double>& part_costs(const Devices& devices, const Parts& parts);
  // Total and penalty of a placement with the quick rounds, if that is below `limit`. Otherwise some
  // number that is not below it: the sum is given up as soon as it reaches the limit.
  double cost(const Devices& devices, double limit, DeviceIndex first_of_two);
  // The score of the placement that cost() was last asked for; it has no peaks where no target has a limit.
  const DeviceScore& last_score() const { return score_; }
  // As cost(), for a step of a search, which counts as effort: a placement that was asked for before
  // costs little, and counts as many steps. `least()` is no more than the placement costs.
  template <class Least>
  double total(const Devices& devices, double limit, const Least& least) {
    Known& found = known(devices);
    if (found.least < 0) found.least = least();
    if (found.least >= limit) return found.least;
    if (found.all < 0) {
      found.all = cost(devices, std::numeric_limits<double>::infinity(), problem_.host());
      found.steps = rounds_.steps;
    }
    steps_ += found.steps;
    return found.all;
  }
  double total(const Devices& devices, double limit) {
    return total(devices, limit,
                 [&] { return problem_.device_count() == 2 ? 0 : at_least(devices); });
  }
  // Units and readers visited so far by steps of a search.
  std::uint64_t steps() const { return steps_; }

  // What steps have found of a placement.
  struct Known {
    double least = -1;  // it costs no less; below 0: not known
    double all = -1;    // with the penalty; below 0: not known
    std::uint64_t steps = 0;
  };
  // Counts as a step that visits all units and readers.
  Known& known(const Devices& devices);
  // Less than any rounds cost: each device that is used is launched once, and the value crosses once.
  double least_launch(DeviceIndex device) const {
    return device == problem_.host() ? 0 : links_.launch(device);
  }
  double least_transfer(const Devices& devices, std::uint32_t value) const;

 private:
  Parts find_turns(const Devices& devices, DeviceIndex first);
  static Rounds rounds_of(const Parts& parts);
  double at_least(const Devices& devices) const;
  void score_parts(const Devices& devices, const Parts& parts, Residency residency);
  void add_transfers(const Devices& devices, const Parts& parts, Residency residency);
  void add_peaks(const Devices& devices, const Rounds& rounds);
  void add_penalty();

  const DeviceProblem& problem_;
  LinkCosts links_;
  Adjacency unit_readers_;
  RoundsGraph rounds_graph_;
  bool has_memory_;
  double penalty_ = 0;
  std::uint64_t steps_ = 0;
  ByteMemo<Known> known_;
  // What was found for the last placement:
  DeviceScore score_;
  Rounds rounds_;                        // with several targets, or with memory
  std::vector<std::uint32_t> turn_of_;   // by unit
  std::vector<DeviceIndex> turns_;       // their devices
  std::vector<double> in_, out_;         // by part
  std::vector<std::uint32_t> seen_by_;   // by part: the last value + 1 that entered it
  std::vector<std::uint32_t> first_of_;  // by device: the first part that reads the value
};

// ---- changed least ----
//
// What a placement on several targets costs at least, after some units changed their device: found from the
// values that these make or read. Most steps of a search are refused by it alone, before any rounds are
// made: as a sum over all values, it took 30% of the instructions of a placement of 1,000 nodes.

class ChangedLeast {
 public:
  // The scorer must outlive this. Linear.
  explicit ChangedLeast(const DeviceScorer& scorer);

  // The placement that changes are made to. Linear.
  void set(const Devices& devices);
  // `devices` with `units`, each once, on another device than the one that was set. Linear in what these
  // make and read.
  double of(const Devices& devices, std::span<const std::uint32_t> units);

 private:
  const DeviceScorer& scorer_;
  Adjacency values_of_;  // by unit: the values that it makes or reads
  Devices devices_;
  std::vector<std::size_t> unit_counts_;  // by device
  std::vector<double> transfers_;         // by value
  double sum_ = 0;                        // without launches
  std::vector<std::size_t> changed_counts_;
  std::vector<std::uint64_t> seen_;  // by value: the last call that counted it
  std::uint64_t calls_ = 0;
};

// ---- changed total ----
//
// The total of a placement on one target and the host after some units changed their device, found from
// what is near them.
//
// With one target parts take turns. A unit's turn is the lowest of its own device that is not below that
// of a unit that it reads from; the host has the even ones. A changed unit changes the turns of what
// runs after it, as a rule all by the same amount: a part more, or a part less. From the position on
// where every value that is still read was made a same number of turns later, nothing changes but the
// number of parts. So a step of a search costs what lies between its first unit and that position, and
// not the whole inference.
//
// It serves the usual problem, a half-duplex link without residency, in which the transfers of a
// part do not depend on other parts.

class ChangedTotal {
 public:
  static bool serves(const DeviceProblem& problem);

  // The scorer's problem must outlive this, and be served. Linear.
  explicit ChangedTotal(const DeviceScorer& scorer);

  // The placement that changes are made to. Linear.
  void set(const Devices& devices);

  // Units that change their device, each once; then the total of the changed placement.
  void flip(std::uint32_t unit);
  double total();
  // After total(): the changes stay (linear), or are taken back.
  void keep();
  void undo();

 private:
  struct Value {
    double in;
    double out;
    std::uint32_t maker;        // a position, or kHost
    std::uint32_t last_reader;  // a position
    bool host_reads;
    std::uint32_t now;  // readers in the same step, which are the first
  };

  void add_units(const DeviceScorer& scorer);
  void add_values();
  double cost_of(std::uint32_t position) const {
    return problem_.cost(units_[position], sides_[position] != 0 ? 0 : 1);
  }
  std::uint32_t find_turn(std::uint32_t position) const;
  std::uint32_t turn(std::uint32_t position) const {
    return turns_[position] + (position < end_ ? 0 : shift_);
  }
  void find_turns();
  double crossing_cost(std::uint32_t value);
  double launch_costs(std::uint32_t most_turn) const;

  // A position is a unit's place in the order of the inference: makers before readers.
  const DeviceProblem& problem_;
  std::vector<std::uint32_t> position_of_;  // by unit
  std::vector<std::uint32_t> units_;        // by position
  Adjacency makers_;                        // by position: those whose values it reads
  std::vector<std::uint32_t> last_reader_;  // by position: of what it makes
  std::uint32_t source_count_ = 0;          // units that read of none come first
  std::vector<Value> values_;               // only those that can cost something
  Adjacency readers_;                       // by value: positions
  Adjacency values_of_;                     // by position: the values that it makes or reads
  double penalty_ = 0;

  // The placement that is kept.
  std::vector<std::uint32_t> kept_turns_;   // by position
  std::vector<std::uint32_t> most_before_;  // by position: the highest turn of those before it
  std::vector<std::uint32_t> most_from_;    // by position: of it and those after it; and 0
  // By position: the last reader of what those before it make, or of a model's input that they read.
  std::vector<std::uint32_t> last_read_before_;
  std::vector<double> costs_;  // by value
  double unit_costs_ = 0;
  double link_costs_ = 0;

  // The changed one.
  std::vector<std::uint8_t> sides_;     // by position: 1 on the target
  std::vector<std::uint32_t> turns_;    // by position; from end_ on without shift_
  std::vector<std::uint32_t> flipped_;  // positions
  std::uint32_t first_ = 0;             // of them
  std::uint32_t last_ = 0;
  std::uint32_t end_ = 0;    // from here on all turns are higher by shift_
  std::uint32_t shift_ = 0;  // modulo 2^32: down, too
  std::uint32_t sources_on_host_ = 0;
  double changed_unit_costs_ = 0;
  std::vector<std::uint64_t> seen_turn_;   // the last visit of a value that entered it
  std::vector<std::uint64_t> seen_value_;  // the last total() that counted it
  std::uint64_t visit_ = 0;
};

// ---- pieces ----

// Items, of which some are connected. The least item of a piece stands for it.
class Pieces {
 public:
  explicit Pieces(std::size_t count);

  void connect(std::uint32_t one, std::uint32_t other) {
    const std::uint32_t a = least(one);
    const std::uint32_t b = least(other);
    parent_[std::max(a, b)] = std::min(a, b);
  }
  // The least item of the piece that this item belongs to.
  std::uint32_t least(std::uint32_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  // The pieces of the items that count, by their least items; items of each ascend. An item that counts may be
  // connected only with others that do. Close to linear.
  std::vector<std::vector<std::uint32_t>> of(std::span<const std::uint8_t> counts);

 private:
  std::vector<std::uint32_t> parent_;
};

// ---- cuts ----
//
// Minimum cuts of a placement problem with several devices. They do not see parts: what they make
// small is the cost with launches in proportion to the values that cross, and values kept where they
// are (charged_cost).

// What crossing values are charged.
struct DeviceCharges {
  double link = 1;    // factor on their costs
  double launch = 0;  // the share of a launch of the target that a value enters
};

double charged_cost(const DeviceProblem& problem, const LinkCosts& links, const Devices& devices,
                    const DeviceCharges& charges);

// Expansion: of all units that accept device `to`, those go there with which the charged cost is
// least, while the others stay where they are. One minimum cut, exact unless there are direct links:
// then units are taken to stay where the cost of one depends on whether another does. Method: Boykov,
// Veksler, Zabih 2001. Close to linear.
Devices expand_device(const DeviceProblem& problem, const LinkCosts& links, const Devices& devices,
                      DeviceIndex to, const DeviceCharges& charges);

// Expansions of one device after the other, until none makes the charged cost less, or each device
// has had `most_rounds`.
Devices expand_all(const DeviceProblem& problem, const LinkCosts& links, Devices devices,
                   const DeviceCharges& charges, std::size_t most_rounds = 100);

// No placement costs less: the better of two bounds, plus a launch unless all on the host costs less
// still. One takes all targets as one, in which each unit costs what it does on its best target. The
// other is a sum of minimum cuts, of each target against all other devices: what a unit costs above
// its best device is shared by the cuts that decide on it.
double least_cost(const DeviceProblem& problem);

}  // namespace cleave
