// What helps a node that a backend refuses alone, in this order:
//
//   known values   the inputs that are known before the model runs become constants, as with
//                  `--fold write`; or then the node is none any more
//   neighbours     the nodes around it: see core/lowering/grown_piece.h
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/lowering/learned_pattern.h"
#include "formats/base/text/fault.h"
#include "formats/run/lowering/probe_job.h"

namespace cleave {

// Asks about refused cases again with what is known before the model runs.
class KnownValues {
 public:
  // A node that is taken with constants.
  struct Taken {
    const LoadedModel& model;  // with known nodes folded
    const OpFacts& facts;
    NodeId node;
  };

  KnownValues(const ProbeInput& input, const PoolOptions& options)
      : input_(input), options_(options) {}

  // `cases` are refused ones of the model. Sets their `help` and `constants`. Reads the model again, and
  // starts the backend again where one is to be asked about. Compiler runs are added to `outcome`.
  std::optional<Fault> ask(std::size_t model, std::span<ProbedCase* const> cases,
                           ProbeOutcome& outcome);

  const std::vector<Taken>& taken() const { return taken_; }

 private:
  struct Folded {
    LoadedModel model;
    OpFacts facts;
  };

  const ProbeInput& input_;
  const PoolOptions& options_;
  std::vector<std::unique_ptr<Folded>> folded_;
  std::vector<Taken> taken_;
};

// Learns patterns around refused cases.
class NeighborProbe {
 public:
  explicit NeighborProbe(const ProbeInput& input) : input_(input) {}

  // `cases` are refused ones of the model, and `case_of` gives the case of each of its nodes. Sets their
  // `help` and `together`. Asks about an occurrence of each pattern that is known, then grows another.
  void ask(LoweringPool& pool, std::size_t model, std::span<ProbedCase* const> cases,
           const std::vector<const ProbedCase*>& case_of);

  const std::optional<Error>& error() const { return error_; }
  // By op, those of the most nodes first; named.
  std::vector<Pattern> patterns(const std::function<std::string(const OpName&)>& reason) const;
  bool has_pattern(const OpName& op) const;
  // True for a node around which a pattern matches, and was refused.
  bool is_refused_at(std::size_t model, NodeId node) const {
    return refused_at_.contains({model, node});
  }

 private:
  struct OfOp {
    std::vector<LearnedPattern> patterns;
    std::vector<ProbedCase*> cases;
    std::set<NodeId> refused_at;
    std::optional<Error> error;
  };

  void ask_op(PieceLowerer& lowerer, std::size_t model, OfOp& of,
              const std::vector<const ProbedCase*>& case_of) const;

  const ProbeInput& input_;
  std::map<OpName, OfOp> ops_;
  std::set<std::pair<std::size_t, NodeId>> refused_at_;
  std::optional<Error> error_;
};

}  // namespace cleave
