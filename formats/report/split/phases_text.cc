// The numbers of a model that is split for several phases, and what is said of them.

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/state.h"
#include "formats/base/text.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

std::vector<LeftState> left_state(const Graph& from, const Graph& to) {
  std::map<std::string_view, ValueId> inputs;
  for (const ValueId input : to.inputs()) inputs.emplace(to.value(input).name, input);
  std::vector<LeftState> left;
  for (const StatePair& pair : from.state().pairs) {
    const auto input = inputs.find(from.value(pair.input).name);
    if (pair.output == kNone<ValueId> || input == inputs.end()) continue;
    left.push_back({pair.output, input->second});
  }
  return left;
}

std::vector<std::optional<std::uint64_t>> runs_of_phases(
    std::span<const std::optional<std::uint64_t>> tokens_of_runs, const TokenCounts& tokens) {
  std::vector<std::optional<std::uint64_t>> runs(tokens_of_runs.size());
  const bool are_known =
      std::ranges::all_of(tokens_of_runs, [](const auto& count) { return count.value_or(0) > 0; });
  if (!are_known || runs.empty()) return runs;
  std::vector<std::size_t> order(runs.size());  // the largest first
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t phase) { return *tokens_of_runs[phase]; });
  const std::size_t last = order.back();
  std::uint64_t left = tokens.prompt;
  for (const std::size_t phase : order) {
    if (phase == last && order.size() > 1) break;
    const std::uint64_t size = *tokens_of_runs[phase];
    const bool is_padded = order.size() < 2 || phase == order[order.size() - 2];
    runs[phase] = (left + (is_padded ? size - 1 : 0)) / size;
    left -= std::min(left, *runs[phase] * size);
  }
  runs[last] = runs[last].value_or(0) + tokens.runs_after_prompt();
  return runs;
}

namespace {

// By place among the targets; of the CPU the largest number.
std::size_t device_of(const Partition& partition, PartId part) {
  if (!partition.is_acc(part)) return std::numeric_limits<std::size_t>::max();
  return partition.targets.empty() ? 0 : index(partition.target(part));
}

// By device: weights of all phases, by name, and the most bytes of values.
std::vector<DeviceMemory> memory_of(const std::vector<Report>& phases) {
  const std::span<const Target> targets = phases.front().targets;
  std::vector<DeviceMemory> memory;
  for (const Target& target : targets) memory.push_back({.device = target.name});
  if (targets.empty()) memory.push_back({.device = std::string(phases.front().only_target)});
  memory.push_back({.device = "cpu"});
  std::vector<std::map<std::string_view, std::uint64_t>> weights(memory.size());
  std::vector<bool> is_open(memory.size(), false);  // in some phase
  for (const Report& phase : phases) {
    const Partition& partition = phase.split.partition;
    std::vector<std::uint64_t> own(memory.size(), 0);  // weights of this phase
    std::vector<std::map<std::string_view, std::uint64_t>> read(memory.size());
    for (const PartId part : partition.parts()) {
      const std::size_t device = std::min(device_of(partition, part), memory.size() - 1);
      for (const ValueId value : phase.split.boundaries.parameters[part]) {
        read[device][phase.graph.value(value).name] = value_bytes(phase.graph, value).value_or(0);
      }
    }
    for (std::size_t device = 0; device < memory.size(); ++device) {
      for (const auto& [name, bytes] : read[device]) own[device] += bytes;
      weights[device].merge(read[device]);
    }
    if (phase.time == nullptr) continue;
    const auto hold = [&](std::size_t device, std::uint64_t bytes, bool is_known) {
      auto& values = memory[device].values;
      values = std::max(values.value_or(0), bytes);
      is_open[device] = is_open[device] || !is_known;
    };
    if (targets.empty()) {
      const bool is_known = phase.time->without.link_bytes.unknown == kNone<ValueId>;
      hold(0, phase.time->plan.peak_bytes, is_known);
      continue;
    }
    for (std::size_t i = 0; i < targets.size() && phase.time->use; ++i) {
      const std::uint64_t peak = phase.time->use->peak_bytes[i];
      hold(i, peak - std::min(peak, own[i]), phase.time->use->is_peak_known[i]);
    }
  }
  for (std::size_t device = 0; device < memory.size(); ++device) {
    if (is_open[device]) memory[device].values.reset();
    for (const auto& [name, bytes] : weights[device]) memory[device].weights += bytes;
  }
  return memory;
}

std::optional<std::uint64_t> handover_bytes(const std::vector<Report>& phases) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 1; i < phases.size(); ++i) {
    const Report &from = phases[i - 1], &to = phases[i];
    for (const LeftState& state : left_state(from.graph, to.graph)) {
      const NodeId writer = from.graph.value(state.written).producer;
      if (writer == kNone<NodeId>) continue;
      const std::size_t here =
          device_of(from.split.partition, from.split.partition.part_of[writer]);
      const bool leaves = std::ranges::any_of(to.graph.users(state.read), [&](NodeId reader) {
        const PartId part = to.split.partition.part_of[reader];
        return part != kNone<PartId> && !reads_shape_alone(to.graph, reader) &&
               device_of(to.split.partition, part) != here;
      });
      if (!leaves) continue;
      const auto own = value_bytes(to.graph, state.read);
      if (!own) return std::nullopt;
      bytes += *own;
    }
  }
  return bytes;
}

