// Checks and comparisons: baselines, reports for people and CI.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/lists/support.h"
#include "core/measures/check.h"
#include "core/measures/measures.h"
#include "core/split/options.h"
#include "formats/base/faults.h"
#include "formats/base/fields.h"
#include "formats/base/model.h"
#include "formats/report/ci/ci_report.h"
#include "formats/report/drawings/pages.h"
#include "formats/report/words/report.h"

namespace cleave {

// ---- checked node ----
//
// A node in checks and diffs: its reason as text and the rule that caused it, independent of the
// graph. The shapes that two runs gave to a model's inputs, compared.

struct CheckedNode {
  std::string name;
  std::string op;
  ReasonCode code = ReasonCode::none;  // none: on the accelerator
  std::string cause;                   // the text that all nodes with this cause share
  std::string detail;                  // the whole reason
  std::string because;                 // the node to blame; empty for none
  FilePlace place;                     // of the rule that caused the reason, else of the list
  std::string target = {};             // one of several, which does not run it; "": all of them
  std::string runs_on = {};            // of several targets the one that runs it; "": the CPU
  bool breaks_gate = false;  // new on the CPU where that is not allowed, or required elsewhere
};

struct CheckedMove {
  CheckedNode node;
  Place from;
  Place to;
  Change change;  // the one to blame
};

// Cost: making the text of a reason, and following the chain of nodes that blame each other. With
// `asked`, one of several targets: why it does not run the node, wherever that runs.
CheckedNode checked_node(const Report& report, NodeId node, TargetId asked = kNone<TargetId>);
// The same with the reason of the target that the node left, where that has one to give.
CheckedMove checked_move(const Report& report, const Move& move, const ComparedTargets& targets);

// "npu", "gpu": of several targets.
std::vector<std::string> target_names(std::span<const Target> targets);
// One line for each difference: `npu: launch: 100 us, was 20 us`.
std::vector<std::string> changed_targets(std::span<const Target> before,
                                         const SplitOptions& before_numbers, const Report& now);

// Whether the link of the one target is another: "pcie-bw: 0.25 GB/s, was 7.88 GB/s"; else "".
std::string changed_link(std::span<const Target> before, double bytes_per_second_before,
                         const Report& now);

// The numbers of the report's split, with the time of an inference where it is known.
Measures measures_of(const Report& report);

// The times of the report's nodes; null when they were not asked for.
const TargetTimes* times_of(const Report& report);

// The first list as a whole, for a node whose rule is not known.
FilePlace place_of_list(const Report& report);

// Moves with the same change and cause, in the order in which they first appear, model changes
// first.
struct MoveGroup {
  Change change;
  std::string cause;  // as text; empty when they are on the accelerator
  std::vector<const CheckedMove*> moves;
};
std::vector<MoveGroup> group_moves(const std::vector<CheckedMove>& moves);

// One line for each difference: `dim N: 8, was not given`.
std::vector<std::string> changed_bindings(const ShapeBindings& before, const ShapeBindings& now);

// ---- baseline file ----
//
// Baselines: earlier results that `check` compares the present one with. A file has one for each
// model and list, `cleave.baseline`; or it is one report, as `preview --json` prints it.

// The parts of a result that its report has.
struct EarlierResult {
  NamedPlaces places;
  Measures measures;
  SplitOptions options;
  std::optional<double> link_bandwidth;  // bytes per second; nullopt: the link set no bound
  ShapeBindings bindings;
  std::vector<std::string> other_settings;   // names of settings that this version does not have
  std::optional<std::uint64_t> fingerprint;  // of the model; missing in reports of other programs
  // texts of the support lists; may be missing as well
  std::optional<std::vector<std::string>> lists;
  bool all_of = false;               // each of them had to accept a node
  std::optional<GraphView> as = {};  // the graph that they were about, where the user said so
  // The targets with their lists, in the order of `places` and `options`. Empty: there was only one.
  std::vector<Target> targets = {};

  // `places` with those of `others` instead of its own; empty: all are Place::acc.
  NamedPlaces places_as(const TargetPlaces& others) const;
};

struct Baseline {
  std::string path;
  // By model and list, with the names used on the command line at that time.
  std::map<std::pair<std::string, std::string>, EarlierResult> results;
  bool is_single = false;  // one report: used for any one model and list

