#include "cli/split_run.h"

#include <set>

#include "cli/terminal.h"
#include "formats/support_file.h"

namespace cleave {
namespace {

// All lists, or nothing after printing what is wrong with any of them.
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

void warn_of_near_misses(const Graph& graph, const std::vector<SupportList>& lists,
                         const OpFacts& facts) {
  for (const NearMiss& miss : near_misses(graph, lists, facts)) {
    const SupportList& list = lists[miss.list];
    const Rule& rule = list.allow[miss.rule];
    const std::string op = miss.domain.empty()
                               ? std::string(miss.op)
                               : std::string(miss.domain) + "::" + std::string(miss.op);
    print_diagnostics(
        {{.severity = Severity::warning,
          .file = list.path,
          .line = rule.line,
          .column = rule.column,
          .message = "rule " + cleave::quoted(rule.op) +
                     " matches no node of the model: did you mean " + cleave::quoted(op) + "?"}});
  }
}

Link choose_link(const std::optional<Link>& asked, const std::vector<SupportList>& lists) {
  if (asked) return *asked;
  for (const SupportList& list : lists) {
    if (list.link) return *list.link;
  }
  return default_link();
}

std::string start_note(const Split& split) {
  const std::size_t count = split.found.subgraphs.count();
  const std::size_t other = split.found.count_from_other_side;
  if (other >= count) return {};
  return "starting from the other side gives " + std::to_string(other) + " subgraphs instead of " +
         std::to_string(count) + ": see --start fewest";
}

}  // namespace

std::optional<LoadedModel> load_model(const ModelArgs& args) {
  auto loaded = read_model(args.path, args.bindings);
  if (!loaded) {
    print_diagnostics(loaded.error());
    return std::nullopt;
  }
  print_diagnostics(loaded->warnings);
  return *std::move(loaded);
}

std::optional<SplitRun> SplitRun::make(const ModelArgs& model, const SupportArgs& support,
                                       const SplitArgs& split, ExitCode& code) {
  code = ExitCode::bad_input;
  SplitRun run;
  auto lists = load_lists(support);
  run.model_ = load_model(model);
  if (!lists || !run.model_) return std::nullopt;
  run.lists_ = *std::move(lists);
  run.facts_ = op_facts(*run.model_);
  run.options_ = split.options;
  warn_of_near_misses(run.graph(), run.lists_, run.facts_);

  auto result = split_graph(run.graph(), run.lists_, run.facts_, run.options_);
  if (!result) {
    print_error(result.error().message, result.error().notes);
    code = ExitCode::usage;
    return std::nullopt;
  }
  run.split_ = *std::move(result);
  run.preview_ = preview_split(run.graph(), run.split_->partition, run.split_->boundaries,
                               choose_link(split.link, run.lists_));
  run.notes_ = run.model_->notes;
  if (const std::string note = start_note(*run.split_); !note.empty()) run.notes_.push_back(note);
  code = ExitCode::done;
  return run;
}

Report SplitRun::report(std::vector<std::string> more_notes) const {
  std::vector<std::string> notes = notes_;
  notes.insert(notes.end(), more_notes.begin(), more_notes.end());
  return {*model_, lists_, facts_, options_, *split_, *preview_, std::move(notes)};
}

}  // namespace cleave
