// RuleBook: the evidence of a lowering, backend by backend, and the deny rules that it speaks for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/lowering/evidence.h"
#include "formats/lowering/lower_outcome.h"

namespace cleave {

class RuleBook {
 public:
  // `backends`: their names and versions, which rules give as their reason. Graph and facts must
  // outlive this.
  RuleBook(const Graph& graph, const OpFacts& facts, std::vector<std::string> backends)
      : graph_(graph), facts_(facts), backends_(std::move(backends)), evidence_(backends_.size()) {}

  // The backend takes a piece of these nodes.
  void add_passed(std::size_t backend, std::span<const NodeId> nodes) {
    evidence_[backend].add_passed(graph_, nodes);
  }

  // All rules anew from all evidence, that of the findings of the round included; sorted. Findings of
  // the round that a rule is for get its words. `findings`: of all rounds.
  std::vector<Rule> learn(std::vector<LowerFinding>& findings, std::size_t round);

 private:
  void learn_from(std::size_t backend, std::vector<LowerFinding>& findings, std::size_t round);
  void learn_ops(std::size_t backend, std::vector<LowerFinding>& findings, std::size_t round);

  const Graph& graph_;
  const OpFacts& facts_;
  std::vector<std::string> backends_;
  std::vector<Evidence> evidence_;  // by backend
  std::vector<Rule> rules_;
};

// Three rounds running the same failure, each at a reader of the last culprit: a fault of where the
// model is cut, not of its nodes.
bool is_eroding(const Graph& graph, const LowerOutcome& outcome);

}  // namespace cleave