  // Null when it has no result for them.
  const EarlierResult* find(const std::string& model, const std::string& list) const;
};

// Also of a file that gzip compressed, within the same limit. Errors name the field at fault: `reports / "m.onnx" / "npu.json":
// "node_map" is missing`.
Loaded<Baseline> read_baseline_file(const std::string& path);
Loaded<Baseline> parse_baseline(const std::string& path, std::string_view bytes);

struct BaselineItem {
  std::string model, list;
  std::string report;  // as report_json makes it
};

// cleave.baseline version 1. Items of one model are grouped, in the order in which models first
// appear.
std::string baseline_json(const std::vector<BaselineItem>& items);
// The same as the file of that name has it: compressed where it ends in .gz.
std::string baseline_bytes(const std::string& path, const std::vector<BaselineItem>& items);

// ---- check ----
//
// A check: the result of comparing models and lists with gates and a baseline. Plain data,
// independent of the models; the writers of text, JSON and what CI servers read all start from it.

struct CheckedGate {
  Gate gate;
  std::string detail;  // which nodes break it, or why it cannot be judged; may be empty
};

struct CheckRun {
  std::string model, list;  // as the command line named them
  FilePlace list_place;
  Measures now;
  std::optional<Measures> before;
  std::vector<CheckedGate> gates;
  std::vector<CheckedMove> regressions;   // to the CPU, or new there; model order
  std::vector<CheckedMove> improvements;  // from the CPU to the accelerator
  std::vector<CheckedMove> moved;         // of several targets: from one to another
  std::vector<std::string> targets;       // of several: names of the places of moves
  std::size_t removed = 0;                // nodes of the baseline that no longer exist
  std::vector<std::string> settings;      // differences from the baseline: "start: cpu, was acc"
  // On the CPU, in model order; those that break a gate come first; at most kMostCpuNodes. Of several
  // targets a row for each that does not run the node, and also nodes on others where a gate of the
  // target fails.
  std::vector<CheckedNode> cpu_nodes;
  std::size_t cpu_nodes_left_out = 0;
  std::string state = {};       // state_text() of the model
  std::string open_sizes = {};  // options that state sizes that are open; "": all are known
  UnmeasuredNodes unmeasured = {};
  std::string opsets = {};  // "ai.onnx 21"

