// The verdict on a split, in words and as a field of reports.
#pragma once

#include <string>
#include <string_view>

#include "core/measures/worth.h"
#include "formats/base/json/text.h"
#include "formats/report/words/report.h"

namespace cleave {

// "yes", "maybe", "no"
std::string_view answer_name(Worth answer);

// `worth it: NO: 29 round trips to the accelerator for 60 nodes; "GlobalAveragePool" alone makes 12 of
// 28 CPU partitions (cleave advise)`: the criteria that decided, or all of them for a YES. "" for a
// model without nodes.
std::string worth_text(const Report& report);

// Writes the field "verdict": the answer, the sentence, and the criteria with their thresholds; null
// for a model without nodes.
void write_worth(JsonText& json, const Report& report);

}  // namespace cleave
