// Words of all reports: values, costs, reasons, pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "core/measures/measures.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/lists/costs.h"
#include "formats/report/words/report.h"

namespace cleave {

// ---- value text ----
//
// In a few characters: the type of a value, a signature, an op, an attribute. What is not known of a
// value's size, and the options that state it.

// `float32[1, 64, 112, 112]`; a symbolic dim by its name, an unknown one as ?; `float32[...]` when
// the rank is unknown, `tensor` when the dtype is too; `tuple`, `scalar`, ... for a non-tensor. At
// most 16 dims, then "...". Names are escaped.
std::string type_text(const Graph& graph, ValueId value);

// "(float32, -, bias=float32)"; - is an input that is not a tensor of known dtype.
std::string signature_text(const Signature& signature);

// `3`, `true`, `"SAME_UPPER"`, `[1, 1, 2, 2]`; of a list at most 8 items, of a string at most 60
// characters; `...` for what is not read, such as a tensor.
std::string attribute_text(const AttributePools& pools, const Attribute& attribute);

// One line: `input "n" is a tuple: lowering may stumble over it`; `bytes of "x" float32[N, 3] are
// not known: give --dim N=SIZE`.
std::string hazard_text(const Graph& graph, const Hazard& hazard);

// What makes the size of a tensor known: the option `--dim N=SIZE`, or advice if no option does.
std::string size_mend(const Graph& graph, ValueId value);

// `--dim N=SIZE --dim M=SIZE` for the named dims of the graph's inputs, at most five; then
// `--input-shape x=1,3,224,224` for inputs with a dim that has no name, whose sizes `likely` knows; of one that
// it does not know, SIZE.
std::string dim_options(
    const Graph& graph,
    const std::function<std::optional<std::int64_t>(ValueId, std::size_t)>& likely);

// ---- option words ----
//
// Options that were tried, in words.

// "--fold write", "--min-acc-module-size 3"
std::string option_text(const OptionTrial& trial);

// `--fold write gives 1 accelerator partition instead of 5, 12 MiB over the link instead of 40 MiB`: what
// the best trial changes; "" when none gains.
std::string best_option_text(const OptionTrials& trials);

// ---- failed part text ----

// `input 0 is float32, wants int8 or int16: quantise it`, where the type says that the node is of a model
// that is not quantised, or that is: what else fails follows from that. Empty where no type does.
std::string quantised_model_text(const std::vector<FailedPart>& parts);

// `attribute group is 32, wants 1; input 0 is int64, wants float32`; escaped.
std::string failed_parts_text(const std::vector<FailedPart>& parts);

// ---- reason text ----
//
// Reasons as text. Every report and drawing, and `explain`, takes them from here. Patterns of support
// lists: which match accepts a node, and why none does. Nodes that are accepted on trust, by rule.

struct Report;

// The data needed to turn a reason into text.
struct ReasonContext {
  const Graph& graph;
  const std::vector<SupportList>& lists;
  const OpFacts& facts;
  std::size_t min_acc_size = 1;
  const Support* support = nullptr;  // null: nothing is said about matches of patterns
  // Of several targets: all of them, whose reasons these are, and where nodes are. Empty: there is one
  // accelerator.
  std::span<const Target> targets = {};
  TargetId target = TargetId{0};
  const Partition* partition = nullptr;
};

// The context of a report, which must outlive it.
ReasonContext reason_context(const Report& report);
// The context of the reasons of one of several targets.
ReasonContext reason_context(const Report& report, TargetId target);

// "npu", of several targets; else "acc"; "CPU" for parts that are on none.
std::string device_name(const Report& report, PartId part);

// One line, lower case, no full stop: `rule "Conv" of npu.json:12 fails: input 0 is int64, wants
// float32 or float16`; `reads "n" (tuple), made by CPU node "size"`.
std::string reason_text(const ReasonContext& context, NodeId node, const Reason& reason);

// A code in a few words, for a button or a table: "no rule", "subgraph too small". Empty for none.
std::string_view reason_code_words(ReasonCode code);

// The text that all nodes with one cause share: `the list does not have op "Foo"`, `rule "Conv" of
// npu.json:12 fails`.
std::string cause_text(const ReasonContext& context, NodeId node, const Reason& reason);

// What there is to add about the node beyond its cause; may be empty.
std::string detail_text(const ReasonContext& context, NodeId node, const Reason& reason);

// `samples/npu.json:12`, or the list's name when it has no path.
std::string rule_place(const SupportList& list, const Rule& rule);

// `denied by npu.json:29 for name "top_2" (accuracy)`.
std::string deny_rule_text(const SupportList& list, const Rule& rule);

// CPU nodes with one cause, in model order.
struct Cause {
  std::string text;
  std::vector<NodeId> nodes;
};

// The causes of all nodes on the CPU: the most frequent first, then by their first nodes. Leaves
// out nodes without a reason. Linear, plus sorting the causes.
std::vector<Cause> group_by_cause(const ReasonContext& context, const PerNode<Reason>& reasons);

// `pattern "layer norm" of npu.json:12`
std::string pattern_place(const SupportList& list, const Pattern& pattern);
std::string pattern_place(const ReasonContext& context, const PatternMatch& match);

// The matches by pattern, in the order of the lists: `"layer norm" 2 times`.
std::string pattern_counts_text(const ReasonContext& context, const PatternMatches& matches);

struct UncheckedRule {
  std::uint16_t list;
  std::uint32_t rule;  // an allow rule, or a pattern
  bool is_pattern;
  std::vector<NodeId> nodes;  // in model order
};

// The rule with the most nodes first; if several are equal, the first in the lists.
std::vector<UncheckedRule> unchecked_rules(const Support& support);

// `rule "Resize" of coreml.json:12: sizes must be constants`
std::string unchecked_text(const std::vector<SupportList>& lists, const UncheckedRule& rule);

// ---- cost words ----
//
// Costs in words and as fields of reports: the link, the numbers of the machine, files of times, a
// calibration, and the time of an inference.

// "gen4x16 (31.5 GB/s)"
std::string link_text(const Link& link);

// What differs between two machines: "launch: 9 ms, was 500 us".
std::vector<std::string> changed_numbers(const Machine& before, const Machine& now);

// "times (--costs, --target): all on the CPU 30 ms, was 20 ms"; "" when they are equal or unknown.
std::string changed_times(std::optional<double> was_us, std::optional<double> is_us);

// `p.json (an ONNX Runtime profile, median of 5 runs): 98.2% of 31.7 ms matched (96.1% by name, 2.1%
// by order), 140 of 159 nodes, 12 of them fused into others`
std::string costs_text(const ModelCosts& costs);

// The largest times without a node: `"ReorderOutput" 43 us, "Transpose" 12 us and 3 more`; empty
// when there are none.
std::string unmatched_text(const ModelCosts& costs);

struct CalibratedModel {
  std::string name;
  std::size_t kernels = 0;
  std::size_t unused = 0;
};

// `2,100 kernels of 9 models; typical error of a node 1.4x, of a model 1.15x (each model
// predicted from the others)`, then a row for each model and for each op.
std::string calibration_text(const Calibration& calibration,
                             const std::vector<CalibratedModel>& models);

// True when a time of some node is known on either device: then the report begins with latency.
bool has_times(const InferenceTime& time);

// `latency 17.1 ms: 4.8 CPU + 2.7 acc + 3.5 link + 6.1 for 61 launches; all on the CPU 36.8 ms
// (2.2x); 15.3 ms is possible (--place cost)`. If the total is unknown: the known terms, and the
// option that is missing.
std::string latency_headline(const Graph& graph, const InferenceTime& time);

// "times of the accelerator are missing: give --costs acc=FILE or ...": what is missing from the
// total for the user's setting, and the options that provide it; empty when the total is known.
std::string missing_number_text(const Graph& graph, const InferenceTime& time);

// How much of the time of nodes was measured: "measured 95%", "estimated", or, if the devices
// differ, "CPU measured 100%, accelerator estimated".
std::string measured_text(const MeasuredShares& shares);

// "12.7% of the profile's time (4.37 ms) is of kernels that match no node, and in no figure"; empty
// for less than 1% and where it decides nothing.
std::string unmatched_time_text(const InferenceTime& time);

// Where the times of nodes come from, device by device.
std::string times_text(const Graph& graph, const InferenceTime& time);

// Compares what crosses the link with and without residency, and, of a link that was given, the rates;
// empty when there is no difference.
std::string residency_text(const InferenceTime& time, bool is_link_given);

// Of several targets whose draw is known: "3.2 mJ: 1.1 mJ npu + 0.9 mJ gpu + ...; all on the CPU 9 mJ (2.8x)",
// and, where they were placed for it, what asking them in order takes and the bound; else empty.
std::string energy_text(const InferenceTime& time);

// With --overlap on: "7.2 ms where partitions of different devices run at the same time (1.3x); ..." and the
// partitions that decide it; else empty.
std::string overlap_text(const InferenceTime& time, const Partition& partition);

// The time of a part for tables: "1.2 ms", or "?" when it is unknown.
std::string part_time_text(const PartLatency& part);

// In and out, and directly between targets.
std::uint64_t total_bytes(const LinkBytes& bytes);

// The inferences per second that the link allows with this latency; nullopt: not known, or no bound.
std::optional<double> shared_qps(const InferenceTime& time, const Latency& latency);

// ---- list warnings ----
//
// Warnings on support lists that hardly fit the model: lists that put no node on the accelerator, rules
// that name no op of it, verdicts on nodes that it does not have.

// One warning for each idle list, for the file as a whole.
Diagnostics idle_list_warnings(const SplitInput& input);

// The end of the names of lists that `cleave lower` writes.
inline constexpr std::string_view kLearnedSuffix = " (learned)";

// A warning for each list that `cleave lower` learned and that is given beside others: what it
// denies, another list may accept.
Diagnostics overruled_list_warnings(const std::vector<SupportList>& lists);

// Whether the list is the one of core ATen, and how to make a program of torch one that it accepts, of which it
// refuses so many nodes.
bool is_core_aten(const SupportList& list);
std::string core_aten_text(std::size_t refused);

// One warning for each list of verdicts on nodes that the model does not have. Linear.
Diagnostics idle_verdict_warnings(const SplitInput& input);

// One warning for each near miss, at the position of the rule.
Diagnostics near_miss_warnings(const SplitInput& input);

// ---- open size words ----
//
// Numbers that depend on open dims, in words and as fields of reports.

// `2.33 MFLOP x N`, `108 kFLOP x N x H + 2 kFLOP x N`; where it is no polynomial of at most three terms,
// `3.6 GFLOP at N=1, H=224`; "at least" before it where something is left out.
std::string open_flops_text(const OpenSizes& sizes, const OpenNumber& flops);

// The same for a cell of a table, which has room for one term: `12 KiB x N`, or `588 KiB @`, which
// first_sizes_text() explains.
std::string open_flops_cell(const OpenNumber& flops, const OpenSizes& sizes);
std::string open_bytes_cell(const OpenNumber& bytes, const OpenSizes& sizes);

// "N=1, H=224": where numbers are given that are no polynomials.
std::string first_sizes_text(const OpenSizes& sizes);

// "H and W in steps of 32": between which sizes products do not hold; "" where they hold for all.
std::string steps_text(const OpenSizes& sizes);

// {"expression": "2331136*N", "at_first": 2331136, "is_partial": false}
struct OpenNumberSaid {
  const OpenSizes* sizes;
  const OpenNumber* number;
};
extern const Fields<OpenNumberSaid> kOpenNumberFields;

// The object "open_sizes" of a model.
extern const Fields<OpenSizes> kOpenSizesFields;

// ---- page ----
//
// A text report: lines, facts with a label, tables, lists. A terminal breaks long lines: see shown_on().

class Page {
 public:
  // A sentence, or several.
  void line(std::string_view text, std::size_t indent = 0) { text_ += as_line(text, indent); }
  void lines(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) line(text);
  }
  void blank() { text_ += '\n'; }
  // A blank line, then the title of what follows.
  void heading(std::string_view title) { text_ += '\n' + std::string(title) + '\n'; }

