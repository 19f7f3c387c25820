#include "formats/report/check/check_pages.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/report/check/check_words.h"
#include "formats/report/drawings/content_page.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

constexpr std::size_t kMostRows = 50'000;  // of a table

// "CPU", "accelerator", "npu"; "-" for a node that is not there.
std::string place_text(Place place, const std::vector<std::string>& targets) {
  if (place == Place::cpu) return "CPU";
  if (place == Place::absent) return "-";
  return targets.empty() ? "accelerator" : std::string(place_name(place, targets));
}

void add_row(PageTable& table, PageRow row) {
  if (table.rows.size() < kMostRows) table.rows.push_back(std::move(row));
}

// A text that names the file of a list, without the folder.
std::string with_short_list(std::string text, const std::string& file) {
  const std::string path = escaped(file);
  const std::string name = path.substr(path.rfind('/') + 1);
  for (std::size_t at = 0; path != name && (at = text.find(path, at)) != std::string::npos;) {
    text.replace(at, path.size(), name);
  }
  return text;
}

// ---- a comparison ----

PageTable moves_of(const Diff& diff) {
  PageTable table{.title = "Nodes that moved",
                  .headings = {"node", "op type", "was on", "is on", "why", "what changed"},
                  .aligns = std::vector<Align>(6, Align::left)};
  for (const auto* const moves : {&diff.to_cpu, &diff.to_acc, &diff.moved, &diff.added}) {
    for (const CheckedMove& move : *moves) {
      const bool is_past = is_on_acc(move.to) && move.node.target.empty();
      const bool says_why = !move.node.detail.empty();
      add_row(table,
              {.cells = {escaped(move.node.name), escaped(move.node.op),
                         place_text(move.from, diff.targets), place_text(move.to, diff.targets),
                         (says_why && is_past ? "was on the CPU: " : "") + move.node.detail,
                         change_text(move.change, diff.settings)},
               .node = escaped(move.node.name),
               .fails = move.to == Place::cpu});
    }
  }
  for (const Diff::Removed& removed : diff.removed) {
    add_row(table, {.cells = {escaped(removed.node), "", place_text(removed.from, diff.targets),
                              "-", "removed", ""},
                    .node = escaped(removed.node)});
  }
  return table;
}

PageTable with_title(PageTable table, std::string title) {
  table.title = std::move(title);
  return table;
}

// ---- a fleet ----

std::vector<std::string> lists_of(const Check& check) {
  std::vector<std::string> lists;
  std::set<std::string_view> seen;
  for (const CheckRun& run : check.runs) {
    if (seen.insert(run.list).second) lists.push_back(run.list);
  }
  return lists;
}

// True where the list has no op of the model: it is for another format.
bool has_no_op(const CheckRun& run) {
  return run.now.nodes.acc == 0 && !run.cpu_nodes.empty() &&
         std::all_of(run.cpu_nodes.begin(), run.cpu_nodes.end(),
                     [](const CheckedNode& node) { return node.code == ReasonCode::no_rule; });
}

// Which limits a run breaks, and whether its list is for such models at all.
std::string failures_of(const CheckRun& run) {
  std::string text;
  for (const CheckedGate& checked : run.gates) {
    if (checked.gate.passed()) continue;
    text += (text.empty() ? "" : ", ") + gate_title(checked.gate) + " " +
            gate_outcome(run, checked.gate);
  }
  if (has_no_op(run))
    text += std::string(text.empty() ? "" : "; ") + "the list has no op of this model";
  return text.empty() ? "" : escaped(run.list) + ": " + text;
}

