// Steps:
// 1. read the lists, the model, and the files of costs;
// 2. warn of rules and lists without effect;
// 3. run the passes;
// 4. count what crosses the link, and the time of an inference;
// 5. add notes that answer likely questions of the report's reader.
#include "formats/run/jobs/split_job.h"

#include <utility>

#include "formats/lists/import/import.h"
#include "formats/lists/support/list_target.h"
#include "formats/lists/support/verdict_file.h"
#include "formats/report/check/check.h"
#include "formats/report/check/list_warnings.h"
#include "formats/report/words/reason_text.h"
#include "formats/report/words/report_values.h"
#include "formats/run/jobs/measured_shapes.h"

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
  SplitJobMaker(const SplitRequest& request, const Progress& progress, const InputsRead& read)
      : request_(request), progress_(progress), read_(read) {
    job_.request_ = request;
  }

  Result<SplitJob, JobFault> make() {
    return read_.model == nullptr ? with_own_model() : with_model_read();
  }

 private:
  Loaded<ListsRead> lists() const {
    return read_.lists != nullptr ? *read_.lists : read_lists(request_.lists);
  }

  Result<SplitJob, JobFault> with_own_model() {
    auto lists = this->lists();
    auto model =
        read_model(request_.model.path, request_.model.bindings, request_.model.limits, progress_);
    if (!lists || !model) return input_fault_of(lists, model);
    take(*std::move(lists));
    append(job_.warnings_, model->warnings);
    job_.own_model_ = std::make_unique<LoadedModel>(*std::move(model));
    job_.model_ = job_.own_model_.get();
    auto costs = read_costs_and_shapes(request_.costs, *job_.own_model_);
    if (!costs) {
      Diagnostics faults = std::move(job_.warnings_);
      append(faults, costs.error());
      return JobFault{FaultCause::input, std::move(faults)};
    }
    job_.own_costs_ = *std::move(costs);
    append(job_.warnings_, job_.own_costs_.warnings);
    return compute();
  }

  Result<SplitJob, JobFault> with_model_read() {
    auto lists = this->lists();
    if (!lists) return JobFault{FaultCause::input, std::move(lists).error()};
    take(*std::move(lists));
    job_.model_ = read_.model;
    job_.costs_ = read_.costs;
    return compute();
  }

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
    const CostSet& costs = job_.costs();
    job_.graph_ = job_.model_->graph.with_shapes(observed_shapes(costs));
    job_.options_ = with_devices(request_.options, job_.lists_, request_.targets, costs);
    const Link link = choose_link(request_.link, job_.lists_);
    const Machine machine = machine_of(job_.options_, link);
    MeasuredTargets measured = measured_targets(job_.graph(), machine, costs);
    TimeBasis basis{.times = std::move(measured.times),
                    .machine = machine,
                    .cpu_unmatched = measured.cpu_unmatched,
                    .acc_unmatched = measured.acc_unmatched};
    job_.required_ = required_set();
    const SplitInput input{.graph = job_.graph(),
                           .lists = job_.lists_,
                           .facts = job_.facts_,
                           .link = link,
                           .times = &basis.times,
                           .required = job_.required()};
    append(job_.warnings_, idle_list_warnings(input));
    append(job_.warnings_, near_miss_warnings(input));
    append(job_.warnings_, idle_denial_warnings(input.graph, input.lists));
    append(job_.warnings_, idle_verdict_warnings(input));
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
    job_.time_ = inference_time(input.graph, *job_.split_, job_.options_, std::move(basis));
    job_.notes_ = job_.model_->notes;
    for (std::string note :
         {start_note(*job_.split_), host_shapes_note(*job_.split_, job_.options_),
          memory_note(*job_.preview_, machine), part_count_note(*job_.split_, machine)}) {
      if (!note.empty()) job_.notes_.push_back(std::move(note));
    }
    return std::move(job_);
  }

  NodeSet required_set() const {
    NodeSet required(job_.graph().node_count());
    for (const std::string& pattern : request_.require) {
      for (const NodeId node : required_nodes(job_.graph(), pattern)) required.insert(node);
    }
    return required;
  }

  const SplitRequest& request_;
  const Progress& progress_;
  const InputsRead& read_;
  SplitJob job_;
};

Report SplitJob::report(std::vector<std::string> more_notes) const {
  std::vector<std::string> notes = notes_;
  append(notes, more_notes);
  return {.model = *model_,
          .graph = graph(),
          .lists = lists_,
          .facts = facts_,
          .options = options_,
          .split = *split_,
          .preview = *preview_,
          .notes = std::move(notes),
          .costs = &costs(),
          .time = &*time_};
}

std::string SplitJob::why_on_cpu(NodeId node) const {
  if (split_->partition.is_acc(split_->partition.part_of[node])) return {};
  const ReasonContext context{graph(), lists_, facts_, options_.subgraphs.min_acc_size,
                              &split_->support};
  return reason_text(context, node, split_->reasons[node]);
}

Result<SplitJob, JobFault> run_split(const SplitRequest& request, const Progress& progress,
                                     const InputsRead& read) {
  return SplitJobMaker(request, progress, read).make();
}

Loaded<ListsRead> read_lists(const ListsRequest& request) {
  ListsRead read;
  Diagnostics faults;
  for (const std::string& path : request.paths) {
    auto loaded = read_list(path);
    if (!loaded) {
      append(faults, loaded.error());
      continue;
    }
    append(read.warnings, loaded->warnings);
    read.lists.push_back(std::move(loaded->list));
    ListRole& role = read.lists.back().role;
    if (request.all_of && role == ListRole::any_of) role = ListRole::all_of;
  }
  append(read.warnings, overruled_list_warnings(read.lists));
  if (!request.deny.empty()) read.lists.push_back(list_of_denials(request.deny));
  for (const std::string& path : request.verdicts) {
    auto verdicts = read_verdict_file(path);
    if (verdicts) {
      read.lists.push_back(*std::move(verdicts));
    } else {
      append(faults, verdicts.error());
    }
  }
  if (faults.empty()) return read;
  faults.insert(faults.begin(), read.warnings.begin(), read.warnings.end());
  return faults;
}

Diagnostics idle_denial_warnings(const Graph& graph, const std::vector<SupportList>& lists) {
  Diagnostics warnings;
  for (const SupportList& list : lists) {
    if (!is_list_of_denials(list)) continue;
    for (const std::string& what : idle_denials(graph, list)) {
      warnings.push_back({.severity = Severity::warning,
                          .file = list.path,
                          .message = escaped_in_quotes(what) +
                                     " is no op of the model and the name of no node: it denies "
                                     "nothing"});
    }
  }
  return warnings;
}

Link choose_link(const std::optional<Link>& asked, const std::vector<SupportList>& lists) {
  if (asked) return *asked;
  for (const SupportList& list : lists) {
    if (list.link) return *list.link;
    const auto target = list_target(list);
    if (target && target->link) return *target->link;
  }
  return default_link();
}

SplitOptions with_devices(SplitOptions options, const std::vector<SupportList>& lists,
                          const std::vector<TargetSpec>& targets, const CostSet& costs) {
  Machine& machine = options.latency.machine;
  for (const SupportList& list : lists) {
    const auto target = list_target(list);
    if (!target) continue;
    machine = with_target(std::move(machine), *target);
    break;
  }
  for (const TargetSpec& target : targets) machine = with_target(std::move(machine), target);
  machine.cpu.calibrated = costs.cpu_ops;
  machine.acc.calibrated = costs.acc_ops;
  return options;
}

}  // namespace cleave