std::string quality_text(bool is_measured) { return is_measured ? "measured" : "estimated"; }

std::string rates_text(const PhasesReport& report) {
  const std::string first = report.first_us ? duration_text(*report.first_us) + " (" +
                                                  quality_text(report.is_first_measured) + ")"
                                            : "an unknown time";
  const std::string then = report.token_us ? rate_text(1e6 / *report.token_us) + " tokens/s (" +
                                                 quality_text(report.is_token_measured) + ")"
                                           : "tokens at an unknown rate";
  return "first token after " + first + ", then " + then;
}

std::string phase_title(const Phase& phase) {
  std::string text;
  for (const auto& [name, size] : phase.spec.dims) {
    text += (text.empty() ? "" : ", ") + escaped(name) + "=" + std::to_string(size);
  }
  std::string on;
  for (const std::string& target : phase.spec.targets) on += (on.empty() ? "on " : ", ") + target;
  if (!on.empty()) text += (text.empty() ? "" : "; ") + on;
  if (phase.runs) text += (text.empty() ? "" : "; ") + counted(*phase.runs, "run");
  return "phase " + phase.spec.name + (text.empty() ? "" : " (" + text + ")");
}

// How many tokens a growing state of fixed size holds after a run of the phase; nullopt where a size is open.
std::optional<std::uint64_t> capacity_of(const Report& report) {
  std::optional<std::uint64_t> least;
  for (const StatePair& pair : report.graph.state().pairs) {
    const Shape shape = report.graph.shape(pair.input);
    if (pair.kind != StateKind::grows || pair.axis >= shape.size()) continue;
    if (!shape[pair.axis].is_fixed() || !report.phase->tokens) return std::nullopt;
    const auto size = static_cast<std::uint64_t>(shape[pair.axis].size());
    // An empty state, of the size 0, sets no bound. Of several states the smallest is full first.
    const std::uint64_t own = size + *report.phase->tokens;
    if (size > 0 && (!least || own < *least)) least = own;
  }
  return least;
}

bool has_tokens(const PhasesReport& report) {
  return std::ranges::any_of(report.phases,
                             [](const Report& one) { return one.phase->tokens.has_value(); });
}

}  // namespace

