// A split from files to numbers: reads the model and the lists, runs the passes, and looks for
// likely mistakes of the user. Prints nothing; warnings are part of the result.
//
//   SplitRequest request{.model = {.path = "m.onnx"}, .lists = {.paths = {"npu.json"}}};
//   auto job = run_split(request);
//   if (job) puts(report_text(job->report()).c_str());
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "core/base/progress.h"
#include "core/cost/target_spec.h"
#include "core/measures/preview.h"
#include "core/split/split.h"
#include "core/study/inference_time.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/models/model_file.h"
#include "formats/report/words/report.h"
#include "formats/run/jobs/job_fault.h"

namespace cleave {

struct ModelRequest {
  std::string path;  // "-": standard input
  ShapeBindings bindings = {};
  ModelLimits limits = {};
};

// What decides which nodes the accelerator takes.
struct ListsRequest {
  std::vector<std::string> paths = {};     // of support lists
  std::vector<std::string> verdicts = {};  // of files of verdicts
  std::vector<std::string> deny = {};      // ops or names of nodes, also globs
  bool all_of = false;                     // a node must be accepted by each list, not by any
};

struct SplitRequest {
  ModelRequest model;
  ListsRequest lists = {};
  SplitOptions options = {};
  std::optional<Link> link = {};  // nullopt: the first link that a list names, else the default
  std::vector<TargetSpec> targets = {};   // --target: they win over the numbers in lists
  std::vector<CostSource> costs = {};     // --costs; not read where the caller has read them
  std::vector<std::string> require = {};  // nodes, globs or ops that PlaceBy::cost leaves
};

// All that was read and computed. Reports refer to it, so it must outlive them.
class SplitJob {
 public:
  const LoadedModel& model() const { return *model_; }
  // With the shapes that profiles saw; model().graph has the declared ones.
  const Graph& graph() const { return *graph_; }
  const std::vector<SupportList>& lists() const { return lists_; }
  const OpFacts& facts() const { return facts_; }
  const Split& split() const { return *split_; }
  const CostSet& costs() const { return costs_ != nullptr ? *costs_ : own_costs_; }
  const InferenceTime& time() const { return *time_; }
  // Warnings of the files' readers, about rules that name no op of the model, and about lists
  // without effect.
  const Diagnostics& warnings() const { return warnings_; }

  // A report with the job's notes and then `more_notes`.
  Report report(std::vector<std::string> more_notes = {}) const;
  // The reason of a node on the CPU, in words; "" for a node on the accelerator.
  std::string why_on_cpu(NodeId node) const;

 private:
  friend class SplitJobMaker;
  std::unique_ptr<LoadedModel> own_model_;  // null when the model belongs to the caller
  const LoadedModel* model_ = nullptr;
  std::optional<Graph> graph_;
  CostSet own_costs_;
  const CostSet* costs_ = nullptr;  // null: own_costs_
  std::vector<SupportList> lists_;
  OpFacts facts_;
  SplitOptions options_;
  std::optional<Split> split_;
  std::optional<Preview> preview_;
  std::optional<InferenceTime> time_;
  std::vector<std::string> notes_;
  Diagnostics warnings_;
};

// On error: the faults of all lists and of the model, or why the options cannot be met.
Result<SplitJob, JobFault> run_split(const SplitRequest& request, const Progress& progress = {});

// The same for a model, and what was measured of it, that were read before and outlive the job;
// request.model and request.costs are not used.
struct ListsRead;
struct ReadModel {
  const LoadedModel& model;
  const CostSet* costs = nullptr;    // null: nothing was measured
  const ListsRead* lists = nullptr;  // read before, need not outlive the job; null: request.lists
};
Result<SplitJob, JobFault> run_split(const ReadModel& model, const SplitRequest& request,
                                     const Progress& progress = {});

struct ListsRead {
  std::vector<SupportList> lists;
  Diagnostics warnings;
};

// Reads all lists, in this order: those of the paths, a list of what is denied, the verdicts. On
// error: the faults of all files.
Loaded<ListsRead> read_lists(const ListsRequest& request);

// Warnings about items of --deny that are neither an op nor the name of a node of the model.
Diagnostics idle_denial_warnings(const Graph& graph, const std::vector<SupportList>& lists);

// `asked`, else the first link that a list names, else the default.
Link choose_link(const std::optional<Link>& asked, const std::vector<SupportList>& lists);

// The options with the numbers of the devices: those of the first list that has any, those of
// `targets` instead where given, and the calibrated times of ops in `costs`.
SplitOptions with_devices(SplitOptions options, const std::vector<SupportList>& lists,
                          const std::vector<TargetSpec>& targets, const CostSet& costs);

}  // namespace cleave
