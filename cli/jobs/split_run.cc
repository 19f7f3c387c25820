#include "cli/jobs/split_run.h"

#include <set>

#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "core/support/idle_list.h"
#include "formats/report/words/cost_words.h"
#include "formats/report/words/reason_text.h"
#include "formats/report/words/report_words.h"
#include "formats/support/support_file.h"

namespace cleave {
namespace {

std::string full_op(std::string_view domain, std::string_view op) {
  return domain.empty() ? std::string(op) : std::string(domain) + "::" + std::string(op);
}

void warn_of_near_misses(const Graph& graph, const std::vector<SupportList>& lists,
                         const OpFacts& facts) {
  for (const NearMiss& miss : near_misses(graph, lists, facts)) {
    const SupportList& list = lists[miss.list];
    const Rule& rule = list.allow[miss.rule];
    print_diagnostics({{.severity = Severity::warning,
                        .file = list.path,
                        .line = rule.line,
                        .column = rule.column,
                        .message = "rule " + cleave::quoted(rule.op) +
                                   " matches no node of the model: did you mean " +
                                   cleave::quoted(full_op(miss.domain, miss.op)) + "?"}});
  }
}

void warn_of_idle_lists(const Graph& graph, const std::vector<SupportList>& lists) {
  for (const IdleList& idle : find_idle_lists(graph, lists)) {
    const SupportList& list = lists[idle.list];
    Diagnostic warning{
        .severity = Severity::warning,
        .file = list.path,
        .message = list.allow.empty()
                       ? "the list allows nothing: it puts no node on the accelerator"
                       : "no rule of the list names an op of the model: it puts no "
                         "node on the accelerator"};
    std::string ops;
    for (const UsedOp& op : idle.ops) {
      ops += (ops.empty() ? "" : ", ") + cleave::quoted(full_op(op.domain, op.op)) + " (" +
             counted(op.nodes, "node", "nodes") + ")";
    }
    warning.notes.push_back("most of the model is " + ops);
    print_diagnostics({warning});
  }
}

std::string start_note(const Split& split) {
  const std::size_t count = split.found.subgraphs.count();
  const std::size_t other = split.found.count_from_other_side;
  if (other >= count) return {};
  return "starting from the other side gives " + std::to_string(other) + " subgraphs instead of " +
         std::to_string(count) + ": see --start fewest";
}

// Bars are gone when these return: what is wrong may be printed then.
Loaded<LoadedModel> read_with_progress(const ModelArgs& args) {
  ProgressBar bar(args.path == "-" ? "standard input" : args.path);
  return read_model(args.path, args.bindings, args.limits, bar.observer());
}

Result<Split> split_with_progress(const LoadedModel& model, const SplitInput& input,
                                  const SplitOptions& options) {
  ProgressBar bar(model_name(model));
  return split_graph(input, options, bar.observer());
}

// "host shapes: 31 nodes, 12 fewer subgraphs"; nothing when not asked for.
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

std::optional<std::vector<SupportList>> load_lists(const SupportArgs& args) {
  std::vector<SupportList> lists;
  bool good = true;
  for (const std::string& path : args.paths) {
    auto loaded = read_support_file(path);
    if (!loaded) {
      print_diagnostics(loaded.error());
      good = false;
      continue;
    }
    print_diagnostics(loaded->warnings);
    lists.push_back(std::move(loaded->list));
  }
  if (!good) return std::nullopt;
  return lists;
}

Link choose_link(const std::optional<Link>& asked, const std::vector<SupportList>& lists) {
  if (asked) return *asked;
  for (const SupportList& list : lists) {
    if (list.link) return *list.link;
  }
  return default_link();
}

std::optional<LoadedModel> load_model(const ModelArgs& args) {
  auto loaded = read_with_progress(args);
  if (!loaded) {
    print_diagnostics(loaded.error());
    return std::nullopt;
  }
  print_diagnostics(loaded->warnings);
  return *std::move(loaded);
}

std::optional<CostSet> load_costs(const ModelArgs& args, LoadedModel& model) {
  auto costs = read_cost_set(args.costs, model.graph);
  if (!costs) {
    print_diagnostics(costs.error());
    return std::nullopt;
  }
  print_diagnostics(costs->warnings);
  return *std::move(costs);
}

std::optional<SplitRun> SplitRun::make(const ModelArgs& model, const SupportArgs& support,
                                       const SplitArgs& split, ExitCode& code) {
  code = ExitCode::bad_input;
  auto lists = load_lists(support);
  auto loaded = load_model(model);
  if (!lists || !loaded) return std::nullopt;
  auto costs = load_costs(model, *loaded);
  if (!costs) return std::nullopt;
  SplitRun run;
  run.costs_ = *std::move(costs);
  run.own_model_ = std::make_unique<LoadedModel>(*std::move(loaded));
  run.model_ = run.own_model_.get();
  run.lists_ = *std::move(lists);
  code = run.compute(split);
  if (code != ExitCode::done) return std::nullopt;
  return run;
}

std::optional<SplitRun> SplitRun::make(const LoadedModel& model, const SupportArgs& support,
                                       const SplitArgs& split, ExitCode& code) {
  code = ExitCode::bad_input;
  auto lists = load_lists(support);
  if (!lists) return std::nullopt;
  SplitRun run;
  run.model_ = &model;
  run.lists_ = *std::move(lists);
  code = run.compute(split);
  if (code != ExitCode::done) return std::nullopt;
  return run;
}

ExitCode SplitRun::compute(const SplitArgs& args) {
  facts_ = op_facts(*model_);
  options_ = args.options;
  const Link link = choose_link(args.link, lists_);
  warn_of_idle_lists(graph(), lists_);
  warn_of_near_misses(graph(), lists_, facts_);

  auto result = split_with_progress(*model_, {graph(), lists_, facts_, link}, options_);
  if (!result) {
    print_error(result.error().message, result.error().notes);
    return ExitCode::usage;
  }
  split_ = *std::move(result);
  preview_ = preview_split(graph(), split_->partition, split_->boundaries, link);
  notes_ = model_->notes;
  add_cost_notes();
  if (const std::string note = start_note(*split_); !note.empty()) notes_.push_back(note);
  if (const std::string note = host_shapes_note(*split_, options_); !note.empty()) {
    notes_.push_back(note);
  }
  return ExitCode::done;
}

void SplitRun::add_cost_notes() {
  for (const auto* files : {&costs_.cpu, &costs_.acc}) {
    for (const ModelCosts& costs : *files) {
      notes_.push_back("costs: " + costs_text(costs));
      const std::string left = unmatched_text(costs);
      if (!left.empty()) notes_.push_back("costs: no node was found for " + left);
    }
  }
}

Report SplitRun::report(std::vector<std::string> more_notes) const {
  std::vector<std::string> notes = notes_;
  notes.insert(notes.end(), more_notes.begin(), more_notes.end());
  return {*model_, lists_, facts_, options_, *split_, *preview_, std::move(notes)};
}

std::string SplitRun::why_on_cpu(NodeId node) const {
  if (split_->partition.is_acc(split_->partition.part_of[node])) return {};
  const ReasonContext context{graph(), lists_, facts_, options_.subgraphs.min_acc_size};
  return reason_text(context, node, split_->reasons[node]);
}

}  // namespace cleave
