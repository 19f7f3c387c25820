// Unmet conditions in words.
#pragma once

#include <string>

#include "core/support/failed_part.h"
#include "formats/report/words/failed_part_text.h"

namespace cleave {

// Says what about the node fails, what the rule wants, and what the node has. For a relation these
// are its text, "true", and the values of both sides.
FailedPartWords condition_words(const UnmetCondition& unmet);

// `attr.group == in[0].dim[1]: 32 == 64` for a relation that does not hold; `attr.group ==
// in[0].dim[1] cannot be decided: in[0].dim[1] is unknown` for one that cannot be decided.
std::string relation_failure_text(const RelationCondition& wanted, const RelationFailure& failure);

}  // namespace cleave
