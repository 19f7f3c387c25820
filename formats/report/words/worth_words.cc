#include "formats/report/words/worth_words.h"

#include <algorithm>
#include <cstdint>

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/number_text.h"
#include "formats/report/words/value_text.h"

namespace cleave {
namespace {

std::string_view criterion_name(WorthCriterion::Kind kind) {
  switch (kind) {
    case WorthCriterion::Kind::speedup:
      return "speedup";
    case WorthCriterion::Kind::work:
      return "work";
    case WorthCriterion::Kind::partitions:
      return "partitions";
    case WorthCriterion::Kind::intensity:
      return "flops_per_byte";
  }
  return {};
}

std::uint64_t whole(double number) { return static_cast<std::uint64_t>(number); }

std::string speedup_text(double speedup) {
  if (speedup < 1) return rate_text(1 / speedup) + " times as slow as the CPU alone";
  return rate_text(speedup) + " times as fast as the CPU alone";
}

std::string criterion_text(const Coverages& coverage, const WorthCriterion& criterion) {
  switch (criterion.kind) {
    case WorthCriterion::Kind::speedup:
      return speedup_text(criterion.value);
    case WorthCriterion::Kind::work: {
      const bool is_of_flops = coverage.unknown_flops == 0 && coverage.flops.total > 0;
      if (criterion.value <= 0) return "nothing is on the accelerator";
      return percent_text(criterion.value) + " of the " + (is_of_flops ? "work is" : "nodes are") +
             " on the accelerator";
    }
    case WorthCriterion::Kind::partitions:
      return counted(whole(criterion.value), "round trip", "round trips") +
             " to the accelerator for " + counted(whole(coverage.nodes.acc), "node", "nodes");
    case WorthCriterion::Kind::intensity:
      return rate_text(criterion.value) + " FLOPs for each byte over the link";
  }
  return {};
}

std::string_view answer_word(Worth answer) {
  return answer == Worth::yes ? "YES" : answer == Worth::maybe ? "MAYBE" : "NO";
}

std::string sentence(const Report& report, const WorthVerdict& verdict) {
  std::string text;
  bool is_about_partitions = false;
  for (const WorthCriterion& criterion : verdict.criteria) {
    if (criterion.answer != verdict.answer) continue;
    is_about_partitions |= criterion.kind == WorthCriterion::Kind::partitions ||
                           criterion.kind == WorthCriterion::Kind::speedup;
    text += (text.empty() ? "" : "; ") + criterion_text(report.preview.coverage, criterion);
  }
  if (verdict.blamed_partitions > 0 && is_about_partitions) {
    const auto& devices = report.split.partition.devices;
    const auto cpu = std::count(devices.begin(), devices.end(), Device::cpu);
    const NodeId node = verdict.blamed;
    text += "; " + escaped(op_text(report.graph.domain(node), report.graph.op(node))) +
            " alone makes " + count_text(verdict.blamed_partitions) + " of " +
            counted(static_cast<std::uint64_t>(cpu), "CPU partition", "CPU partitions") +
            " (cleave advise)";
  }
  return text;
}

}  // namespace

std::string_view answer_name(Worth answer) {
  return answer == Worth::yes ? "yes" : answer == Worth::maybe ? "maybe" : "no";
}

std::string worth_text(const Report& report) {
  const auto verdict = judge_worth(report.graph, report.split, report.preview, report.time);
  if (!verdict) return {};
  return "worth it: " + std::string(answer_word(verdict->answer)) + ": " +
         sentence(report, *verdict);
}

void write_worth(JsonText& json, const Report& report) {
  const auto verdict = judge_worth(report.graph, report.split, report.preview, report.time);
  json.key("verdict");
  if (!verdict) return json.null();
  json.begin_object();
  json.text("answer", answer_name(verdict->answer));
  json.text("why", sentence(report, *verdict));
  json.begin_list("criteria");
  for (const WorthCriterion& criterion : verdict->criteria) {
    json.begin_object(JsonText::Layout::one_line);
    json.text("name", criterion_name(criterion.kind));
    json.number("value", criterion.value);
    json.number("yes", criterion.yes);
    json.number("maybe", criterion.maybe);
    json.text("answer", answer_name(criterion.answer));
    json.end_object();
  }
  json.end_list();
  json.end_object();
}

}  // namespace cleave
