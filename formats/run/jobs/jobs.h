// Jobs of the splitter, from files to files, without a command line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "core/measures/measures.h"
#include "core/split/options.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/model.h"
#include "formats/lists/costs.h"
#include "formats/lists/options.h"
#include "formats/models/models.h"
#include "formats/onnx/write/writer.h"
#include "formats/pt2/pt2.h"
#include "formats/report/words/report.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- lists read ----
//
// The support lists of a request, read target after target.

struct ListsRead {
  std::vector<SupportList> lists;
  Diagnostics warnings;
  std::vector<Target> targets = {};  // each with its lists; empty: one target has them all
};

// Reads all lists, target after target, in this order: those of the paths, a list of what is denied,
// the verdicts. On error: the faults of all files.
Loaded<ListsRead> read_lists(const ListsRequest& request);

// ---- model ties ----
//
// The constraints that a model puts on its split besides the flow of data (NodeTies of core/split/split.h).

// Of operators of torch.export programs that write in place, of variables of TensorFlow Lite, and of
// ONNX nodes that share a compiled context; other models have no ties.
NodeTies model_ties(const LoadedModel& model);

// ---- split job ----
//
// A split from files to numbers: reads the model and the lists, runs the passes, and looks for
// likely mistakes of the user. Prints nothing; warnings are part of the result.
//
//   SplitRequest request{.model = {.path = "m.onnx"}, .lists = {.paths = {"npu.json"}}};
//   auto job = run_split(request);
//   if (job) puts(report_text(job->report()).c_str());

// All that was read and computed. Reports refer to it, so it must outlive them.
class SplitJob {
 public:
  const LoadedModel& model() const { return *model_; }
  // With the shapes that profiles saw; model().graph has the declared ones.
  const Graph& graph() const { return *graph_; }
  const std::vector<SupportList>& lists() const { return lists_; }
  // In the order in which they are asked; at least one.
  const std::vector<Target>& targets() const { return targets_; }
  const OpFacts& facts() const { return facts_; }
  const Split& split() const { return *split_; }
  const CostSet& costs() const { return costs_ != nullptr ? *costs_ : own_costs_; }
  const InferenceTime& time() const { return *time_; }
  // Between the host and the accelerator; of several targets that of the one whose link bounds the rate.
  const Link& link() const { return preview_->link; }
  // What the split was made from, as it was asked for.
  const SplitRequest& request() const { return request_; }
  // The nodes that PlaceBy::cost leaves on the accelerator; null: none was named.
  const NodeSet* required() const { return request_.require.empty() ? nullptr : &required_; }
  // The placements that were found for it, for splits of its model under other options.
  FoundPlacements* found_placements() const { return found_placements_.get(); }
  // Warnings of the files' readers, about rules that name no op of the model, and about lists
  // without effect.
  const Diagnostics& warnings() const { return warnings_; }

  // A report with the job's notes and then `more_notes`.
  Report report(std::vector<std::string> more_notes = {}) const;
  // A note on each target that holds more bytes or partitions than it can. A note that does not apply is "".
  std::vector<std::string> limit_notes() const;
  // The reason of a node on the CPU, in words; "" for a node on the accelerator.
  std::string why_on_cpu(NodeId node) const;

 private:
  friend class SplitJobMaker;
  SplitRequest request_;
  std::unique_ptr<LoadedModel> own_model_;  // null when the model belongs to the caller
  const LoadedModel* model_ = nullptr;
  std::optional<Graph> graph_;
  CostSet own_costs_;
  const CostSet* costs_ = nullptr;  // null: own_costs_
  std::vector<SupportList> lists_;
  std::vector<Target> targets_;
  OpFacts facts_;
  SplitOptions options_;
  NodeSet required_{0};
  std::unique_ptr<FoundPlacements> found_placements_ = std::make_unique<FoundPlacements>();
  std::optional<Split> split_;
  std::optional<Preview> preview_;
  std::optional<InferenceTime> time_;
  std::vector<std::string> notes_;
  Diagnostics warnings_;
};

// What the caller has read. Null: run_split() reads what the request names. With a model, `costs`
// are those of that model, and null means that nothing was measured. The model and the costs must
// outlive the job.
struct InputsRead {
  const LoadedModel* model = nullptr;
  const CostSet* costs = nullptr;
  const ListsRead* lists = nullptr;
  // The placement that PlaceBy::cost takes for this problem; null: it searches.
  const FoundPlacements::Found* placed = nullptr;
  // Refuses a model before it is split, as one of a format that what is asked for is not made of.
  std::function<Status<Fault>(const LoadedModel&)> check = {};
  // True: run_split() says nothing of requirements that are not met, since the caller has or will.
  bool are_requirements_told = false;
};

// On error: the faults of all lists and of the model, or why the options cannot be met.
Result<SplitJob, Fault> run_split(const SplitRequest& request, const Progress& progress = {},
                                  const InputsRead& read = {});

