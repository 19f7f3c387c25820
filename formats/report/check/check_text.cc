#include "formats/report/check/check.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/check/check_words.h"

namespace cleave {
namespace {

std::string indented(std::string_view text, std::size_t columns) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += std::string(columns, ' ') + std::string(text.substr(0, end)) + '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string gates_text(const CheckRun& run) {
  TextTable table({"", "gate", "is", "must be"},
                  {Align::left, Align::left, Align::left, Align::left});
  for (const CheckedGate& checked : run.gates) {
    const Gate& gate = checked.gate;
    table.add_row({std::string(gate_mark(gate)), gate_title(gate), gate_actual(run, gate),
                   gate_limit(run, gate)});
  }
  std::string text = indented(table.text(), 2);
  for (const CheckedGate& checked : run.gates) {
    if (checked.detail.empty() || checked.gate.kind == GateKind::max_new_cpu_nodes) continue;
    text += wrapped(gate_title(checked.gate) + ": " + checked.detail, 2, 4);
  }
  return text;
}

// A latency that rose, where no gate holds it; else "".
std::string risen_latency_text(const CheckRun& run) {
  const bool is_held = std::any_of(
      run.gates.begin(), run.gates.end(),
      [](const CheckedGate& checked) { return checked.gate.kind == GateKind::latency_regression; });
  if (is_held || !run.before || !run.before->latency_us || !run.now.latency_us) return {};
  const double was = *run.before->latency_us;
  const double is = *run.now.latency_us;
  constexpr double kRounding = 1e-9;
  if (is <= was * (1 + kRounding)) return {};
  return wrapped("latency " + duration_text(is) + ", was " + duration_text(was) +
                     ": no gate holds it (--allow-regression 0 does)",
                 2, 4);
}

std::string run_text(const CheckRun& run) {
  std::string text = wrapped(run_title(run), 0, 2);
  if (!run.gates.empty()) text += gates_text(run);
  text += risen_latency_text(run);
  const bool has_moves =
      !run.regressions.empty() || !run.improvements.empty() || !run.moved.empty();
  if (!has_moves && !run.settings.empty()) {
    text += wrapped("no node moved; " + change_text(Change::settings, run.settings), 2, 4);
  }
  if (run.targets.empty()) {
    text += moves_text(run.regressions, "newly on the CPU", run.settings);
    text += moves_text(run.improvements, "newly on the accelerator", run.settings);
  }
  for (const std::vector<CheckedMove>* const moves :
       {&run.regressions, &run.moved, &run.improvements}) {
    if (run.targets.empty()) break;
    for (const MovesBetween& between : moves_between(*moves, run.targets)) {
      const bool is_new = between.from == Place::absent;
      text += moves_text(between.moves, is_new ? "newly on the CPU" : "moved " + between.text,
                         run.settings);
    }
  }
  if (run.removed > 0) {
    text += "\n  " + counted(run.removed, "node") + " of the baseline no longer there\n";
  }
  return text;
}

// The end of a path, which tells it from others: ".../models/a.onnx", "...v4_det_infer.onnx".
std::string path_end(const std::string& path, std::size_t columns) {
  const std::string shown = escaped(path);
  if (text_columns(shown) <= columns) return shown;
  std::size_t at = shown.find('/', shown.size() - std::min(shown.size(), columns - 4));
  if (at == shown.npos) {
    const auto is_inside = [&] { return (static_cast<unsigned char>(shown[at]) & 0xC0U) == 0x80U; };
    for (at = 1; is_inside() || text_columns(shown.substr(at)) > columns - 3;) ++at;
  }
  return "..." + shown.substr(at);
}

// Those that fail first; the others in the order given.
std::vector<const CheckRun*> failing_first(const Check& check) {
  std::vector<const CheckRun*> runs;
  for (const CheckRun& run : check.runs) runs.push_back(&run);
  std::stable_partition(runs.begin(), runs.end(),
                        [](const CheckRun* run) { return !run->passed(); });
  return runs;
}

std::string errors_text(const Check& check) {
  std::string text;
  constexpr std::size_t kMost = 20;
  CappedList list(kMost);
  for (const CheckError& error : check.errors) {
    if (list.shows_next()) {
      text += wrapped("ERROR " + escaped(error.model) + ": " + error.message, 2, 4);
    }
  }
  return text + list.rest("  ... and # more model that could not be checked\n",
                          "  ... and # more models that could not be checked\n");
}

// An overview of several runs.
std::string overview_text(const Check& check) {
  TextTable table(
      {"", "model", "list", "node coverage", "subgraphs", "gates"},
      {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right});
  for (const CheckRun* const one : failing_first(check)) {
    const CheckRun& run = *one;
    const auto held =
        std::count_if(run.gates.begin(), run.gates.end(),
                      [](const CheckedGate& checked) { return checked.gate.passed(); });
    table.add_row(
        {run.passed() ? "ok" : "FAIL", path_end(run.model, 40), path_end(run.list, 40),
         percent_text(run.now.nodes.ratio()), count_text(run.now.acc_subgraphs),
         count_text(static_cast<std::uint64_t>(held)) + " of " + count_text(run.gates.size())});
  }
  return indented(table.text(), 2);
}

}  // namespace

