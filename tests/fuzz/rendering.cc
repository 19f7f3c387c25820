#include "tests/fuzz/rendering.h"

#include <string>

#include "core/measures/measures.h"
#include "core/split/split.h"
#include "formats/base/text.h"
#include "formats/report/check/check.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/drawings/pages.h"
#include "formats/report/split/split_texts.h"
#include "tests/fuzz/demands.h"

namespace cleave::fuzz {
namespace {

constexpr std::size_t kMostDrawn = 200;

void demand_utf8(std::string_view text, std::string_view what) {
  demand(first_invalid_utf8(text) == text.npos, std::string(what) + " is UTF-8");
}

void demand_good_reports(const Report& report) {
  const std::string json = report_json(report);
  demand_json(json, "the report");
  demand(json == report_json(report), "a report is the same when made again");
  demand_printable(report_text(report), "the report as text");
  demand_json(support_report_json(report), "the support report");
  demand_printable(support_report_text(report), "the support report as text");
  std::vector<NodeId> nodes;
  for (const NodeId node : report.model.graph.nodes()) nodes.push_back(node);
  demand_printable(explain_text(report, nodes), "an explanation");
  demand_json(explain_json(report, nodes), "an explanation");
}

void demand_good_overlays(const Report& report) {
  demand_json(netron_attachment(report), "Netron's attachment");
  for (const NamedText& file : model_explorer_files(report)) demand_json(file.text, file.name);
  demand_utf8(draw_support(report, kMostDrawn), "the drawing of support");
  demand_utf8(draw_preview(report), "the drawing of partitions");
  for (const PartId part : report.split.partition.parts()) {
    if (index(part) > 3) break;
    demand_utf8(draw_part(report, part, kMostDrawn), "the drawing of a partition");
  }
}

void demand_good_prints(const Report& report) {
  const Graph& graph = report.model.graph;
  demand_printable(print_model(graph), "the model as text");
  demand_printable(print_split(graph, report.split.partition, report.split.boundaries),
                   "the split as text");
}

void demand_good_check(const Report& report) {
  CheckRequest request;
  request.limits.node_coverage = 1;
  request.limits.boundary_bytes = 1;
  request.limits.unknown_shapes = 0;
  request.require = {"*"};
  Check check;
  check.runs.push_back(check_report(report, request, nullptr));
  demand_printable(check_text(check), "the check as text");
  demand_json(check_json(check), "the check");
  demand_json(ci_sarif(ci_report(check)), "SARIF");
  demand_utf8(ci_junit(ci_report(check)), "JUnit");
  demand_utf8(ci_markdown(ci_report(check)), "Markdown");
  demand_printable(ci_annotations(ci_report(check)), "annotations");
}

}  // namespace

std::vector<SupportList> some_support(const Graph& graph, std::size_t salt) {
  SupportList list;
  list.name = "some";
  list.path = "some.txt";
  for (const NodeId node : graph.nodes()) {
    std::size_t hash = 14695981039346656037U ^ salt;
    for (const char c : graph.op(node))
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    if (hash >> 33U & 1U || list.allow.size() > 50) continue;
    Rule rule;
    rule.op = graph.op(node);
    rule.domain = graph.domain(node);
    rule.line = 1;
    rule.column = 1;
    list.allow.push_back(std::move(rule));
  }
  return {std::move(list)};
}

void demand_good_split(const LoadedModel& model, const std::vector<SupportList>& lists) {
  const SplitOptions options;
  const OpFacts facts = op_facts(model);
  const auto split = split_graph({model.graph, lists, facts}, options);
  demand(split.has_value(), "what has no impossible option is split");
  demand(check_partition(model.graph, split->partition, nullptr).has_value(),
         "the partition is whole and in order");
  const Preview preview =
      preview_split(model.graph, split->partition, split->boundaries, default_link());
  const Report report{model, model.graph, lists, facts, options, *split, preview, model.notes};
  demand_good_reports(report);
  demand_good_overlays(report);
  demand_good_prints(report);
  demand_good_check(report);
}

}  // namespace cleave::fuzz
