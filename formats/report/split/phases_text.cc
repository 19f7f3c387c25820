// The numbers of a model that is split for several phases, and what is said of them.

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "formats/base/text.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

std::optional<std::uint64_t> tokens_of_run(const Graph& graph) {
  for (const std::string_view word : {"input_ids", "inputs_embeds", "ids", "tokens", "embeds"}) {
    for (const ValueId input : graph.inputs()) {
      const std::string_view name = graph.value(input).name;
      const bool is_other = name.find("position") != name.npos || name.find("type") != name.npos;
      if (name.find(word) == name.npos || is_other) continue;
      const auto shape = graph.shape(input);
      if (shape.size() < 2 || !shape[1].is_fixed()) return std::nullopt;
      return static_cast<std::uint64_t>(shape[1].size());
    }
  }
  return std::nullopt;
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
  const std::uint64_t more = tokens.more > 0 ? tokens.more - 1 : 0;
  runs[last] = runs[last].value_or(0) + more;
  return runs;
}

namespace {

// By device: weights of all phases, by name, and the most bytes of values.
std::vector<DeviceMemory> memory_of(const std::vector<Report>& phases) {
  const std::span<const Target> targets = phases.front().targets;
  std::vector<DeviceMemory> memory;
  for (const Target& target : targets) memory.push_back({.device = target.name});
  if (targets.empty()) memory.push_back({.device = "acc"});
  memory.push_back({.device = "cpu"});
  std::vector<std::map<std::string_view, std::uint64_t>> weights(memory.size());
  for (const Report& phase : phases) {
    const Partition& partition = phase.split.partition;
    std::vector<std::uint64_t> own(memory.size(), 0);  // weights of this phase
    std::vector<std::map<std::string_view, std::uint64_t>> read(memory.size());
    for (const PartId part : partition.parts()) {
      const std::size_t device = !partition.is_acc(part) ? memory.size() - 1
                                 : targets.empty()       ? 0
                                                         : index(partition.target(part));
      for (const ValueId value : phase.split.boundaries.parameters[part]) {
        read[device][phase.graph.value(value).name] = value_bytes(phase.graph, value).value_or(0);
      }
    }
    for (std::size_t device = 0; device < memory.size(); ++device) {
      for (const auto& [name, bytes] : read[device]) own[device] += bytes;
      weights[device].merge(read[device]);
    }
    if (phase.time == nullptr) continue;
    const auto hold = [&](std::size_t device, std::uint64_t bytes) {
      auto& values = memory[device].values;
      values = std::max(values.value_or(0), bytes);
    };
    if (targets.empty()) {
      if (phase.time->without.link_bytes.unknown == kNone<ValueId>)
        hold(0, phase.time->plan.peak_bytes);
      continue;
    }
    for (std::size_t i = 0; i < targets.size() && phase.time->use; ++i) {
      if (!phase.time->use->is_peak_known[i]) continue;
      const std::uint64_t peak = phase.time->use->peak_bytes[i];
      hold(i, peak - std::min(peak, own[i]));
    }
  }
  for (std::size_t device = 0; device < memory.size(); ++device) {
    for (const auto& [name, bytes] : weights[device]) memory[device].weights += bytes;
  }
  return memory;
}

std::string quality_text(bool is_measured) { return is_measured ? "measured" : "estimated"; }

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

}  // namespace

PhasesReport phases_report(std::vector<Report> phases, const TokenCounts& tokens) {
  PhasesReport report{.phases = std::move(phases), .tokens = tokens};
  report.memory = memory_of(report.phases);
  const auto fewest = std::ranges::min_element(
      report.phases, {}, [](const Report& one) { return one.phase->tokens.value_or(0); });
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
      if (runs) *runs -= tokens.more > 0 ? tokens.more - 1 : 0;
    }
    if (!us || !runs) report.first_us.reset();
    if (report.first_us) *report.first_us += *us * static_cast<double>(*runs);
    report.is_first_measured = report.is_first_measured && is_measured;
  }
  return report;
}

std::string phases_text(const PhasesReport& report) {
  constexpr std::size_t kColumn = 16;
  Page page;
  std::string line = model_name(report.phases.front().model) + ": ";
  line += "first token after " +
          (report.first_us ? duration_text(*report.first_us) + " (" +
                                 quality_text(report.is_first_measured) + ")"
                           : std::string("an unknown time")) +
          ", then " +
          (report.token_us ? rate_text(1e6 / *report.token_us) + " tokens/s (" +
                                 quality_text(report.is_token_measured) + ")"
                           : std::string("tokens at an unknown rate"));
  page.line(line);
  page.blank();
  page.fact("tokens",
            count_text(report.tokens.prompt) + " of the prompt, " + count_text(report.tokens.more) +
                " new (--tokens)",
            kColumn);
  for (const DeviceMemory& memory : report.memory) {
    if (memory.weights == 0 && memory.values.value_or(0) == 0) continue;
    page.fact(memory.device + " memory",
              bytes_text(memory.weights) + " of weights, once for all phases; values " +
                  (memory.values ? "at most " + bytes_text(*memory.values) + " (estimated)"
                                 : std::string("unknown")),
              kColumn);
  }
  for (const Report& one : report.phases) {
    page.heading(phase_title(*one.phase));
    page.add(report_text(one));
  }
  return page.take();
}

}  // namespace cleave
