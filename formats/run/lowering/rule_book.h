// RuleBook: the evidence of a lowering, backend by backend, and the deny rules that it speaks for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/lowering/learned_rule.h"
#include "formats/run/lowering/lower_outcome.h"

namespace cleave {

class RuleBook {
 public:
  // `backends`: their names and versions, for the reasons of rules. Graph and facts must outlive
  // this.
  RuleBook(const Graph& graph, const OpFacts& facts, std::vector<std::string> backends)
      : graph_(graph), facts_(facts), backends_(std::move(backends)), evidence_(backends_.size()) {}

  // Records that the backend accepts a piece with these nodes.
  void add_passed(std::size_t backend, std::span<const NodeId> nodes) {
    evidence_[backend].add_passed(graph_, nodes);
  }

  // Adds the round's findings on these backends to the evidence and makes all rules from it, sorted.
  // `findings` are those of all rounds; a finding of this round that leads to a rule gets its words.
  // Each backend is asked for once a round.
  std::vector<Rule> learn(std::vector<LowerFinding>& findings, std::size_t round,
                          std::span<const std::size_t> backends);
  // The same for all backends.
  std::vector<Rule> learn(std::vector<LowerFinding>& findings, std::size_t round);

 private:
  void learn_from(std::size_t backend, std::vector<LowerFinding>& findings, std::size_t round);
  void deny_left(std::size_t backend, std::vector<LowerFinding>& findings);
  void learn_ops(std::size_t backend, std::vector<LowerFinding>& findings, std::size_t round);

  const Graph& graph_;
  const OpFacts& facts_;
  std::vector<std::string> backends_;
  std::vector<Evidence> evidence_;  // by backend
  std::vector<Rule> rules_;
};

// True when three rounds in a row had the same failure, each at a reader of the culprit before.
// Then the cut causes the failure, not the nodes.
bool is_eroding(const Graph& graph, const LowerOutcome& outcome);

}  // namespace cleave