  bool passed() const;
};

// A model that could not be read, or with a list not be split.
struct CheckError {
  std::string model, message;
};

struct Check {
  std::vector<CheckRun> runs;
  std::vector<CheckError> errors = {};
  bool passed() const;
};

inline constexpr std::size_t kMostCpuNodes = 5000;  // GitHub keeps this many per SARIF run

struct CheckRequest {
  GateLimits limits = {};
  std::vector<std::string> require = {};  // names or globs of nodes, or ops
};

// `before` is null when there is no baseline.
CheckRun check_report(const Report& report, const CheckRequest& request,
                      const EarlierResult* before);

// A requirement that matches no node in any run is a mistake: it fails in all runs.
void fail_vain_requirements(Check& check);

// What CI servers are told. Gates that cannot be judged fail, and gates without anything to compare with
// are skipped. There are no times: the same check gives the same bytes.
CiReport ci_report(const Check& check);

// The verdict first; then each model and list with its gates, and the nodes that moved since the
// baseline, by the change to blame and the reason. At most 100 columns.
std::string check_text(const Check& check);

// A row for each model, a column for each list: the share of its nodes on the accelerator, and in how many
// partitions. Models in the order of their names.
std::string check_table(const Check& check);

// cleave.check version 1. Gates, regressions and improvements of all runs, each with its model and
// list.
std::string check_json(const Check& check);
Document check_document();

// ---- check words ----
//
// Texts that every output of `check` uses, and nodes that moved: by the change to blame and by reason.

// "min-coverage-nodes", "min-coverage-nodes npu", "require conv1": as options name it.
std::string gate_name(const Gate& gate);

// "node coverage", "accelerator subgraphs", `"conv1" on the accelerator`
// Of one of several targets: "node coverage of npu".
std::string gate_title(const Gate& gate);

// "95.7% (66 of 69 nodes)", "not known", "3"
std::string gate_actual(const CheckRun& run, const Gate& gate);

// "at least 97%", "at most 4", "on the accelerator"; empty when there is nothing to compare with.
std::string gate_limit(const CheckRun& run, const Gate& gate);

// "3, must be at most 2"; of a requirement only what is: it says where the node is not.
std::string gate_outcome(const CheckRun& run, const Gate& gate);

// `node coverage: 95.7% (66 of 69 nodes), must be at least 97%; conv1, conv2`
std::string gate_sentence(const CheckRun& run, const CheckedGate& checked);

// "ok", "FAIL"
std::string_view gate_mark(const Gate& gate);

// `resnet18.json with npu.json`, as they were named.
std::string run_title(const CheckRun& run);

// "all 5 gates hold", "2 of 5 gates fail"
std::string verdict_text(const Check& check);

// "the model changed", "the support list changed", "the settings changed: start: cpu, was acc".
// `settings` are the differences; without any the text ends at "changed".
std::string change_text(Change change, const std::vector<std::string>& settings = {});

// "\n  3 nodes newly on the CPU\n", then one line per group, further indented. Empty when no node
// moved. At most 100 columns and 20 groups.
std::string moves_text(const std::vector<CheckedMove>& moves, std::string_view what,
                       const std::vector<std::string>& settings);

// The places that nodes moved between, such as "from npu to gpu", in the order of places; each with
// its moves, in their order. `names` are those of the targets.
struct MovesBetween {
  Place from, to;
  std::string text;
  std::vector<CheckedMove> moves;
};
std::vector<MovesBetween> moves_between(const std::vector<CheckedMove>& moves,
                                        const std::vector<std::string>& names);

// ---- diff ----
//
// A diff: what moved between two splits, and which change moved it. Plain data, as in check.h.

struct DiffSide {
  std::string model, list;  // as the command line named them
  Measures measures;
  std::vector<OpsetImport> opsets = {};  // domains by the names in the file
  std::string opsets_text = {};          // the same for people
};

struct Diff {
  DiffSide before, after;
  bool is_same_model = true;
  bool is_same_list = true;
  std::vector<std::string> settings;  // differences: "start: cpu, was acc"
  // Nodes in both models, in model order. For nodes now on the accelerator, `cause` and `detail`
  // say why they were not there before.
  std::vector<CheckedMove> to_cpu, to_acc;
  std::vector<CheckedMove> moved;    // of several targets: from one to another
  std::vector<std::string> targets;  // of several: names of the places of moves
  std::vector<CheckedMove> added;    // with their places now
  struct Removed {
    std::string node;
    Place from;
  };
  std::vector<Removed> removed;  // by name
};

// The caller sets `side.model` and `side.list`. Nodes are matched by name. Cost: up to two more
// splits, and reading the later model with the earlier shapes if these differ.
Diff diff_reports(const Report& before, const Report& after);

// The numbers of both, side by side.
KeptTable diff_numbers(const Diff& diff);

// The numbers of both side by side, then the nodes by the change to blame. At most 100 columns.
std::string diff_text(const Diff& diff);

// cleave.diff version 1.
std::string diff_json(const Diff& diff);
Document diff_document();

// ---- check pages ----
//
// Pages for a browser: two splits side by side, and a check of many models.

// The reports are those that the diff was made of. Each gets half of the time to lay drawings out.
HtmlPage diff_page(const Diff& diff, const Report& before, const Report& after,
                   const LayoutLimits& limits);

// A table of models by lists, then the gates, the nodes that moved, and why nodes are on the CPU in all
// models together.
std::string check_page(const Check& check);

// ---- rows of checks and diffs ----

// Coverage, acc_subgraphs, cpu_nodes, boundary_bytes, boundary_known and qps; of several targets `targets`, too.
extern const Fields<Measures> kMeasureFields;

// Node, op, from, to, cause, code, detail and because. `targets`: the names of places.
struct MoveSaid {
  const CheckedMove* move;
  const std::vector<std::string>* targets;
};
extern const Fields<MoveSaid> kMoveFields;

}  // namespace cleave