// A row for each model: what each list takes of it. Those that fail come first.
PageTable models_of(const Check& check) {
  const std::vector<std::string> lists = lists_of(check);
  PageTable table{.title = "Models", .headings = {"model", "nodes"}, .aligns = {}};
  for (const std::string& list : lists) table.headings.push_back(escaped(list));
  table.aligns.assign(table.headings.size(), Align::right);
  table.aligns[0] = Align::left;
  for (auto error = check.errors.rbegin(); error != check.errors.rend(); ++error) {
    PageRow row{
        .cells = {escaped(error->model), "-"}, .note = escaped(error->message), .fails = true};
    row.cells.resize(table.headings.size(), "-");
    table.rows.push_back(std::move(row));
  }
  std::map<std::string_view, std::map<std::string_view, const CheckRun*>> models;
  for (const CheckRun& run : check.runs) models[run.model].emplace(run.list, &run);
  for (const bool fails : {true, false}) {
    for (const auto& [model, runs] : models) {
      const bool is_failed = std::any_of(runs.begin(), runs.end(),
                                         [](const auto& run) { return !run.second->passed(); });
      if (is_failed != fails) continue;
      const double nodes = runs.begin()->second->now.nodes.total;
      PageRow row{
          .cells = {escaped(std::string(model)), count_text(static_cast<std::uint64_t>(nodes))},
          .fails = fails};
      for (const std::string& list : lists) {
        const auto found = runs.find(list);
        row.cells.push_back(found == runs.end()
                                ? "-"
                                : percent_text(found->second->now.nodes.ratio()) + " in " +
                                      count_text(found->second->now.acc_subgraphs) +
                                      (found->second->passed() ? "" : " FAIL"));
        if (found == runs.end()) continue;
        const std::string failures = failures_of(*found->second);
        if (!failures.empty()) row.note += (row.note.empty() ? "" : "\n") + failures;
      }
      add_row(table, std::move(row));
    }
  }
  return table;
}

PageTable gates_of(const Check& check) {
  PageTable table{.title = "Gates",
                  .headings = {"model", "result", "gate", "is", "must be", "list"},
                  .aligns = std::vector<Align>(6, Align::left)};
  for (const bool passes : {false, true}) {
    for (const CheckRun& run : check.runs) {
      for (const CheckedGate& checked : run.gates) {
        if (checked.gate.passed() != passes) continue;
        add_row(table, {.cells = {escaped(run.model), std::string(gate_mark(checked.gate)),
                                  gate_title(checked.gate), gate_actual(run, checked.gate),
                                  gate_limit(run, checked.gate), escaped(run.list)},
                        .note = passes ? "" : with_short_list(checked.detail, run.list_place.file),
                        .fails = !passes});
      }
    }
  }
  return table;
}

PageTable fleet_moves(const Check& check) {
  PageTable table{.title = "Nodes that moved",
                  .headings = {"node", "op type", "was on", "is on", "model", "list", "why"},
                  .aligns = std::vector<Align>(7, Align::left)};
  for (const CheckRun& run : check.runs) {
    for (const auto* const moves : {&run.regressions, &run.moved, &run.improvements}) {
      for (const CheckedMove& move : *moves) {
        add_row(table,
                {.cells = {escaped(move.node.name), escaped(move.node.op),
                           place_text(move.from, run.targets), place_text(move.to, run.targets),
                           escaped(run.model), escaped(run.list), move.node.detail},
                 .fails = move.to == Place::cpu});
      }
    }
  }
  return table;
}

// What one change of a list would mend, over all models.
PageTable reasons_of(const Check& check) {
  struct Group {
    std::size_t nodes = 0;
    std::set<std::string_view> models;
    std::string first, cause;
  };
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, Group> groups;
  for (const CheckRun& run : check.runs) {
    for (const CheckedNode& node : run.cpu_nodes) {
      Group& group = groups[{run.list, node.op, node.cause}];
      if (group.nodes++ == 0) {
        group.first = run.model + ": " + node.name;
        group.cause = with_short_list(node.cause, run.list_place.file);
      }
      group.models.insert(run.model);
    }
  }
  PageTable table{
      .title = "Why nodes are on the CPU",
      .headings = {"reason", "op type", "nodes", "models", "list", "for example"},
      .aligns = {Align::left, Align::left, Align::right, Align::right, Align::left, Align::left}};
  std::vector<std::pair<std::size_t, PageRow>> rows;
  for (const auto& [key, group] : groups) {
    const auto& [list, op, shared] = key;
    rows.push_back({group.nodes,
                    {.cells = {group.cause, escaped(std::string(op)), count_text(group.nodes),
                               count_text(group.models.size()), escaped(std::string(list)),
                               escaped(group.first)}}});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [nodes, row] : rows) add_row(table, std::move(row));
  return table;
}

