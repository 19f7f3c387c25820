// The reports of `cleave backend`, `cleave probe` and `cleave reduce`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/run/backend/backend_file.h"
#include "formats/run/backend/self_test.h"
#include "formats/run/lowering/probe_job.h"
#include "formats/run/lowering/reduce_job.h"

namespace cleave {

// The result first, then one line per step. At most 100 columns.
std::string self_test_text(const Backend& backend, const SelfTest& test);

// A table: name, stages, file.
std::string backend_list_text(const std::vector<Backend>& backends);

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

struct ReduceReport {
  const ReduceInput& input;
  const ReduceOptions& options;
  const ReduceOutcome& outcome;
  std::string folder = {};  // where the finding is; "": nowhere
};

// The report as text, at most 100 columns.
std::string reduce_text(const ReduceReport& report);
// cleave.reduction version 1.
std::string reduce_json(const ReduceReport& report);

}  // namespace cleave
