// What reports of a split are made of, and the values that they share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "core/measures/measures.h"
#include "core/split/split.h"
#include "formats/base/fields.h"
#include "formats/base/json.h"
#include "formats/base/model.h"
#include "formats/base/text.h"
#include "formats/lists/costs.h"
#include "formats/lists/options.h"

namespace cleave {

// ---- report ----
//
// The data that every report is made from: the model, the settings, the split and its numbers.

// The phase that a report is of, where a model is split once for each.
struct Phase {
  PhaseSpec spec;
  std::string root_file = {};                // "": none was written
  std::optional<std::uint64_t> tokens = {};  // that a run of it takes; nullopt: not known
  std::optional<std::uint64_t> runs = {};    // for all tokens of the report
};

struct Report {
  const LoadedModel& model;
  const Graph& graph;  // the model's, with the shapes that profiles saw
  const std::vector<SupportList>& lists;
  const OpFacts& facts;
  const SplitOptions& options;
  const Split& split;
  const Preview& preview;
  // From the model's reader, the writer and the command; set by the caller.
  std::vector<std::string> notes;
  // By part, "" for one that was not written; empty: none.
  std::vector<std::string> part_files = {};
  const CostSet* costs = nullptr;         // of --costs; null: none
  const InferenceTime* time = nullptr;    // null: it was not asked for
  std::span<const Target> targets = {};   // of several; empty: there is one accelerator
  std::string_view only_target = "acc";   // the name of that one
  const OpenSizes* open_sizes = nullptr;  // null: no dim is open, or they were not sought
  const Phase* phase = nullptr;           // null: the model is split once
  std::string chain = {};  // JSON: how parts that hold state are called; empty: as they are listed
  // Filled by same_shapes(); copies of a report share it.
  std::shared_ptr<std::optional<SameShapes>> shapes = std::make_shared<std::optional<SameShapes>>();