// Warnings of targets that hold more than they can, for commands whose report has no notes.
Diagnostics limit_warnings(const SplitJob& job);

// The options with the numbers of the devices: those of the first list that has any, those of
// `targets` instead where given, and the calibrated times of ops in `costs`.
SplitOptions with_devices(SplitOptions options, const std::vector<SupportList>& lists,
                          const std::vector<TargetSpec>& targets, const CostSet& costs);

// ---- measured shapes ----
//
// Reads the costs of a model, and lets the sizes that a profile saw bind the symbolic dims of the
// model's inputs: then all shapes that follow from them are known, also those of nodes that the
// runtime fused or renamed.

// Refuses --costs NAME=FILE where no list makes a target NAME, and there is no file of that whole name. To be
// asked before the files are read.
Status<> check_cost_targets(const SplitRequest& request);

// The costs, matched with the shapes that follow; `inferred` has these, and observed_shapes() has all. The model's graph
// keeps the declared shapes. The model's notes on shapes that stay unknown are replaced by those that hold with the dims
// bound. Dims for which two files saw different sizes are not bound, with a warning. If a profile saw a dim, the model
// is read again.
Loaded<CostSet> read_costs_and_shapes(std::span<const CostSource> sources, LoadedModel& model);

// ---- open sizes ----
//
// Finds how work and bytes depend on open dims, without algebra: the model is read again with a few
// sizes, its shapes are inferred, and the numbers are interpolated and checked on further sizes.

// nullopt where no dim of an input is open, where more than four are, where the model takes none of the
// sizes or becomes another graph, and for models so large that reading them 10 to 100 times takes long
// (300,000 nodes in all). `split`: of the model's graph; null: only the FLOPs of the whole.
std::optional<OpenSizes> find_open_sizes(const LoadedModel& model, const Split* split);

// The shapes of the model at the first of these sizes. Reads the model again; empty where it does not take them.
ShapeOverlay shapes_at_first(const LoadedModel& model, const OpenSizes& sizes);

// The same as find_open_sizes() of the job's split; nullopt also where files of --costs were read: their times and shapes
// are those of certain sizes, so there are no products.
std::optional<OpenSizes> open_sizes_of(const SplitJob& job);

// A report and the open sizes that it has; refers to the job.
struct FullReport {
  Report report;
  std::unique_ptr<OpenSizes> sizes;  // null: none
};
FullReport full_report(const SplitJob& job, std::vector<std::string> more_notes = {});

// ---- open times ----
//
// Times of nodes that are not known because sizes of the model's inputs are open. A choice by times would count
// them as 0, and send every node to the CPU.

// "--goal flops goes by FLOPs, and those of 42 of 58 nodes are not known, since sizes are open"
std::string open_numbers_text(const Graph& graph, const std::string& option,
                              const std::string& numbers, std::size_t unknown);

// Why a split by times cannot be made, with the options that give the sizes; nullopt where it can: the options do
// not ask for times, no size is open, or every node has a time on each device that may run it, as measured times
// give it. `graph`: the model's, with observed shapes. `split`: null where none was made: then only times on the
// CPU are looked at. Linear.
std::optional<Fault> open_times_fault(const LoadedModel& model, const Graph& graph,
                                      const Split* split, const SplitOptions& options,
                                      const TargetTimes& times);

// Why the subgraphs that are worth most cannot be kept: partitions are dropped by their FLOPs, or by times made of
// them, that are not known since sizes are open. They would count as 0. nullopt where nodes are what counts. Linear.
std::optional<Fault> open_worth_fault(const LoadedModel& model, const Graph& graph,
                                      const Split& split, const SplitOptions& options);

// ---- try options ----
//
// Tries the options of a split that may matter most; folding reads the models again.

// nullopt for jobs of several targets, and where a split is refused. The jobs share lists and options.
// `sized`: their graphs with sizes of open dims, for bytes and FLOPs; may be empty.
std::optional<OptionTrials> try_options(std::span<const SplitJob> jobs,
                                        std::span<const Graph> sized = {});

// The note of a report that names the best option; "" when none gains, for several targets, and where ten more splits
// take too long for a first look: for models of more than 5,000 nodes, or with very many rules.
std::string option_note(const SplitJob& job);

// What `cleave preview` prints: with this note.
FullReport preview_report(const SplitJob& job);

// For each of these nodes that a rule refuses: what makes a list accept it without a change of the list, "--fold write",
// or "cleave convert --opset 13 converts the model"; of an If the inputs that decide it; "" where nothing is known. Reads
// an ONNX model again, with known nodes folded.
std::vector<std::string> ways_out(const SplitJob& job, std::span<const NodeId> nodes);

// ---- write models ----
//
// Writes the partitions of a split or of a partition map, or the stages of a pipeline.

// The output folder: a new one, or, with referenced weights, the folder that contains them. Refuses
// a folder that cleave did not write, unless it is empty.
Loaded<OutputFolder> open_output(const std::string& path, bool force,
                                 const OnnxWriteOptions& options);

