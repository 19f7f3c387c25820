// Balancing a pipeline: the problem, and the solver that others call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/base/base.h"
#include "core/base/min_cut.h"

namespace cleave {

// ---- problem ----
//
// The input of balanced stages: items, the order they must keep, nets, devices.
//
// The problem knows no graph. An item is a node, or several that act as one. A net is a value: its
// producer, its consumers, and the cost of moving it across a device's border. A device pays once
// for each net that crosses its border, however many of its items read it.

inline constexpr std::uint32_t kNoItem = std::numeric_limits<std::uint32_t>::max();
inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// Times are in any one unit that the caller chooses.
struct BalanceItem {
  double time = 0;       // on an accelerator of speed 1
  double host_time = 0;  // on a host device; ignored when there is none
  double bytes = 0;      // held throughout: its own parameters (times the optimizer factor)
  std::uint32_t colour = kNoItem;  // items of one colour stay together
  bool runs_on_accelerator = true;
};

struct BalanceNet {
  std::uint32_t producer = kNoItem;  // kNoItem: from outside, which costs memory only
  double cost = 0;                   // time to move it across a border, once
  double bytes = 0;                  // counted among live activations
  bool is_output = false;            // of the whole model: lives to the end of its stage
};

struct BalanceDevice {
  std::string name;
  double speed = 1;           // an item takes time / speed
  double transfer_scale = 1;  // a net takes cost * transfer_scale
  double memory = kUnlimited;
  bool is_host = false;      // items take host_time, transfers are free, memory is not limited
  std::uint32_t target = 0;  // of accelerators that are not alike: see target_times
  std::uint32_t count = 1;
};

// Items are in a topological order of the nets, the order in which a stage runs them; it only
// matters for live activations. An item that lies both before and after items of one colour joins
// that colour.
struct BalanceProblem {
  std::vector<BalanceItem> items;
  Adjacency successors;  // by item; see successors_of_nets
  std::vector<BalanceNet> nets;
  Adjacency consumers;  // by net; may list an item twice
  // parameters that several items use; counted once in each stage that uses them
  std::vector<double> shared_bytes;
  Adjacency shared_users;  // by shared parameter
  std::vector<BalanceDevice> devices;
  // True: stages go to devices as listed. False: to any device, which matters when they differ.
  bool devices_in_order = false;
  // By item and target, where accelerators are not alike: the item's time there at speed 1; below 0: the
  // target does not take the item. An item's own time is then the least of these, and
  // runs_on_accelerator whether any target takes it. Empty: there is one target.
  std::vector<double> target_times;
  // Names an item in messages; when empty, "item 7".
  std::function<std::string(std::uint32_t)> item_name;
  std::string unit;  // of times

  std::size_t target_count() const {
    return target_times.size() / std::max<std::size_t>(1, items.size());
  }
  // On an accelerator of the target, at speed 1.
  double time_on(std::uint32_t target, std::uint32_t item) const {
    return target_times.empty() ? items[item].time : target_times[item * target_count() + target];
  }
};

enum class CommModel : std::uint8_t {
  serial,   // compute + in + out
  overlap,  // max(compute, in + out)
  duplex,   // max(compute, in, out)
  none,     // compute
};

struct BalanceStage {
  std::vector<std::uint32_t> items;  // ascending
  std::uint32_t device = 0;          // index into BalanceProblem::devices
  double compute = 0;                // times on the stage's device
  double in = 0;
  double out = 0;
  double load = 0;
  double parameter_bytes = 0;   // own and shared
  double activation_bytes = 0;  // the peak, when the items run in ascending order: values from
                                // outside are held throughout, values for outside to the end
};

// The order that the nets imply: the consumers of each net follow its producer. For problems
// without any other order.
Adjacency successors_of_nets(const BalanceProblem& problem);

// What a stage's device takes for one round.
double stage_load(CommModel comm, double compute, double in, double out);

// Loads and memory of any assignment, recomputed from the problem alone: `stage_of` by item,
// `device_of` by stage. Linear.
std::vector<BalanceStage> evaluate_stages(const BalanceProblem& problem, CommModel comm,
                                          std::span<const std::uint32_t> stage_of,
                                          std::span<const std::uint32_t> device_of);

// ---- solver ----
//
// Balanced stages: cuts a set of ordered items into stages, one a device, so that the slowest stage
// is as fast as possible, and bounds how far the answer may be from the best possible.
//
// A stage is what one device runs; an item's stage is never later than its successors' stages. The
// comm model combines compute, in and out into a stage's load; the objective is the greatest load.
//
// Method, in this order:
// 1. contraction that keeps the optimum;
// 2. topological orders, each cut optimally by a dynamic program (above 20,000 items on blocks);
// 3. a lower bound from a chain of items and minimum cuts;
// 4. local search with re-cut;
// 5. an exact search over the order's ideals while there are few.
// After Archer et al. 2023 (MTPP) and Tarnawski et al. 2020.

enum class Effort : std::uint8_t { low, normal, high };

struct BalanceOptions {
  CommModel comm = CommModel::serial;
  bool exact_stages = false;       // use every device; else at most all
  double target = kUnlimited;      // finite: the fewest stages with no load above it
  Effort effort = Effort::normal;  // counted in moves, so that the same input gives the same answer
  std::uint64_t seed = 1;
  double time_limit_seconds = kUnlimited;  // safety stop; see BalanceResult::time_limit_hit
  // reports each search as a task of its own; each may end early
  Progress progress = {};
};

struct CurvePoint {
  std::uint32_t stages = 0;  // at most this many (in order: the first devices)
  double objective = 0;      // kUnlimited: no fitting assignment was found
};

struct BalanceResult {
  std::vector<BalanceStage> stages;     // none is empty
  std::vector<std::uint32_t> stage_of;  // by item
  double objective = 0;
  double bound = 0;  // no assignment is better than this
  double gap = 0;    // objective / bound - 1; 0 when proved optimal
  // What the bound rests on: "ideals" (exact search), "path-mincut", "single-node", "work".
  std::string certificate;
  std::vector<CurvePoint> curve;    // 1 to all devices, at most 4,096
  std::uint32_t enough_stages = 0;  // the fewest on the curve with (about) the same objective
  std::uint64_t moves = 0;          // of the local search
  bool time_limit_hit = false;      // then the answer may differ from run to run
  std::vector<std::string> notes;
};

// Refuses, naming the constraint that does not hold and by how much: an item larger than every
// device, all items larger than all devices, fewer items than exact stages, a target below an
// item's time, more than about 2,000 devices; and when no assignment within the limits was found.
Result<BalanceResult> balance_stages(const BalanceProblem& problem, const BalanceOptions& options);

}  // namespace cleave
