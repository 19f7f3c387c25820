// The outcome of a lowering: the rounds, the verdict on each partition, and the findings on those
// that were not lowered.
//
//   round     a split, and the verdict of each backend on each accelerator partition
//   learned   deny rules made from culprits
//   remedy    a change that makes a partition compile without denying a node: see core/lowering
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/lowering/culprit_search.h"
#include "core/lowering/wrong_values.h"
#include "core/support/support_list.h"
#include "formats/run/backend/attempt.h"
#include "formats/run/lowering/part_artefacts.h"
#include "formats/run/lowering/piece_lowerer.h"

namespace cleave {

// Why a backend does not lower a partition, or only with a remedy.
struct LowerFinding {
  std::size_t round = 1;
  std::size_t backend = 0;
  std::string part;
  Finding finding;
  std::optional<ValueVerdict> values = {};  // for wrong values
  std::vector<NodeId> deciders = {};        // for ValueVerdict::rounding_decides
  std::optional<NodeId> necessary = {};     // for ValueVerdict::together: the one to be denied
  std::string rule = {};                    // the learned rule in words; "": none
  std::size_t cases = 0;                    // that the rule is made of
  bool is_weak = false;                     // these are so few that the rule may be wrong
  bool has_open_shapes = false;             // its nodes had them when they were refused
  bool is_cut_from_qdq = false;  // it was tried without its QuantizeLinear or DequantizeLinear
};

struct LoweredPart {
  std::string name;
  std::vector<NodeId> nodes;  // model order
  std::size_t backend = 0;
  Attempt attempt;         // with the remedy that works, if there is one; else without remedies
  Remedies remedies = {};  // those that make it pass
  bool is_lowered = false;
  std::vector<PinnedShape> pinned = {};  // inputs
  std::size_t frozen = 0;                // inputs
  bool needs_sizes = false;              // refused as it is, but compiles with assumed shapes
  std::string hash = {};
  std::optional<std::size_t> finding = {};  // its first one; an index into LowerOutcome::findings
  std::optional<PartArtefacts> artefacts = {};  // nullopt: they were not asked for
};

// A split of the model bound to sizes, against that of the last round.
struct BoundSplit {
  bool is_same = false;               // the same nodes in each accelerator partition
  std::vector<ValueId> other_shapes;  // pinned inputs that have no such shape in it
};

// What one of several targets has in a round.
struct RoundOfTarget {
  std::size_t parts = 0;
  std::size_t nodes = 0;
};

struct LowerRound {
  std::size_t acc_parts = 0;
  std::size_t acc_nodes = 0;
  std::vector<RoundOfTarget> targets = {};  // of several
  // By partition, then by backend. Of several targets: by the backends of the partition's.
  std::vector<LoweredPart> parts;
  std::vector<Rule> learned;      // from this round
  bool has_learned_size = false;  // from this round: a lower LowerOutcome::most_nodes
  double seconds = 0;
};

// What a list gets.
struct Learned {
  std::vector<Rule> rules = {};  // deny rules
  std::optional<std::size_t> most_nodes = {};
  // Of several targets: what the lists of each get; the fields above have all of it. A node that one
  // is denied goes to the next that takes it.
  std::vector<Learned> by_target = {};

  bool is_empty() const { return rules.empty() && !most_nodes; }
};

struct LowerOutcome {
  std::vector<std::string> identities;  // by backend
  std::string reference;                // its identity; "": none
  std::string lack_of_reference;        // why the one that is the default was not used
  std::vector<TakenSize> taken;         // by the reference, for open dims
  std::vector<LowerRound> rounds;
  std::vector<LowerFinding> findings;
  std::vector<Rule> learned;                    // target by target
  std::vector<Learned> learned_by_target = {};  // of several targets
  std::vector<std::string> targets = {};        // their names
  // Partitions of more nodes fail, whichever they are: a limit of the learned list.
  std::optional<std::size_t> most_nodes = {};
  Learned denied;  // what of it the last round's split was made with
  std::size_t nodes = 0;
  std::size_t nodes_lowered = 0;  // by every backend
  std::size_t compiler_runs = 0;
  std::size_t artefact_runs = 0;  // further runs, to keep what was compiled
  std::size_t cache_hits = 0;
  std::size_t samples = 0;     // the number of inputs on which values were compared
  bool takes_nothing = false;  // the lists accept no node from the start: nothing was compiled
  bool is_clean = false;
  bool is_eroding = false;       // round after round the readers of the last culprit fail
  bool is_driver_fault = false;  // no backend got as far as a verdict
  // With which sizes of the open inputs partitions compiled: those of the reference run, else those
  // that were assumed, which are then a proposal. Empty: no shape had to be pinned.
  ShapeBindings sizes = {};
  // What the same split has when the model is bound to these sizes; nullopt without sizes.
  std::optional<BoundSplit> bound = {};
  double seconds = 0;  // in all
  double backend_seconds =
      0;  // of these spent waiting for backends and the reference, by each lane

  Learned learned_list() const { return {learned, most_nodes, learned_by_target}; }
};

}  // namespace cleave