// What to write: each partition, and the root, which calls the partitions.
struct ModelPieces {
  const Partition& partition;
  const Boundaries& parts;
  const Boundaries& root;
  std::vector<std::string> devices = {};   // by part, "" for none; empty: none at all
  bool are_stages = false;                 // of a pipeline, in order
  std::vector<std::string> backward = {};  // backward_nodes(); empty: the root only calls forward
  PartFiles files = PartFiles::one_a_part;
  TfliteLift tflite_lift = TfliteLift::shared;
};

struct WrittenModels {
  std::vector<std::string> part_files;  // by part; "" for one that was not written
  std::vector<std::string> notes;       // for the report
  std::string chain = {};               // for the manifest; empty: partitions are called as listed
};

// Writes the files of write_onnx_split() for a model read from ONNX, those of write_pt2_split() for a
// torch.export archive, and those of write_tflite_split() for a TensorFlow Lite model. For native
// JSON it writes `<part>.json` and `root.json`, and uses only options.progress. A backward pass goes
// to root.json in any case, since ONNX has no operators for it.
Result<WrittenModels, Fault> write_models(const LoadedModel& model, const ModelPieces& pieces,
                                          const OnnxWriteOptions& options,
                                          const OutputFolder& folder);

// ---- write split ----
//
// What `cleave split` writes, of the command and of the library alike.

// Which drawings: none, those of the model and of the split, or also of each partition.
enum class Drawings : std::uint8_t { none, summary, all };

struct SplitFiles {
  OnnxWriteOptions onnx = {};
  PartFiles part_files = PartFiles::one_a_part;
  TfliteLift tflite_lift = TfliteLift::shared;
  // Of phases: KEY=VALUE of genai_config.json; nullopt: none is written.
  std::optional<std::vector<std::string>> genai = {};
  std::optional<Drawings> drawings = {};  // nullopt: of each partition, too, if these are few
  std::uint32_t opset = 0;                // of parts and root; 0: the model's
  // Converts what was written to this opset.
  std::function<Status<Fault>(const OutputFolder&, std::uint32_t)> convert = {};
  // Writes other forms of the report.
  std::function<Status<Fault>(const Report&, const OutputFolder&)> report = {};
  // Runs what was written, by its manifest, and adds what it took and made. The split is complete, too, when this is
  // infeasible.
  std::function<Status<Fault>(const OutputFolder&, ModelFormat)> capture = {};
};

// Refuses what models of the format cannot be written with: to be asked before they are split.
Status<Fault> check_split_files(const SplitFiles& files, const LoadedModel& model);

struct SplitWritten {
  FullReport full;
  std::vector<std::string> warnings = {};  // what the user may not expect of the files
  std::vector<std::string> told = {};      // other messages
  std::optional<Fault> not_captured = {};  // why
};

// Writes the partitions, the root, report.txt, drawings, plans and the manifest, and commits the folder.
Result<SplitWritten, Fault> write_split(const SplitJob& job, const SplitFiles& files,
                                        OutputFolder& folder, const Progress& progress = {});

// ---- phases ----
//
// A model that is split once for each of its phases: a prompt, 64 tokens at a time, then one token at a time. Each
// phase has sizes of its own, and perhaps targets; weights are written once.

struct PhaseJobs {
  std::vector<Phase> phases;
  std::vector<SplitJob> jobs;  // of each
  TokenCounts tokens = {};
};

// Makes the split of each of the request's phases, which are one or more; with PlaceBy::cost all are placed together.
// Refuses models of other formats than ONNX, standard input, which cannot be read twice, and phases that fix the size
// of a growing state where no mask or no positions say what of it is padding.
Result<PhaseJobs, Fault> run_phases(const SplitRequest& request, const Progress& progress = {});

// Refers to the jobs.
struct FullPhases {
  std::vector<FullReport> full;
  PhasesReport report;
};
FullPhases full_phases(const PhaseJobs& jobs);

// ---- growth ----

// The split at five sizes of the request's range: its ends and three between. Where the answer whether it is worth it
// changes between two, also at the last size before the change and at the first after it. Refuses where another size
// stays open.
Result<PhaseJobs, Fault> run_growth(const SplitRequest& request, const Progress& progress = {});

// Refers to the jobs, which are those of run_growth().
struct FullGrowth {
  std::vector<FullReport> full;
  GrowthReport report;
};
FullGrowth full_growth(const DimRange& range, const PhaseJobs& jobs);

struct PhasesWritten {
  FullPhases full;
  std::vector<std::string> warnings;  // what the user may not expect of the files
};

// Writes PHASE.PART.onnx and PHASE.root.onnx of each phase, weights.bin of all, genai_config.json if that is asked for,
// report.txt and the manifest, and commits the folder. Refuses phases that need other weights than the first.
Result<PhasesWritten, Fault> write_phases(PhaseJobs& jobs, const SplitFiles& files,
                                          OutputFolder& folder, const Progress& progress = {});

}  // namespace cleave
