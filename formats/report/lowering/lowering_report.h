// What `cleave lower` says of an outcome: lowering.json, lowering.txt, and the learned list.
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
  std::string learned_path = {};  // where the learned list was written; "": nowhere
};

// cleave.lowering version 1. The verdicts of the last round; what was found in any.
std::string lowering_json(const LoweringReport& report);

// The same for a person, the conclusion last as the rounds go, at most 100 columns.
std::string lowering_text(const LoweringReport& report);

// A native support list: the list given and the learned deny rules, each with its reason. Error: the
// list asks for what native lists cannot say.
Result<std::string, Error> learned_list_json(const SupportList& list,
                                             const std::vector<Rule>& learned);

// "pinned shapes of 4 inputs", "opset 17": what the remedies of a partition change; "" for none.
std::string remedy_text(const LoweredPart& part);
// "If_3239 (named by the backend, confirmed alone)", or what else is known of the culprit.
std::string culprit_text(const Graph& graph, const LowerFinding& finding);

}  // namespace cleave
