// Checks in CI: comparisons with a baseline, and gates.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/quantity.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "core/measures/gates.h"
#include "core/measures/measures.h"
#include "core/split/options.h"
#include "core/split/split.h"

namespace cleave {

// ---- comparison ----
//
// Comparison: which nodes moved between two results, and which change moved them.
//
// Up to three changes lie between two results: the model, the support list, the settings. A *trail*
// holds where each node runs after each of them, one after the other; its last step is the present
// result. The change to blame for a move is the last one that changed the node's place: without it,
// all else being equal, the node would be where it was.
//
//   node    before  model changed  list changed  settings changed
//   conv1   acc     acc            CPU           CPU               moved by the list
//   relu9   acc     CPU            acc           CPU               moved by the settings
//   new3    -       CPU            CPU           CPU               added by the model

// `acc` and beyond: an accelerator. Of several targets the i-th is acc + i.
enum class Place : std::uint8_t { absent, cpu, acc };

inline bool is_on_acc(Place place) { return place >= Place::acc; }

// "absent", "cpu", "acc"; with names of targets those instead of "acc".
std::string_view place_name(Place place, std::span<const std::string> targets = {});

// The places of a result's targets, by TargetId; empty: all are `acc`.
using TargetPlaces = std::vector<Place>;

// The targets of two results. Where one of them has a single accelerator, accelerators are not told
// apart: all are `acc`.
struct ComparedTargets {
  std::vector<std::string> names;  // by place, from acc on: those of the later result come first
  TargetPlaces before, now;
};
ComparedTargets compare_targets(std::span<const std::string> before,
                                std::span<const std::string> now);

enum class Change : std::uint8_t {
  model,
  list,
  settings,
  model_or_list,  // both changed, and the old list's verdict on the new model is unknown
  program,        // no change of these: another version of cleave made the earlier result
};

// "model", "list", "settings", "model_or_list", "program"
std::string_view change_name(Change change);

// Where the nodes of a result run, by name. Nodes without an entry are absent.
using NamedPlaces = std::unordered_map<std::string, Place>;
NamedPlaces named_places(const Graph& graph, const Partition& partition,
                         const TargetPlaces& targets = {});

// Where each node runs.
PerNode<Place> places(const Graph& graph, const Partition& partition,
                      const TargetPlaces& targets = {});

struct Step {
  Change change;
  PerNode<Place> places;  // after the change, for the nodes of the present graph
};

struct Move {
  NodeId node;
  Place from;  // another than `to`; perhaps absent
  Place to;
  Change cause;
};

struct Comparison {
  std::vector<Move> moves;  // nodes of the present graph, in model order
  struct Removed {
    std::string node;
    Place from;
  };
  std::vector<Removed> removed;  // nodes no longer in the graph, by name
};

// The trail must have at least one step. Linear, plus sorting the removed nodes.
Comparison compare(const Graph& graph, const NamedPlaces& before, const std::vector<Step>& trail);

// Trail: the steps from an earlier result to the present one, found by splitting the present graph
// again with the inputs of the earlier result. "comparison" above says what they are used for.

// The inputs of the earlier result, as far as they are known. Facts are those of the model's
// format.
struct Origin {
  std::optional<bool> is_same_model = {};  // nullopt: unknown, assumed to be another model
  // nullopt: unknown. Then the lists are assumed to be the present ones, and the first step's moves
  // are blamed on them, or on model and lists together.
  std::optional<std::vector<SupportList>> lists = {};
  bool are_same_lists = false;  // same as the present lists; `lists` is then ignored
  SplitOptions options = {};
  Link link = default_link();
  // The present model, read under the earlier settings, if these give it other shapes.
  const Graph* graph = nullptr;
  std::span<const Target> targets = {};  // of several, with `lists`
  TargetPlaces places = {};              // of the targets
};

struct Present {
  const Graph& graph;
  const OpFacts& facts;
  const std::vector<SupportList>& lists;
  const SplitOptions& options;
  const Partition& partition;
  Link link = default_link();
  const TargetTimes* times = nullptr;    // taken for the earlier result's, too
  std::span<const Target> targets = {};  // of several
  TargetPlaces places = {};              // of the targets
};

// One step for each change that may have been made; the last one is the present result. The earlier
// settings omit an extension of a subgraph that the present graph does not have. Other targets are a
// change of the lists. Cost: a split for each step but the last.
std::vector<Step> make_trail(const Present& now, const Origin& before);

// ---- gate ----
//
// Gates: limits that a split must meet, and whether it does. The input and the result are plain
// numbers.
//
// A gate holds only when that is certain. A limit on bytes or rates does not hold while the size of
// a tensor that crosses the link is unknown; it fails when the known sizes already break it.

enum class GateVerdict : std::uint8_t {
  holds,
  fails,
  not_known,       // counts as failed: what decides it is unknown
  not_applicable,  // counts as passed: there is nothing to compare with
};

// "holds", "fails", "not_known", "not_applicable"
std::string_view gate_verdict_name(GateVerdict verdict);

struct Gate {
  GateKind kind;
  // require: the node or op asked for; coverage: one of several targets, or "" for all together
  std::string subject = {};
  double limit = 0;                     // the minimum or maximum allowed
  std::optional<double> actual = {};    // nullopt: unknown, not bounded or not applicable
  std::optional<double> baseline = {};  // regressions: the value from which the limit was computed
  GateVerdict verdict = GateVerdict::holds;

  bool passed() const {
    return verdict == GateVerdict::holds || verdict == GateVerdict::not_applicable;
  }
};

// The facts of one run.
struct GateFacts {
  Measures now;
  std::size_t unknown_shapes = 0;
  std::size_t unchecked = 0;            // nodes accepted by rules that leave a condition unchecked
  std::optional<Measures> before = {};  // of the baseline
  std::size_t new_cpu_nodes = 0;        // on the CPU now, but not in the baseline
};

// One gate for each limit, in the order of GateKind, without `require`; coverage of single targets
// follows that of all, and is not known where there is no such target. Gates against a baseline
// exist only when there is one. Coverage and rates are compared with the limit as written: 19 of 20
// nodes are 0.95. Comparisons with a baseline allow a relative 1e-12 for rounding.
std::vector<Gate> evaluate_gates(const GateLimits& limits, const GateFacts& facts);

// The gate that certain nodes are on the accelerator: holds when none of the `matched` nodes is on
// the CPU, not applicable when no node matched.
Gate require_gate(std::string subject, std::size_t matched, std::size_t on_cpu);

}  // namespace cleave
