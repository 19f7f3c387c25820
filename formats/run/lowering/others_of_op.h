// OthersOfOp: a rule on an op denies each of its nodes, and one node that fails says nothing of the others.
// So a few others that differ from it are asked alone. What passes is evidence, with which the rule gets a
// condition, or names. Where values are wrong, nodes of the culprit's own case are asked, too: it may be the
// values that it reads.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "formats/run/lowering/lowering_pool.h"
#include "formats/run/lowering/rule_book.h"

namespace cleave {

class OthersOfOp {
 public:
  // Both must outlive this.
  OthersOfOp(const Graph& graph, LoweringPool& pool)
      : graph_(graph), pool_(pool), known_(pool.backends().size()) {}

  // Asks about nodes of the culprit's op in those of `parts` that its backend does not lower, at most 8,
  // and tells `book` what passes. No case is asked twice, and of wrong values no node. Call it in a job of `lane`; see
  // PieceLowerer::error() afterwards.
  void ask(const LowerFinding& culprit, std::span<const LoweredPart> parts, std::size_t lane,
           RuleBook& book);

 private:
  static bool is_taken(NodeId node, const Remedies& remedies, PieceLowerer& lowerer);

  const Graph& graph_;
  LoweringPool& pool_;
  // Asked alone, and culprits'.
  struct Known {
    std::set<std::string> cases;
    std::set<NodeId> nodes;
  };
  std::vector<Known> known_;  // by backend
};

}  // namespace cleave
