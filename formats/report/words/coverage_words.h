// How much of a model is on the accelerator: in words, and as a field of reports.
#pragma once

#include <string>
#include <string_view>

#include "core/measures/preview.h"
#include "formats/base/json/text.h"

namespace cleave {

// True if the FLOPs of most nodes that compute are known; otherwise their share would mislead. Nodes
// without known FLOPs count as computing, those of 0 FLOPs, such as a Reshape, do not.
bool is_mostly_known(const Coverages& coverage);

// `61 of 70 nodes (87.1%) and 99.8% of 3.63 GFLOP on the accelerator`
std::string coverage_text(const Coverages& coverage, std::string_view where);

// "87.1%"; "-" when there is nothing to cover.
std::string share_text(const Coverage& coverage);

// Writes the field "coverage" of reports.
void write_coverage(JsonText& json, const Coverages& coverage);

}  // namespace cleave