  // "label    text": the text begins in this column, or behind a longer label.
  void fact(std::string_view label, std::string_view text, std::size_t column);
  // "  1,204  text", where numbers are `width` columns wide and end in one column.
  void counted_fact(std::size_t count, std::string_view text, std::size_t width);

  // A blank line, then the table.
  void table(const TextTable& table) { text_ += '\n' + table.text(); }
  // The same with a note below each row, the headings' row first; "" for none. Of a note at most `most`
  // columns are shown.
  void table(const TextTable& table, const std::vector<std::string>& notes, std::size_t most);

  // What a list leaves out: see CappedList::rest().
  void rest(const CappedList& list, std::string_view text) { rest(list, text, text); }
  void rest(const CappedList& list, std::string_view one, std::string_view many);

  // Text that was made elsewhere: whole lines.
  void add(std::string_view lines) { text_ += lines; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// ---- screen ----

// What standard output is shown on.
struct Screen {
  std::size_t columns = 0, rows = 0;  // 0: no terminal
  bool has_colour = false;
};

// A report as it is shown there: lines are as long as the terminal is wide, verdicts, sides and failures have colour,
// and where the report is longer than the terminal, its conclusion stands at the end as well.
std::string shown_on(std::string_view report, const Screen& screen);

// ---- progress text ----
//
// The progress of work, as a line for a terminal.

// `reading m.json [#####...............] 25%, 52 MiB of 208 MiB, 71 MiB/s, 3 s left`, after
// `seconds` of the task. With fewer columns the bar is shorter, then left out, then the line is
// cut.
std::string progress_line(const WorkDone& work, std::string_view subject, double seconds,
                          std::size_t columns);

// The same for a log: "round 1, compile m.onnx: 2 of 17 partitions, 1 min 30 s so far".
std::string log_line(const WorkDone& work, std::string_view subject, double seconds);

// "3 s", "1 min 20 s", "2 h 5 min"
std::string time_left_text(double seconds);

// ---- worth words ----
//
// The verdict on a split, in words and as a field of reports.

// "yes", "maybe", "no"
std::string_view answer_name(Worth answer);

// `worth it: NO: 29 round trips to the accelerator for 60 nodes; "GlobalAveragePool" alone makes 12 of
// 28 CPU partitions (cleave advise)`: the criteria that decided, or all of them for a YES. "" for a
// model without nodes.
std::string worth_text(const Report& report);

// The field "verdict"; nullopt for a model without nodes.
struct VerdictSaid {
  WorthVerdict verdict;
  std::string why;
};
extern const Fields<VerdictSaid> kVerdictFields;
std::optional<VerdictSaid> verdict_of(const Report& report);

}  // namespace cleave
