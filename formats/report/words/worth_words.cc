#include "formats/report/words/worth_words.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/base/number_text.h"
#include "core/graph/op_name.h"
#include "formats/base/text/diagnostic.h"
#include "formats/report/words/open_size_words.h"

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

std::string criterion_text(const WorthVerdict& verdict, const Coverages& coverage,
                           const WorthCriterion& criterion) {
  const bool is_of_nodes = verdict.basis == WorkBasis::nodes;
  switch (criterion.kind) {
    case WorthCriterion::Kind::speedup:
      return speedup_text(criterion.value);
    case WorthCriterion::Kind::work:
      if (coverage.nodes.acc <= 0) return "nothing is on the accelerator";
      if (criterion.value <= 0) return "none of the work is on the accelerator";
      return (verdict.is_at_least ? "at least " : "") + percent_text(criterion.value) + " of the " +
             (is_of_nodes ? "nodes are" : "work is") + " on the accelerator";
    case WorthCriterion::Kind::partitions:
      return counted(whole(criterion.value), "round trip") + " to the accelerator for " +
             (is_of_nodes ? counted(whole(verdict.acc_work), "node")
                          : flops_text(verdict.acc_work));
    case WorthCriterion::Kind::intensity:
      return rate_text(criterion.value) + " FLOPs for each byte over the link";
  }
  return {};
}

std::string_view basis_name(WorkBasis basis) {
  switch (basis) {
    case WorkBasis::flops:
      return "flops";
    case WorkBasis::flops_at_first:
      return "flops_at_first_sizes";
    case WorkBasis::nodes:
      return "nodes";
    case WorkBasis::times:
      return "times";
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
    text +=
        (text.empty() ? "" : "; ") + criterion_text(verdict, report.preview.coverage, criterion);
  }
  if (verdict.basis == WorkBasis::flops_at_first) {
    text += " (at " + first_sizes_text(*report.open_sizes) + ")";
  }
  if (verdict.blamed_partitions > 0 && is_about_partitions) {
    const auto& devices = report.split.partition.devices;
    const auto cpu = std::count(devices.begin(), devices.end(), Device::cpu);
    const NodeId node = verdict.blamed;
    text += "; " + escaped(op_text(report.graph.domain(node), report.graph.op(node))) +
            " alone makes " + count_text(verdict.blamed_partitions) + " of " +
            counted(static_cast<std::uint64_t>(cpu), "CPU partition") + " (cleave advise)";
  }
  return text;
}

std::optional<WorthVerdict> judge(const Report& report) {
  return judge_worth(report.graph, report.split, report.preview, report.time, report.open_sizes);
}

}  // namespace

std::string_view answer_name(Worth answer) {
  return answer == Worth::yes ? "yes" : answer == Worth::maybe ? "maybe" : "no";
}

std::string worth_text(const Report& report) {
  const auto verdict = judge(report);
  if (!verdict) return {};
  return "worth it: " + std::string(answer_word(verdict->answer)) + ": " +
         sentence(report, *verdict);
}

void write_worth(JsonText& json, const Report& report) {
  const auto verdict = judge(report);
  json.key("verdict");
  if (!verdict) return json.null();
  json.begin_object();
  json.text("answer", answer_name(verdict->answer));
  json.text("why", sentence(report, *verdict));
  json.text("basis", basis_name(verdict->basis));
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