PhasesReport phases_report(std::vector<Report> phases, const TokenCounts& tokens) {
  PhasesReport report{.phases = std::move(phases), .tokens = tokens};
  report.memory = memory_of(report.phases);
  report.handover_bytes = handover_bytes(report.phases);
  report.has_state = !report.phases.front().graph.state().pairs.empty();
  static constexpr auto kOpen = std::numeric_limits<std::uint64_t>::max();
  const auto fewest = std::ranges::min_element(
      report.phases, {}, [](const Report& one) { return one.phase->tokens.value_or(kOpen); });
  // Many models without tokens have no state. Only where tokens are spoken of is that worth a note.
  if (!report.has_state && has_tokens(report)) {
    report.notes.emplace_back(
        "no state was found, so nothing is handed over: --state IN=OUT names it");
  }
  if (const auto capacity = capacity_of(*fewest);
      capacity && tokens.prompt + tokens.more > *capacity) {
    report.notes.push_back(count_text(tokens.prompt) + " tokens of the prompt and " +
                           count_text(tokens.more) + " new do not fit in a state of " +
                           count_text(*capacity) + ", which ends there: --tokens states others");
  }
  report.first_us = 0;
  report.is_first_measured = true;
  for (const Report& one : report.phases) {
    std::optional<double> us;
    bool is_measured = false;
    if (one.time != nullptr) {
      us = one.time->asked().total_us;
      is_measured = one.time->asked().is_measured;
    }
    std::optional<std::uint64_t> runs = one.phase->runs;
    if (&one == &*fewest) {
      if (runs) report.token_us = us;
      report.is_token_measured = is_measured;
      if (report.phases.size() > 1) continue;
      if (runs) *runs -= tokens.runs_after_prompt();
    }
    if (!us || !runs) report.first_us.reset();
    if (report.first_us) *report.first_us += *us * static_cast<double>(*runs);
    report.is_first_measured = report.is_first_measured && is_measured;
  }
  return report;
}

std::string phases_text(const PhasesReport& report) {
  constexpr std::size_t kColumn = 19;
  Page page;
  const bool is_of_tokens = report.has_state || has_tokens(report);
  const std::string name = model_name(report.phases.front().model) + ": ";
  page.line(name + (is_of_tokens
                        ? rates_text(report)
                        : "split at the sizes of " + counted(report.phases.size(), "phase")));
  page.blank();
  if (is_of_tokens) {
    page.fact("tokens",
              count_text(report.tokens.prompt) + " of the prompt, " +
                  count_text(report.tokens.more) + " new (--tokens)",
              kColumn);
  }
  if (report.has_state && report.phases.size() > 1) {
    page.fact("state handed over",
              report.handover_bytes
                  ? bytes_text(*report.handover_bytes) + " between devices (estimated)"
                  : std::string("unknown bytes between devices: sizes of state are open"),
              kColumn);
  }
  for (const DeviceMemory& memory : report.memory) {
    if (memory.weights == 0 && (memory.device == "cpu" || memory.values == 0)) continue;
    page.fact(memory.device + " memory",
              bytes_text(memory.weights) + " of weights, once for all phases" +
                  (memory.values ? "; values at most " + bytes_text(*memory.values) + " (estimated)"
                   : memory.device == "cpu" ? std::string()
                                            : "; values unknown"),
              kColumn);
  }
  page.add(notes_text(report.notes));
  for (const Report& one : report.phases) {
    page.heading(phase_title(*one.phase));
    page.add(report_text(one));
  }
  return page.take();
}

// ---- growth ----

namespace {

GrowthRow growth_row(std::int64_t size, const Report& report) {
  GrowthRow row{.size = static_cast<std::uint64_t>(size)};
  if (report.time != nullptr) {
    const Latency& latency = report.time->asked();
    row.us = latency.total_us;
    row.all_cpu_us = latency.all_cpu_us;
  }
  const Measures measures = measure(report.split.partition, report.preview);
  if (measures.is_boundary_known) {
    row.link_bytes = static_cast<double>(measures.boundary_bytes);
  }
  // Unknown, not 0, for a model without state, or where one state has no known size: a sum of the rest would mislead.
  const auto& pairs = report.graph.state().pairs;
  if (!pairs.empty()) row.state_bytes = 0;
  for (const StatePair& pair : pairs) {
    const auto own = state_bytes(report.graph, pair);
    if (!own) row.state_bytes.reset();
    if (row.state_bytes) *row.state_bytes += static_cast<double>(*own);
  }
  if (const auto said = verdict_of(report)) row.answer = answer_name(said->verdict.answer);
  return row;
}

using GrowthNumber = std::optional<double> GrowthRow::*;
constexpr GrowthNumber kGrowthNumbers[] = {&GrowthRow::link_bytes, &GrowthRow::state_bytes,
                                           &GrowthRow::us, &GrowthRow::all_cpu_us};

std::string upper_answer(const GrowthRow& row) {
  return upper_case(row.answer.value_or("not known"));
}

// "YES at P=0 to 1,024, NO at P=2,048 to 4,096"
std::string answers_text(const GrowthReport& report) {
  std::string text;
  const auto& rows = report.rows;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t last = first;
    while (last + 1 < rows.size() && rows[last + 1].answer == rows[first].answer) ++last;
    text += (text.empty() ? "" : ", ") + upper_answer(rows[first]) + " at " +
            escaped(report.range.name) + "=" + count_text(*rows[first].size);
    if (last > first) text += " to " + count_text(*rows[last].size);
    first = last + 1;
  }
  return text;
}

}  // namespace