// What each list takes of all models together.
std::vector<PageShare> shares_of(const Check& check) {
  std::vector<PageShare> shares;
  for (const std::string& list : lists_of(check)) {
    Coverage sum;
    std::size_t models = 0;
    for (const CheckRun& run : check.runs) {
      if (run.list != list) continue;
      sum.acc += run.now.nodes.acc;
      sum.total += run.now.nodes.total;
      ++models;
    }
    if (sum.total <= 0) continue;
    shares.push_back({"of " + count_text(static_cast<std::uint64_t>(sum.total)) + " nodes of " +
                          counted(models, "model") + " with " + escaped(list),
                      sum.ratio()});
  }
  return shares;
}

}  // namespace

namespace {

// What one side of a comparison has of each setting that differs: "start cpu" of "start: cpu, was acc".
std::string settings_of(const Diff& diff, bool is_before) {
  std::string text;
  for (const std::string& setting : diff.settings) {
    const std::size_t name = setting.find(": "), was = setting.rfind(", was ");
    if (name == std::string::npos || was == std::string::npos || was < name) continue;
    const std::string value =
        is_before ? setting.substr(was + 6) : setting.substr(name + 2, was - name - 2);
    text += ", " + setting.substr(0, name) + " " + value;
  }
  return text;
}

PageShare share_of(std::string_view when, const Measures& measures) {
  const auto total = static_cast<std::uint64_t>(measures.nodes.total);
  return {std::string(when) + ": of " + count_text(total) + " nodes on the accelerator, in " +
              counted(measures.acc_subgraphs, "partition") +
              (measures.flops.have_share() ? "; " + share_text(measures.flops) + " of known FLOPs"
                                           : ""),
          measures.nodes.ratio()};
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

HtmlPage diff_page(const Diff& diff, const Report& before, const Report& after,
                   const LayoutLimits& limits) {
  LayoutLimits half = limits;
  half.seconds /= 2;
  HtmlPage was = split_data(before, half, {});
  HtmlPage is = split_data(after, half, {});
  const auto title = [&](std::string_view when, const DiffSide& side) {
    return std::string(when) + ": " + escaped(last_part(side.model)) + " with " +
           escaped(last_part(side.list)) + settings_of(diff, &side == &diff.before);
  };
  ContentPage page{
      .title = model_name(after.model) + ": what differs",
      .text = diff_text(diff),
      .shares = {share_of("before", diff.before.measures), share_of("after", diff.after.measures)},
      .drawings = {{.title = title("before", diff.before), .split = std::move(was.text)},
                   {.title = title("after", diff.after), .split = std::move(is.text)}},
      .tables = {moves_of(diff), with_title(diff_numbers(diff).page(), "Numbers")}};
  for (PageRow& row : page.tables[0].rows) {
    for (const Report* const report : {&before, &after}) {
      for (const SupportList& list : report->lists) {
        row.cells[4] = with_short_list(std::move(row.cells[4]), list.path);
      }
    }
  }
  for (const auto& [when, notes] :
       {std::pair("before", &was.notes), std::pair("after", &is.notes)}) {
    for (const std::string& note : *notes) page.notes.push_back(std::string(when) + ": " + note);
  }
  return {.text = content_page(page), .notes = page.notes};
}

std::string check_page(const Check& check) {
  ContentPage page{
      .title = "cleave check",
      .text = check_text(check),
      .shares = shares_of(check),
      .tables = {models_of(check), gates_of(check), fleet_moves(check), reasons_of(check)}};
  std::erase_if(page.tables, [](const PageTable& table) { return table.rows.empty(); });
  for (const CheckRun& run : check.runs) {
    if (run.cpu_nodes_left_out > 0) {
      page.notes.push_back(run_title(run) + ": " + count_text(run.cpu_nodes_left_out) +
                           " more nodes on the CPU are not counted among the reasons");
    }
  }
  return content_page(page);
}

}  // namespace cleave
