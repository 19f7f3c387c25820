// Lowers a model: its accelerator partitions are compiled by real backends, refused partitions are
// searched for culprits, and the model is split again without these until none is refused.
//
//   round     a split, and the verdict of each backend on each accelerator partition
//   learned   deny rules derived from culprits
//   remedy    a change that makes a partition compile without denying a node: see core/lowering
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/progress.h"
#include "core/lowering/search.h"
#include "core/lowering/wrong_values.h"
#include "core/split/split.h"
#include "formats/backend/attempt.h"
#include "formats/backend/backend.h"
#include "formats/model/loaded_model.h"

namespace cleave {

enum class CulpritSearch : std::uint8_t { none, hint, node, minimal };

struct LowerOptions {
  SplitOptions split;
  std::optional<Backend> reference;
  std::vector<std::string> inputs;  // one per sample; empty: one random sample
  std::uint64_t seed = 0;
  bool until_clean = false;
  bool compares = false;
  bool pins_shapes = true;      // if there is a reference
  bool freezes_values = false;  // if there is a reference
  CulpritSearch culprits = CulpritSearch::node;
  std::size_t most_rounds = 20;
  std::size_t search_runs = 64;
  std::size_t jobs = 1;
  std::vector<std::string> launcher;
  std::string cache_folder;  // "": none
  std::string journal;       // "": none
  std::string work_folder;   // absolute, must exist
  Progress progress;
};

// The input of lowering; all of it must outlive the job and its outcome.
struct LowerInput {
  const LoadedModel& model;
  const std::vector<SupportList>& lists;
  const OpFacts& facts;
  const std::vector<Backend>& backends;
  Link link = default_link();  // used to value subgraphs
};

// A finding about a partition that a backend does not lower, or only with a change.
struct LowerFinding {
  std::size_t round = 1;
  std::size_t backend = 0;
  std::string part;
  Finding finding;
  std::optional<ValueVerdict> values;  // of wrong values
  std::vector<NodeId> deciders;        // of ValueVerdict::rounding_decides
  std::string rule;                    // the rule learned; "": none
};

struct LoweredPart {
  std::string name;
  std::vector<NodeId> nodes;  // model order
  std::size_t backend = 0;
  Attempt attempt;    // without remedies; or with the remedy that works
  Remedies remedies;  // that make it pass
  bool is_lowered = false;
  std::size_t pinned = 0, frozen = 0;  // inputs
  std::string hash;
  std::optional<std::size_t> finding;  // its first entry in LowerOutcome::findings
};

struct LowerRound {
  std::size_t acc_parts = 0;
  std::size_t acc_nodes = 0;
  std::vector<LoweredPart> parts;  // by partition, then by backend
  std::vector<Rule> learned;       // from this round
  double seconds = 0;
};

struct LowerOutcome {
  std::vector<std::string> identities;  // by backend
  std::string reference;                // its identity; "": none
  std::vector<LowerRound> rounds;
  std::vector<LowerFinding> findings;
  std::vector<Rule> learned;
  std::size_t nodes = 0;
  std::size_t nodes_lowered = 0;  // by every backend
  std::size_t compiler_runs = 0;
  std::size_t cache_hits = 0;
  std::size_t samples = 0;  // of inputs on which values were compared
  bool is_clean = false;
  bool is_eroding = false;       // round after round the readers of the last culprit fail
  bool is_driver_fault = false;  // no backend reached a verdict
  double seconds = 0;
};

// Why there is no outcome.
struct LowerFault {
  enum class Kind : std::uint8_t { backend, reference, input, output };
  Kind kind = Kind::backend;
  std::string message;
  std::vector<std::string> notes = {};
};

// The lists, each with the rules added as deny rules.
std::vector<SupportList> with_denied(const std::vector<SupportList>& lists,
                                     const std::vector<Rule>& learned);

// Runs until everything lowers, no rule is learned any more, or the rounds are used up; one round
// without `until_clean`. The model must be ONNX. The outcome does not depend on the number of jobs,
// except for times.
Result<LowerOutcome, LowerFault> lower_model(const LowerInput& input, const LowerOptions& options);

}  // namespace cleave
