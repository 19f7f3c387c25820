// Steps:
// 1. read the lists and the model;
// 2. warn of rules and lists without effect;
// 3. run the passes;
// 4. count what crosses the link;
// 5. add notes that answer likely questions of the report's reader.
#include "formats/jobs/split_job.h"

#include <utility>

#include "core/support/idle_list.h"
#include "core/support/near_miss.h"
#include "formats/report/words/reason_text.h"
#include "formats/support/support_file.h"
#include "formats/text/number_text.h"

namespace cleave {
namespace {

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::string full_op(std::string_view domain, std::string_view op) {
  return domain.empty() ? std::string(op) : std::string(domain) + "::" + std::string(op);
}

Diagnostics near_miss_warnings(const SplitInput& input) {
  Diagnostics warnings;
  for (const NearMiss& miss : near_misses(input.graph, input.lists, input.facts)) {
    const SupportList& list = input.lists[miss.list];
    const Rule& rule = list.allow[miss.rule];
    warnings.push_back({.severity = Severity::warning,
                        .file = list.path,
                        .line = rule.line,
                        .column = rule.column,
                        .message = "rule " + quoted(rule.op) +
                                   " matches no node of the model: did you mean " +
                                   quoted(full_op(miss.domain, miss.op)) + "?"});
  }
  return warnings;
}

Diagnostics idle_list_warnings(const SplitInput& input) {
  Diagnostics warnings;
  for (const IdleList& idle : find_idle_lists(input.graph, input.lists)) {
    const SupportList& list = input.lists[idle.list];
    std::string ops;
    for (const UsedOp& op : idle.ops) {
      ops += (ops.empty() ? "" : ", ") + quoted(full_op(op.domain, op.op)) + " (" +
             counted(op.nodes, "node", "nodes") + ")";
    }
    warnings.push_back(
        {.severity = Severity::warning,
         .file = list.path,
         .message = list.allow.empty()
                        ? "the list has no allow rule: it puts no node on the accelerator"
                        : "no rule of the list names an op of the model: it puts no "
                          "node on the accelerator",
         .notes = {"most of the model is " + ops}});
  }
  return warnings;
}

// A note if starting on the other side would give fewer subgraphs; otherwise "".
std::string start_note(const Split& split) {
  const std::size_t count = split.found.subgraphs.count();
  const std::size_t other = split.found.count_from_other_side;
  if (other >= count) return {};
  return "starting from the other side gives " + std::to_string(other) + " subgraphs instead of " +
         std::to_string(count) + ": see --start fewest";
}

// "host shapes: 31 nodes, 12 fewer subgraphs"; "" when the option is off.
std::string host_shapes_note(const Split& split, const SplitOptions& options) {
  if (!options.host_shapes.follow) return {};
  const HostShapes& shapes = split.host_shapes;
  const bool is_less = shapes.subgraphs <= shapes.subgraphs_without;
  const std::size_t change = is_less ? shapes.subgraphs_without - shapes.subgraphs
                                     : shapes.subgraphs - shapes.subgraphs_without;
  return "host shapes: " + counted(shapes.nodes.count(), "node", "nodes") + ", " +
         (change == 0 ? "as many subgraphs as without"
                      : counted(change, is_less ? "fewer subgraph" : "more subgraph",
                                is_less ? "fewer subgraphs" : "more subgraphs"));
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