GrowthReport growth_report(const DimRange& range, std::span<const std::int64_t> sizes,
                           std::span<const Report> reports) {
  GrowthReport growth{.range = range, .rows = {}, .mean = {}, .break_even = {}, .ends = {}};
  for (std::size_t i = 0; i < reports.size(); ++i) {
    GrowthRow row = growth_row(sizes[i], reports[i]);
    const bool is_next = i > 0 && sizes[i] - sizes[i - 1] == 1;
    if (is_next && row.answer != growth.rows.back().answer) growth.break_even.push_back(*row.size);
    growth.rows.push_back(std::move(row));
  }
  // The whole reports of the ends alone: those between would fill pages with nearly the same.
  growth.ends.push_back(reports.front());
  growth.ends.push_back(reports.back());
  const auto whole = static_cast<double>(range.last - range.first);
  // Means over all sizes of the range, with straight lines between those that were split: steps differ by rounding, so
  // each weighs by its length. A number that is unknown at one size has no mean.
  for (const GrowthNumber number : kGrowthNumbers) {
    growth.mean.*number = 0;
    for (std::size_t i = 0; i + 1 < growth.rows.size(); ++i) {
      const auto &one = growth.rows[i].*number, &next = growth.rows[i + 1].*number;
      if (!one || !next) growth.mean.*number = std::nullopt;
      if (!(growth.mean.*number)) break;
      const auto share = static_cast<double>(sizes[i + 1] - sizes[i]) / whole;
      *(growth.mean.*number) += (*one + *next) / 2 * share;
    }
  }
  return growth;
}

std::string growth_text(const GrowthReport& report) {
  const auto time = [](const std::optional<double>& us) { return us ? duration_text(*us) : "?"; };
  // Means are no whole bytes, so they are rounded.
  const auto bytes = [](const std::optional<double>& count) {
    return count ? bytes_text(static_cast<std::uint64_t>(*count + .5)) : "?";
  };
  Page page;
  page.line(model_name(report.ends.front().model) + ": worth it: " + answers_text(report));
  const GrowthRow& mean = report.mean;
  if (mean.us && mean.all_cpu_us) {
    page.line("mean latency " + time(mean.us) + ", on the CPU alone " + time(mean.all_cpu_us));
  }
  if (!report.break_even.empty()) {
    const auto first_text = [&](std::uint64_t size) {
      const auto row = std::ranges::find(report.rows, size, &GrowthRow::size);
      return "first " + upper_answer(*row) + " at " + escaped(report.range.name) + "=" +
             count_text(size);
    };
    page.line(
        "break-even: " + capped_list(report.break_even, report.break_even.size(), first_text) +
        " (an estimate, found by bisection)");
  }
  const bool has_state = !report.ends.front().graph.state().pairs.empty();
  std::vector<std::string> headings = {escaped(report.range.name), "time", "CPU alone", "crosses"};
  if (has_state) headings.emplace_back("state");
  headings.emplace_back("worth it");
  TextTable table(headings, std::vector<Align>(headings.size(), Align::right));
  std::vector<GrowthRow> rows = report.rows;
  rows.push_back(mean);
  for (const GrowthRow& row : rows) {
    std::vector<std::string> cells = {row.size ? count_text(*row.size) : std::string("mean"),
                                      time(row.us), time(row.all_cpu_us), bytes(row.link_bytes)};
    if (has_state) cells.push_back(bytes(row.state_bytes));
    cells.emplace_back(row.answer.value_or(""));
    table.add_row(std::move(cells));
  }
  page.table(table);
  for (std::size_t i = 0; i < report.ends.size(); ++i) {
    const std::int64_t size = i == 0 ? report.range.first : report.range.last;
    page.heading(escaped(report.range.name) + "=" + count_text(static_cast<std::uint64_t>(size)));
    page.add(report_text(report.ends[i]));
  }
  return page.take();
}

}  // namespace cleave
