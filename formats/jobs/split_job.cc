// Steps:
// 1. read the lists and the model;
// 2. warn of rules and lists without effect;
// 3. run the passes;
// 4. count what crosses the link;
// 5. add notes that answer likely questions of the report's reader.
#include "formats/jobs/split_job.h"

#include <utility>

#include "formats/report/words/idle_list_text.h"
#include "formats/report/words/near_miss_text.h"
#include "formats/report/words/reason_text.h"
#include "formats/report/words/split_notes.h"
#include "formats/support/support_file.h"

namespace cleave {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

// Fills a job step by step.
class SplitJobMaker {
 public:
  SplitJobMaker(const SplitRequest& request, const Progress& progress)
      : request_(request), progress_(progress) {}

  Result<SplitJob, JobFault> with_own_model() {
    auto lists = read_lists(request_.lists);
    auto model =
        read_model(request_.model.path, request_.model.bindings, request_.model.limits, progress_);
    if (!lists || !model) return input_fault_of(lists, model);
    take(*std::move(lists));
    append(job_.warnings_, model->warnings);
    job_.own_model_ = std::make_unique<LoadedModel>(*std::move(model));
    job_.model_ = job_.own_model_.get();
    return compute();
  }

  Result<SplitJob, JobFault> with_model(const LoadedModel& model) {
    auto lists = read_lists(request_.lists);
    if (!lists) return JobFault{FaultCause::input, std::move(lists).error()};
    take(*std::move(lists));
    job_.model_ = &model;
    return compute();
  }

 private:
  // Both are read before either is refused, so that one run shows all faults.
  static JobFault input_fault_of(const Loaded<ListsRead>& lists, const Loaded<LoadedModel>& model) {
    Diagnostics faults = lists ? lists->warnings : lists.error();
    append(faults, model ? model->warnings : model.error());
    return {FaultCause::input, std::move(faults)};
  }

  void take(ListsRead lists) {
    job_.lists_ = std::move(lists.lists);
    job_.warnings_ = std::move(lists.warnings);
  }

  Result<SplitJob, JobFault> compute() {
    job_.facts_ = op_facts(*job_.model_);
    job_.options_ = request_.options;
    const SplitInput input{job_.graph(), job_.lists_, job_.facts_,
                           choose_link(request_.link, job_.lists_)};
    append(job_.warnings_, idle_list_warnings(input));
    append(job_.warnings_, near_miss_warnings(input));
    auto split = split_graph(input, job_.options_, progress_);
    if (!split) {
      JobFault fault = job_fault(FaultCause::request, split.error());
      fault.faults.insert(fault.faults.begin(), job_.warnings_.begin(), job_.warnings_.end());
      return fault;
    }
    job_.split_ = *std::move(split);
    job_.options_.subgraphs.min_acc_size = job_.split_->min_acc_size;
    job_.preview_ =
        preview_split(input.graph, job_.split_->partition, job_.split_->boundaries, input.link);
    job_.notes_ = job_.model_->notes;
    for (std::string note :
         {start_note(*job_.split_), host_shapes_note(*job_.split_, job_.options_)}) {
      if (!note.empty()) job_.notes_.push_back(std::move(note));
    }
    return std::move(job_);
  }

  const SplitRequest& request_;
  const Progress& progress_;
  SplitJob job_;
};

Report SplitJob::report(std::vector<std::string> more_notes) const {
  std::vector<std::string> notes = notes_;
  append(notes, more_notes);
  return {*model_, lists_, facts_, options_, *split_, *preview_, std::move(notes)};
}

std::string SplitJob::why_on_cpu(NodeId node) const {
  if (split_->partition.is_acc(split_->partition.part_of[node])) return {};
  const ReasonContext context{graph(), lists_, facts_, options_.subgraphs.min_acc_size};
  return reason_text(context, node, split_->reasons[node]);
}

Result<SplitJob, JobFault> run_split(const SplitRequest& request, const Progress& progress) {
  return SplitJobMaker(request, progress).with_own_model();
}

Result<SplitJob, JobFault> run_split(const LoadedModel& model, const SplitRequest& request,
                                     const Progress& progress) {
  return SplitJobMaker(request, progress).with_model(model);
}

Loaded<ListsRead> read_lists(const std::vector<std::string>& paths) {
  ListsRead read;
  Diagnostics faults;
  for (const std::string& path : paths) {
    auto loaded = read_support_file(path);
    if (!loaded) {
      append(faults, loaded.error());
      continue;
    }
    append(read.warnings, loaded->warnings);
    read.lists.push_back(std::move(loaded->list));
  }
  if (faults.empty()) return read;
  faults.insert(faults.begin(), read.warnings.begin(), read.warnings.end());
  return faults;
}

Link choose_link(const std::optional<Link>& asked, const std::vector<SupportList>& lists) {
  if (asked) return *asked;
  for (const SupportList& list : lists) {
    if (list.link) return *list.link;
  }
  return default_link();
}

}  // namespace cleave
