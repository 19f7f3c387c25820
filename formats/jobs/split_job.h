// A split from files to numbers: reads the model and the lists, runs the passes, and looks for
// likely mistakes of the user. Prints nothing; warnings are part of the result.
//
//   SplitRequest request{.model = {.path = "m.onnx"}, .lists = {"npu.json"}};
//   auto job = run_split(request);
//   if (job) puts(report_text(job->report()).c_str());
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "core/base/progress.h"
#include "core/measures/preview.h"
#include "core/split/split.h"
#include "formats/jobs/job_fault.h"
#include "formats/model_file.h"
#include "formats/report/words/report.h"

namespace cleave {

struct ModelRequest {
  std::string path;  // "-": standard input
  ShapeBindings bindings = {};
  ModelLimits limits = {};
};

struct SplitRequest {
  ModelRequest model;
  std::vector<std::string> lists;  // paths of support lists
  SplitOptions options = {};
  std::optional<Link> link = {};  // nullopt: the first link that a list names, else the default
};

// All that was read and computed. Reports refer to it, so it must outlive them.
class SplitJob {
 public:
  const LoadedModel& model() const { return *model_; }
  const Graph& graph() const { return model_->graph; }
  const std::vector<SupportList>& lists() const { return lists_; }
  const OpFacts& facts() const { return facts_; }
  const Split& split() const { return *split_; }
  // Warnings: from the readers of the files, about rules that name no op of the model, and about
  // lists without effect.
  const Diagnostics& warnings() const { return warnings_; }

  // A report with the job's notes and then `more_notes`.
  Report report(std::vector<std::string> more_notes = {}) const;
  // The reason of a node on the CPU, in words; "" for a node on the accelerator.
  std::string why_on_cpu(NodeId node) const;

 private:
  friend class SplitJobMaker;
  std::unique_ptr<LoadedModel> own_model_;  // null when the model belongs to the caller
  const LoadedModel* model_ = nullptr;
  std::vector<SupportList> lists_;
  OpFacts facts_;
  SplitOptions options_;
  std::optional<Split> split_;
  std::optional<Preview> preview_;
  std::vector<std::string> notes_;
  Diagnostics warnings_;
};

// On error: the faults of all lists and of the model, or why the options cannot be met.
Result<SplitJob, JobFault> run_split(const SplitRequest& request, const Progress& progress = {});

// The same for a model that was read before and outlives the job; ignores request.model.
Result<SplitJob, JobFault> run_split(const LoadedModel& model, const SplitRequest& request,
                                     const Progress& progress = {});

struct ListsRead {
  std::vector<SupportList> lists;
  Diagnostics warnings;
};

// Reads all lists; on error, the faults of all of them.
Loaded<ListsRead> read_lists(const std::vector<std::string>& paths);

// `asked`, else the first link that a list names, else the default.
Link choose_link(const std::optional<Link>& asked, const std::vector<SupportList>& lists);

}  // namespace cleave
