// What `cleave probe` says and writes: a summary, a support list, the evidence.
#pragma once

#include <string>

#include "formats/lowering/probe_job.h"

namespace cleave {

struct ProbeReport {
  const ProbeInput& input;
  const ProbeOutcome& outcome;
  std::string list_path = {};  // where the list is; "": nowhere
};

// For a person: the conclusion, then each op that is not taken in all its cases.
std::string probe_text(const ProbeReport& report);
// A native support list.
std::string probed_list_json(const ProbeReport& report);
// A line of JSON for each case, cleave.evidence version 1.
std::string probe_evidence(const ProbeReport& report);

}  // namespace cleave
