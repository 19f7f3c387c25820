// The report of `cleave lower`: lowering.json, lowering.txt, and the learned list.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/lowering/lower_job.h"

namespace cleave {

struct LoweringReport {
  const LowerInput& input;
  const LowerOptions& options;
  const LowerOutcome& outcome;
  std::string learned_path = {};  // where the learned list was written; "": not written
};

// cleave.lowering version 1. The verdicts of the last round, and the findings of all rounds.
std::string lowering_json(const LoweringReport& report);

// The report for people, at most 100 columns, with the conclusion last, after the rounds.
std::string lowering_text(const LoweringReport& report);

// A native support list: the given list and the learned deny rules, each with its reason. Error:
// the list has conditions that native lists cannot express.
Result<std::string, Error> learned_list_json(const SupportList& list,
                                             const std::vector<Rule>& learned);

// "pinned shapes of 4 inputs", "opset 17": the changes that the remedies of a partition make; ""
// for none.
std::string remedy_text(const LoweredPart& part);
// "If_3239 (named by the backend, confirmed alone)", or what else is known about the culprit.
std::string culprit_text(const Graph& graph, const LowerFinding& finding);

}  // namespace cleave
