// The reports of `cleave probe`: a summary, a support list, the evidence.
#pragma once

#include <string>
#include <string_view>

#include "formats/run/lowering/probe_job.h"

namespace cleave {

struct ProbeReport {
  const ProbeInput& input;
  const ProbeOutcome& outcome;
  std::string list_path = {};  // where the list is; "": nowhere
};

// A summary as text: the conclusion, then each op that is refused in some case.
std::string probe_text(const ProbeReport& report);
// A native support list.
std::string probed_list_json(const ProbeReport& report);
// The evidence, cleave.evidence version 1: one line of JSON for each case, with this start.
inline constexpr std::string_view kEvidenceBegin = R"({"case":)";
std::string probe_evidence(const ProbeReport& report);

}  // namespace cleave
