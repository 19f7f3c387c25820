// Reports of lowering, and of what compilers answered.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/fields.h"
#include "formats/report/ci/ci_report.h"
#include "formats/run/backend/backend.h"
#include "formats/run/lowering/lowering_job.h"

namespace cleave {

// ---- lowering report ----
//
// The reports of `cleave lower`: lowering.json, lowering.txt, the learned list, and files for CI servers.

struct LoweringReport {
  const LoadedModel& model;
  const std::vector<Backend>& backends;
  const PoolOptions& pool;
  const SearchSettings& search;
  const LowerOutcome& outcome;
  std::string learned_path = {};  // where the learned list was written; "": nowhere
  std::string folder = {};        // where findings are written; "": nowhere
  // For the command that repeats the split: the lists of the last round, and the other options that
  // the user gave for the split. Without lists no command is named.
  std::vector<std::string> list_options = {};
  std::span<const SupportList> lists = {};  // as they were given
  std::vector<std::string> split_options = {};
  std::vector<std::string> notes = {};  // on the split, as preview has them
};

// cleave.lowering version 1. The verdicts of the last round, and the findings of all rounds.
std::string lowering_json(const LoweringReport& report);
Document lowering_document();

// Adds the field "lowering", with the fields of lowering_json(), to the JSON of a report, which
// must end in "\n}\n".
std::string with_lowering(std::string report, const LoweringReport& lowering);

// The same as text: the rounds in order, the conclusion last; at most 100 columns.
std::string lowering_text(const LoweringReport& report);

// A native support list: the given list and what was learned, each rule with its reason. Error: the
// list has conditions that native lists cannot express.
Result<std::string, Error> learned_list_json(const SupportList& list, const Learned& learned);

// What CI servers are told: a test and perhaps an alert for each partition of the last round, findings
// at their nodes.
CiReport ci_report(const LoweringReport& report);

// "lowered 2,460 of 2,461 nodes (99.9%) by tract 0.23 in 2 rounds, 7 compiler runs, 3 s; 1 rule".
std::string conclusion_text(const LoweringReport& report);
// What to do next, a paragraph each: sizes to give, what was pinned to which shape, the command
// that repeats the split.
std::vector<std::string> advice_texts(const LoweringReport& report);
// The command of `cleave split` that writes the partitions of the last round with the shapes that
// were pinned, and in the opset that was raised; "" when there is none, or nothing was changed.
std::string split_command(const LoweringReport& report);
// Words of a command as a shell reads them.
std::string words_text(const std::vector<std::string>& words);
// "x float32[N, 3] as [1, 3]".
std::string pinned_text(const Graph& graph, const PinnedShape& pinned);
// "the cut Conv_1 .. Relu_4 (4 nodes) could not be run: refused: ...": the first piece that told the
// search nothing; "" when there was none.
std::string blocked_text(const Graph& graph, const Finding& finding);
// What became of the partitions of one of several targets in the last round.
struct LoweredOfTarget {
  std::string target;
  std::size_t parts = 0, nodes = 0;
  std::size_t lowered_parts = 0, lowered_nodes = 0;  // by each of its backends
  std::vector<std::size_t> backends = {};            // empty: they were not compiled
};
std::vector<LoweredOfTarget> lowered_of_targets(const LoweringReport& report);

// The backend's name and version, and of several targets which it is for.
std::string backend_name(const LoweringReport& report, std::size_t backend);
// "refused", "refused at run", "crashed (SIGSEGV)".
std::string verdict_text(const Attempt& attempt);
// The folder of a finding; "" when none is written.
std::string finding_path(const LoweringReport& report, std::size_t finding);

// "deny op Sqrt", and of several targets "deny op Sqrt for npu": the rule of a finding; "" for none.
std::string rule_text(const LoweringReport& report, const LowerFinding& finding);

// Why the rule of a finding may be wrong, and how to repeat it: "1 case: repeat it with sh
// o/findings/1/command.sh"; "" for none, and for one with enough behind it.
std::string doubt_text(const LoweringReport& report, std::size_t finding);

// "pinned shapes of 4 inputs", "opset 17": what the remedies of a partition change; "" for none.
std::string remedy_text(const LoweredPart& part);
// "If_3239 (named by the backend, confirmed alone)", or what else is known about the culprit.
std::string culprit_text(const Graph& graph, const LowerFinding& finding);

// ---- backend reports ----
//
// The reports of `cleave backend`, `cleave probe` and `cleave reduce`.

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
inline constexpr std::string_view kEvidenceBegin = R"({"case": )";
std::string probe_evidence(const ProbeReport& report);
Document evidence_document();

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
Document reduction_document();

}  // namespace cleave
