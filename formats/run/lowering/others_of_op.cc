#include "formats/run/lowering/others_of_op.h"

#include "core/lowering/node_case.h"

namespace cleave {

void OthersOfOp::ask(const LowerFinding& culprit, std::span<const LoweredPart> parts,
                     std::size_t lane, RuleBook& book) {
  constexpr std::size_t kMostAsked = 8;
  const NodeId blamed = culprit.finding.nodes.back();
  PieceLowerer& lowerer = pool_.lowerer(lane, culprit.backend);
  Known& known = known_[culprit.backend];
  known.cases.insert(node_case(graph_, blamed));
  known.nodes.insert(blamed);
  // Wrong values come from values: of nodes of one case each has its own.
  const bool is_of_values = culprit.values.has_value();
  std::size_t asked = 0;
  for (const LoweredPart& part : parts) {
    if (part.backend != culprit.backend || part.is_lowered) continue;
    for (const NodeId node : part.nodes) {
      const bool is_alike =
          graph_.op(node) == graph_.op(blamed) && graph_.domain(node) == graph_.domain(blamed);
      if (!is_alike || asked == kMostAsked) continue;
      const bool is_new_case = known.cases.insert(node_case(graph_, node)).second;
      if (!is_new_case && !is_of_values) continue;
      if (!known.nodes.insert(node).second) continue;
      ++asked;
      if (is_taken(node, culprit.finding.remedies, lowerer)) {
        book.add_passed(culprit.backend, {&node, 1});
      }
    }
  }
}

bool OthersOfOp::is_taken(NodeId node, const Remedies& remedies, PieceLowerer& lowerer) {
  Answer answer = lowerer.answer({.nodes = {node}, .remedies = remedies});
  if (answer.outcome == OracleOutcome::unchanged) answer = lowerer.answer({.nodes = {node}});
  const bool is_tie =
      answer.difference == Difference::tie_order || answer.difference == Difference::one_step;
  return answer.outcome == OracleOutcome::passes || is_tie;
}

}  // namespace cleave
