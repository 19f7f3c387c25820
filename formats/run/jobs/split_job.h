// A split from files to numbers: reads the model and the lists, runs the passes, and looks for
// likely mistakes of the user. Prints nothing; warnings are part of the result.
//
//   SplitRequest request{.model = {.path = "m.onnx"}, .lists = {.paths = {"npu.json"}}};
//   auto job = run_split(request);
//   if (job) puts(report_text(job->report()).c_str());
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/measures/inference_time.h"
#include "core/measures/preview.h"
#include "core/split/split.h"
#include "formats/models/model_file.h"
#include "formats/report/words/report.h"
#include "formats/run/jobs/lists_read.h"
#include "formats/run/jobs/split_request.h"

namespace cleave {

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
  // True: run_split() says nothing of requirements that are not met, since the caller has or will.
  bool are_requirements_told = false;
};

// On error: the faults of all lists and of the model, or why the options cannot be met.
Result<SplitJob, Fault> run_split(const SplitRequest& request, const Progress& progress = {},
                                  const InputsRead& read = {});

// The options with the numbers of the devices: those of the first list that has any, those of
// `targets` instead where given, and the calibrated times of ops in `costs`.
SplitOptions with_devices(SplitOptions options, const std::vector<SupportList>& lists,
                          const std::vector<TargetSpec>& targets, const CostSet& costs);

}  // namespace cleave
