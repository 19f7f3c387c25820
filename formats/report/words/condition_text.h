// Unmet conditions in words.
#pragma once

#include <string>

#include "core/support/failed_part.h"
#include "formats/report/words/failed_part_text.h"

namespace cleave {

// What of the node, what the rule wants, what the node has. Of a relation: its text, and the values
// of both sides.
FailedPartWords condition_words(const UnmetCondition& unmet);

// Of a relation that does not hold: `attr.group == in[0].dim[1]: 32 == 64`; of one that cannot be
// decided: `attr.group == in[0].dim[1] cannot be decided: in[0].dim[1] is unknown`.
std::string relation_failure_text(const RelationCondition& wanted, const RelationFailure& failure);

}  // namespace cleave