namespace {

// What the stars of a table stand for.
std::string open_text(const std::map<std::string, std::string>& open) {
  if (open.empty()) return {};
  constexpr std::size_t kMost = 5;
  std::string text = "\n* sizes are open, so conditions on shapes may fail; give\n";
  CappedList list(kMost);
  for (const auto& [model, options] : open) {
    if (list.shows_next()) text += wrapped(path_end(model, 48) + ": " + options, 2, 4);
  }
  return text + list.rest("  ... and # more model\n", "  ... and # more models\n");
}

}  // namespace

std::string check_table(const Check& check) {
  std::vector<std::string> lists, models;
  std::map<std::pair<std::string, std::string>, const CheckRun*> runs;
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const CheckRun& run : check.runs) {
    add(lists, run.list);
    runs.try_emplace({run.model, run.list}, &run);
  }
  for (const CheckRun& run : check.runs) models.push_back(run.model);
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  std::vector<std::string> headings = {"model"};
  for (const std::string& list : lists) headings.push_back(path_end(list, 24));
  TextTable table(std::move(headings), [&] {
    std::vector<Align> aligns(lists.size() + 1, Align::right);
    aligns[0] = Align::left;
    return aligns;
  }());
  std::map<std::string, std::string> open;  // by model: the options that state its sizes
  for (const std::string& model : models) {
    std::vector<std::string> row = {path_end(model, 48)};
    for (const std::string& list : lists) {
      const auto found = runs.find({model, list});
      row.push_back(found == runs.end() ? "-"
                                        : percent_text(found->second->now.nodes.ratio()) + " in " +
                                              count_text(found->second->now.acc_subgraphs) +
                                              (found->second->passed() ? "" : " FAIL"));
      if (found != runs.end() && !found->second->open_sizes.empty()) {
        row.back() += " *";
        open.emplace(model, found->second->open_sizes);
      }
    }
    table.add_row(std::move(row));
  }
  return table.text() + open_text(open) + (check.errors.empty() ? "" : '\n' + errors_text(check));
}

std::string check_text(const Check& check) {
  const bool is_asked =
      !check.errors.empty() || std::any_of(check.runs.begin(), check.runs.end(),
                                           [](const CheckRun& run) { return !run.gates.empty(); });
  std::string text =
      is_asked ? std::string(check.passed() ? "passed: " : "FAILED: ") + verdict_text(check) + '\n'
               : "baseline written; nothing was checked\n";
  if (!check.errors.empty()) text += '\n' + errors_text(check);
  if (check.runs.size() > 1 || (!is_asked && !check.runs.empty()))
    text += '\n' + overview_text(check);
  if (!is_asked) return text;
  // Of a fleet the overview has those that hold.
  constexpr std::size_t kFew = 20;
  for (const CheckRun* const run : failing_first(check)) {
    if (run->passed() && check.runs.size() > kFew) break;
    text += '\n' + run_text(*run);
  }
  return text;
}

}  // namespace cleave
