// Probes a backend: gives it each distinct node of some models alone, as a model of one node; a node
// that it refuses then with known values, and with its neighbours. The verdicts make a measured support
// list.
//
//   case     nodes with the same op, opset, dtypes, shapes and attributes: see core/lowering
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/lowering/learned_rule.h"
#include "formats/base/text/fault.h"
#include "formats/run/lowering/lowering_pool.h"

namespace cleave {

inline constexpr std::size_t kProbeSearchRuns = 16;

struct ProbeInput {
  const std::vector<LoadedModel>& models;           // see PieceCutter
  const std::vector<OpFacts>& facts;                // by model
  const std::vector<Backend>& backends;             // one
  std::size_t most_search_runs = kProbeSearchRuns;  // for the neighbours of one refused case
};

// How a case that is refused alone is taken.
enum class CaseHelp : std::uint8_t {
  none,
  known,      // with `--fold write`: its inputs are constants then, or the node is none any more
  neighbors,  // together with nodes around it
};

struct ProbedCase {
  std::string text;  // see node_case.h
  std::size_t model = 0;
  NodeId node = {};       // the first node of the case
  std::size_t nodes = 0;  // the number of nodes of the case, in all models
  Attempt attempt = {};
  bool is_pinned =
      false;  // asked with the sizes of ProbeOutcome::sizes, since it is refused with open ones

  CaseHelp help = CaseHelp::none;
  std::vector<std::uint32_t> constants = {};  // inputs that must be constant for it to be taken
  std::vector<NodeId> together = {};          // with these nodes it is taken

  bool is_taken() const;
  // Taken, for nothing of it was left once the compiler had folded what is known.
  bool is_folded() const { return attempt.verdict == LowerVerdict::nothing; }
  bool is_refused() const { return is_refusal(attempt.verdict); }
};

struct ProbeOutcome {
  std::string identity;              // of the backend
  std::string reference;             // "": there was none
  bool is_compared = false;          // values were compared with the reference's
  std::vector<ShapeBindings> sizes;  // by model: of open inputs, where a case was asked with them
  std::vector<ProbedCase> cases;     // in the order of models and nodes
  std::vector<Rule> allow;           // by domain and op: the opsets and dtypes that were accepted
  std::vector<Rule> deny;            // separate the refused cases from the accepted ones
  std::vector<Pattern> patterns;     // for cases that are taken with their neighbours
  std::size_t nodes = 0;
  std::size_t compiler_runs = 0;
  std::size_t cache_hits = 0;
  double seconds = 0;

  // Cases without a verdict, through a fault on our side of the backend.
  std::size_t count_unanswered() const;
};

// All of `input` must outlive the outcome. Refuses a backend that answers no case. No node of a refused case is supported by the rules.
// Cost: a compile for each case, and some more for each that is refused.
Result<ProbeOutcome, Fault> probe_models(const ProbeInput& input, const PoolOptions& options);

}  // namespace cleave