  // find_same_shapes() of the split, found once for all texts that say it. Not for several threads at a time.
  const SameShapes& same_shapes() const {
    if (!*shapes) *shapes = find_same_shapes(graph, split.partition, split.boundaries);
    return **shapes;
  }
};

// cleave.report version 1, as `preview --json` prints it and `split` writes manifest.json. Indented
// by one space a level, ends in a newline; text that is not UTF-8 is escaped.
std::string report_json(const Report& report);
Document report_document();
// The same piece by piece, for a file: a million nodes make hundreds of megabytes.
void report_json(const Report& report, const TakeText& take);

// ---- phases ----
//
// What is said of a model that is split for several phases: a prompt, then one token at a time.

struct DeviceMemory {
  std::string device;
  std::uint64_t weights = 0;  // that any phase reads there, each once
  // The most that a phase holds besides weights; nullopt: not known.
  std::optional<std::uint64_t> values = {};
};

struct PhasesReport {
  std::vector<Report> phases;  // in the order in which they run
  TokenCounts tokens = {};
  std::optional<double> first_us = {};  // until the first token; nullopt: not known
  std::optional<double> token_us = {};  // of each further one
  bool is_first_measured = false, is_token_measured = false;
  // Of state that a phase leaves to the next one on another device, once for each phase but the last; nullopt: sizes
  // are not known.
  std::optional<std::uint64_t> handover_bytes = 0;
  bool has_state = false;
  std::vector<DeviceMemory> memory = {};  // by device, the CPU last
  std::vector<std::string> notes = {};    // set by the caller
};

// A state that a phase leaves to the next.
struct LeftState {
  ValueId written = kNone<ValueId>;  // of the phase that writes it
  ValueId read = kNone<ValueId>;     // of the next one
};
std::vector<LeftState> left_state(const Graph& from, const Graph& to);

// How often each phase runs, by the tokens of a run of it: those that take the most take the prompt, the last of
// them with padding; the one that takes the fewest makes the new tokens. The first of these is the prompt's.
std::vector<std::optional<std::uint64_t>> runs_of_phases(
    std::span<const std::optional<std::uint64_t>> tokens_of_runs, const TokenCounts& tokens);

// The numbers of phases, whose Report::phase is set.
PhasesReport phases_report(std::vector<Report> phases, const TokenCounts& tokens);

std::string phases_text(const PhasesReport& report);
// cleave.phases version 1: `preview --phase --json`, and manifest.json. Each phase is a cleave.report.
std::string phases_json(const PhasesReport& report);
void phases_json(const PhasesReport& report, const TakeText& take);
Document phases_document();

// ---- growth ----
//
// How the numbers of a split grow over the sizes of one dim.

// Numbers at one size, or their mean; nullopt: not known.
struct GrowthRow {
  std::optional<std::uint64_t> size = {};       // nullopt: the mean
  std::optional<double> link_bytes = {};        // into and out of accelerator partitions
  std::optional<double> state_bytes = {};       // also nullopt where there is none
  std::optional<double> us = {};                // of one inference
  std::optional<double> all_cpu_us = {};        // on the CPU alone
  std::optional<std::string_view> answer = {};  // whether the split is worth it
};

struct GrowthReport {
  DimRange range;
  std::vector<GrowthRow> rows;  // by size, ascending
  GrowthRow mean;               // of lines from each size to the next
  // First sizes with another answer than the size before; neighbours among the rows.
  std::vector<std::uint64_t> break_even = {};
  std::vector<Report> ends;  // at the first and the last size
};

// `reports` are at the sizes, two or more.
GrowthReport growth_report(const DimRange& range, std::span<const std::int64_t> sizes,
                           std::span<const Report> reports);
std::string growth_text(const GrowthReport& report);
// cleave.growth version 1. Each end is a cleave.report.
std::string growth_json(const GrowthReport& report);
Document growth_document();

// The report for people, at most 100 columns, conclusion first. No colour.
std::string report_text(const Report& report);

// `preview --show ops`: op types with their dtypes, supported and not, and coverage.
std::string support_report_json(const Report& report);
std::string support_report_text(const Report& report);
Document support_report_document();

// Where a list is about ONNX Runtime's graph: the partitions that the runtime makes of what the lists take; of
// several targets, of what the `target`-th takes and no other one runs.
std::optional<RuntimeGroups> runtime_groups_of(const Report& report, std::size_t target);

// ---- report values ----
//
// What reports say of the model and its lists, of the values that cross between its parts, and of what
// is on the accelerator; notes that answer likely questions of the reader.

// The names of the lists, joined by " + ".
std::string support_name(const std::vector<SupportList>& lists);

// The name of the model's file without .json, .onnx or .pt2; from standard input, the model's own name.
// Escaped.
std::string model_name(const LoadedModel& model);

// "ai.onnx 17, com.microsoft 1"; "" for a model that imports no domain. Escaped.
std::string opsets_text(const Graph& graph);
// The field "opsets" of reports; the default domain is "".
extern const Fields<OpsetImport> kOpsetFields;

// The parameters that no node makes.
std::size_t count_given_parameters(const Graph& graph);

// The field "state" of reports and manifests: a pair.
struct StateSaid {
  const Graph& graph;
  const StatePair& pair;
  std::optional<std::string_view> partition = {};
  std::optional<std::string_view> device = {};
};
extern const Fields<StateSaid> kStateFields;
// With a partition, also of which part writes it, and with its report, on which device.
std::vector<StateSaid> state_of(const Graph& graph, const Partition* partition = nullptr,
                                const Report* report = nullptr);
// "kept on npu", where what writes the state runs: "kept on npu (6 of 8) and cpu (2 of 8)"; "" where nothing writes it.
std::string kept_state_text(const Report& report);

// The field "model" of reports.
struct ModelSaid {
  const LoadedModel& model;
  const Graph& graph;
  std::uint64_t parameter_bytes;
};
extern const Fields<ModelSaid> kModelFields;

// The field "files", which only the writer of a manifest fills.
struct ManifestFiles {};
extern const Fields<ManifestFiles> kManifestFields;

// The schema of the field "chain": how parts that hold state are called, as their writers say it.
std::string chain_schema();

// The targets on whose links, which nobody stated, rates or times rest.
std::vector<std::string> assumed_links(const Report& report);

// What gives inputs that decide which branch of an If runs: "--set-input sr=VALUE"; "" for none.
std::string set_input_text(const Graph& graph, std::span<const ValueId> inputs);

// What to give so that sizes become known: `--set-input sr=VALUE` for inputs that decide which branch of an
// If runs, then `--dim N=SIZE`, then `--input-shape x=1,3,224,224` with sizes that fit the model. "" when nothing
// helps. `sizes`: of open dims, at which the report counts; the sizes are these, so that a report has one of each.
// Else reads the model again where an input has a dim without a name.
std::string size_options_text(const LoadedModel& model, const Graph& graph,
                              const OpenSizes* sizes = nullptr);

// A value with its type and bytes.
struct ValueSaid {
  const Graph& graph;
  ValueId id;
};
extern const Fields<ValueSaid> kValueFields;
std::vector<ValueSaid> values_of(const Graph& graph, std::span<const ValueId> values);

// The fields "args" and "kwargs": the dtypes of a node's inputs.
extern const Fields<Signature> kSignatureFields;

// The names of nodes or values.
template <class Ids>
std::vector<std::string_view> each_name(const Graph& graph, const Ids& ids) {
  return each(ids, [&](auto id) -> std::string_view {
    if constexpr (std::same_as<decltype(id), NodeId>) {
      return graph.node(id).name;
    } else {
      return graph.value(id).name;
    }
  });
}

// The field "file": the entry of `files` (by part) for the part; null when none was written.
std::optional<std::string_view> file_of(std::span<const std::string> files, PartId part);

// A sum of bytes: "?" or a trailing "+" when it leaves out what is unknown.
std::string known_bytes_text(std::uint64_t bytes, bool is_all_known);

// The sum of bytes of values that cross; "?" or a trailing "+" when some are unknown.
std::string crossing_text(const Graph& graph, std::span<const ValueId> values, std::uint64_t bytes);

// The same for titles: "588 KiB", "at least 588 KiB", "an unknown size".
std::string crossing_words(const Graph& graph, std::span<const ValueId> values,
                           std::uint64_t bytes);

// True when a tensor that crosses between any part and the rest has unknown size: then the rate that the
// link allows is unknown.
bool has_unknown_bytes(const Preview& preview);

// The rates that the link allows, if all bytes that they depend on are known.
std::optional<double> known_qps(const PartNumbers& numbers);
std::optional<LinkBound> known_bound(const Preview& preview);

// The QPS that the link allows the part, for tables: "9,812", "?" when sizes are unknown, "-".
std::string part_qps_text(const PartNumbers& numbers);

// The cells of tables of partitions and of several devices: a number to sort by, -1 where it is not
// known, and its text.
using Amount = std::pair<double, std::string>;

struct PartCells {
  std::string name, device;
  std::size_t nodes;
  Amount in, out, parameters, flops, qps;
  std::optional<Amount> time;  // where times are known
};
PartCells part_cells(const Report& report, PartId part, bool has_times);
// The heading of PartCells::qps: "QPS at 100GiB/s" of a link that nobody stated, "" where there is none.
std::string rate_heading(const Link& link);
// The same of a report; of several targets "QPS", and "" where no list's device has a link of its own.
std::string rate_heading(const Report& report);

struct DeviceCells {
  std::string name;
  std::optional<std::size_t> target;  // nullopt: the CPU, which has no peak and no rate
  std::size_t nodes, parts;
  std::string work;
  Amount weights;
  std::optional<Amount> peak, compute, link, launches;
  std::string qps;
  std::vector<std::pair<std::uint64_t, std::string>> to;  // bytes to each device
};
// The targets in the order in which they are asked, and last the CPU.
std::vector<DeviceCells> device_cells(const Report& report, bool has_times);

// FLOPs of a part; "?" or a trailing "+" when some are unknown.
std::string work_text(const PartNumbers& numbers);

// `61 of 70 nodes (87.1%) and 99.8% of 3.63 GFLOP on the accelerator`
std::string coverage_text(const Coverages& coverage, std::string_view where);

// "87.1%"; "-" when there is nothing to cover.
std::string share_text(const Coverage& coverage);

// The field "coverage" of reports.
extern const Fields<Coverages> kCoverageFields;

// A blank line, then `note: ...` for each, wrapped; "" if there are none.
std::string notes_text(std::span<const std::string> notes);

// A note if starting on the other side would give fewer subgraphs; otherwise "".
std::string start_note(const Split& split);

// A note if --place cost moved no node because it gains too little; otherwise "".
std::string gain_note(const Split& split);

// "host shapes: 31 nodes, 12 fewer subgraphs"; "" when the option is off.
std::string host_shapes_note(const Split& split, const SplitOptions& options);

// A note on parameters that exceed the accelerator's memory; "" if they do not. It names the way out: only placement
// by cost looks at memory.
std::string memory_note(const Preview& preview, const Machine& machine);

// A note on more accelerator partitions than the accelerator holds; "" if there are not. It names no way out
// that was taken.
std::string part_count_note(const Split& split, const Machine& machine, const SplitOptions& options,
                            bool has_requirements);

// A note on each of several targets that would hold more bytes or partitions than it can, and on each of which
// nobody knows, since sizes are open. Reads the model again where an input has a dim without a name.
std::vector<std::string> target_notes(const LoadedModel& model, const Graph& graph,
                                      std::span<const Target> targets, const Preview& preview,
                                      const InferenceTime& time);

}  // namespace cleave
