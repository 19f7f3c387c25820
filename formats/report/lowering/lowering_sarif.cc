#include <algorithm>
#include <array>

#include "formats/base/json/text.h"
#include "formats/base/text/markup_text.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/check/sarif_words.h"
#include "formats/report/lowering/lowering_report.h"

namespace cleave {
namespace {

using Layout = JsonText::Layout;

// By kind of finding.
constexpr std::array<SarifRule, 5> kRules = {{
    {"culprit", "Culprit", "The compiler refuses the node alone, or computes it wrong.",
     "Deny the node in the support list, or mend the compiler."},
    {"together", "Together", "The compiler fails on the node together with others.",
     "Deny the node by its name, or mend the compiler."},
    {"remedy", "Remedy", "The compiler takes the partition once something around it is changed.",
     "Pin shapes, freeze shape values or raise the opset, as the message says."},
    {"flaky", "Flaky", "The compiler failed, and did not fail when it was asked again.",
     "Run again; mend the compiler."},
    {"unexplained", "Unexplained", "The compiler fails on the partition; no node is to blame.",
     "Look at the compiler's own words."},
}};

constexpr std::size_t kMostNodes = 20;  // of one result

std::string_view level_of(const LowerFinding& finding) {
  const bool is_fault =
      finding.finding.kind == FindingKind::culprit || finding.finding.kind == FindingKind::together;
  return is_fault ? "error" : "warning";
}

class SarifWriter {
 public:
  explicit SarifWriter(const LoweringReport& report)
      : report_(report), graph_(report.input.model.graph) {}

  std::string write() {
    begin_sarif(json_, kRules);
    for (const LowerFinding& finding : report_.outcome.findings) write_result(finding);
    return end_sarif(std::move(json_), 0);
  }

 private:
  void write_result(const LowerFinding& finding) {
    const auto rule = static_cast<std::size_t>(finding.finding.kind);
    json_.begin_object();
    json_.text("ruleId", kRules[rule].id);
    json_.number("ruleIndex", rule);
    json_.text("level", level_of(finding));
    write_sarif_text(json_, "message",
                     backend_name(report_, finding.backend) + ", partition " + finding.part + ": " +
                         culprit_text(graph_, finding) + ": " +
                         first_line(finding.finding.message, 300));
    json_.begin_list("locations");
    json_.begin_object();
    write_model();
    write_nodes(finding.finding);
    json_.end_object();
    json_.end_list();
    json_.end_object();
  }

  void write_model() {
    json_.begin_object("physicalLocation");
    json_.begin_object("artifactLocation", Layout::one_line);
    json_.text("uri", uri_text(report_.input.model.source.path()));
    json_.end_object();
    json_.end_object();
  }

  void write_nodes(const Finding& finding) {
    if (finding.nodes.empty()) return;
    json_.begin_list("logicalLocations");
    for (std::size_t i = 0; i < std::min(finding.nodes.size(), kMostNodes); ++i) {
      const std::string_view name = graph_.node(finding.nodes[i]).name;
      json_.begin_object(Layout::one_line);
      json_.text("name", name);
      json_.text("fullyQualifiedName", report_.input.model.source.path() + "/" + std::string(name));
      json_.end_object();
    }
    json_.end_list();
  }

  const LoweringReport& report_;
  const Graph& graph_;
  JsonText json_;
};

}  // namespace

std::string lowering_sarif(const LoweringReport& report) { return SarifWriter(report).write(); }

}  // namespace cleave
