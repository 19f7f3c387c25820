// Options of a split and of what is made beside it, with their defaults in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/cost.h"
#include "core/devices/devices.h"

namespace cleave {

enum class StartSide : std::uint8_t {
  reference,  // the CPU if a CPU node that reads an input or a parameter is ready, else the accelerator,
  // as torch up to 2.8; with torch 2.15 a CPU node without inputs decides, too, as with `cpu`
  cpu,
  acc,
  fewest,  // the side that gives fewer subgraphs
};

enum class PackBy : std::uint8_t {
  early,  // each node is in the first subgraph that it can be in
  bytes,  // of two neighbouring accelerator subgraphs, in the one where fewer bytes cross the link
};

struct ExtendOptions {
  enum class Which : std::uint8_t { none, one, all, automatic };
  Which which = Which::none;
  std::size_t subgraph = 0;  // for `one`: its number, counting all subgraphs
  bool operator==(const ExtendOptions&) const = default;
};

enum class KeepBy : std::uint8_t { flops, time, nodes, latency };

enum class PlaceBy : std::uint8_t {
  priority,  // everything that can run on the accelerator goes there
  cost,      // nodes go where an inference takes the least time
};

// What PlaceBy::cost makes small.
enum class PlaceGoal : std::uint8_t { latency, energy };

// What a user may ask of a split, in the order of the passes. Each pass takes all of it and reads what
// concerns it, so that a new setting is one member here and one row in formats/lists/settings.
struct SplitOptions {
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  bool host_shapes = false;       // shape computations go where the nodes are that use them
  bool allow_non_tensor = false;  // non-tensor data may cross between accelerator and CPU
  bool skip_fusion = false;       // form no fusion groups
  bool keep_qdq = false;          // DQ..op..Q groups stay whole

  PlaceBy place = PlaceBy::priority;
  PlaceGoal place_goal = PlaceGoal::latency;  // energy: of several targets only
  // PlaceBy::cost: the least share of the time for which nodes move to the CPU. nullopt: 3% where a time
  // is an estimate.
  std::optional<double> min_gain = {};

  StartSide start = StartSide::reference;
  std::size_t min_acc_size = 1;   // smaller accelerator subgraphs go to the CPU; 0 and 1 keep all
  bool is_min_automatic = false;  // use the minimum with which an inference takes least time
  bool move_non_tensor = false;   // nodes whose non-tensor data leaves an accelerator subgraph move
                                  // to the subgraph that reads it
  PackBy pack = PackBy::early;

  std::size_t most_kept = kUnlimited;  // accelerator subgraphs; 0 keeps none
  KeepBy keep_by = KeepBy::flops;      // how subgraphs are valued
  bool keep_only_gaining = false;      // also drop those that an inference is faster without
  double host_flops = 500e9;           // per second, of the CPU that would do the work instead
  double host_bandwidth = 50e9;        // bytes per second, of that CPU's memory

  ExtendOptions extend = {};

  std::string acc_prefix = "_run_on_acc_";
  std::string non_acc_prefix = "_run_on_cpu_";
  // By target, instead of acc_prefix; empty: there is one accelerator.
  std::vector<std::string> target_prefixes = {};

  // Times: needed by PlaceBy::cost, KeepBy::latency and choices by the time of an inference. The
  // bandwidth of the link is that of the split: SplitInput.
  Machine machine = {};
  Residency residency = Residency::off;
  std::vector<Machine> later = {};     // of several targets: with the others instead of the first
  std::vector<DirectLink> links = {};  // between targets; costs in microseconds a byte

  // As if nothing had been asked about the placement: no times are needed then.
  void place_by_priority() {
    place = PlaceBy::priority;
    place_goal = PlaceGoal::latency;
    min_gain.reset();
  }

  bool operator==(const SplitOptions&) const = default;
};

struct AssignmentOptions {
  bool keep_original_order = false;  // order of first appearance; else the dependencies decide
};

struct BoundaryOptions {
  // A parameter among a node's inputs becomes an input of each part that reads it, unless a module
  // of the part owns it. Otherwise each such part has a copy.
  bool pass_parameters = false;
};

}  // namespace cleave
