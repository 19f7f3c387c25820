// Reports of lowering for programs and CI, and of backends.

#include <algorithm>
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/lists/support_file.h"
#include "formats/models/models.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- lowering json ----

namespace {

using Layout = JsonText::Layout;

std::string_view kind_name(FindingKind kind) {
  switch (kind) {
    case FindingKind::culprit:
      return "culprit";
    case FindingKind::together:
      return "together";
    case FindingKind::remedy:
      return "remedy";
    case FindingKind::flaky:
      return "flaky";
    case FindingKind::unexplained:
      return "unexplained";
    case FindingKind::left_out:
      return "left out";
    case FindingKind::size:
      return "size";
  }
  return {};
}

std::string_view values_name(ValueVerdict verdict) {
  switch (verdict) {
    case ValueVerdict::culprit:
      return "culprit";
    case ValueVerdict::lower_precision:
      return "lower precision";
    case ValueVerdict::tie_order:
      return "order of ties";
    case ValueVerdict::one_step:
      return "one quantisation step";
    case ValueVerdict::rounding_decides:
      return "rounding decides an order";
    case ValueVerdict::errors_add_up:
      return "errors add up";
    case ValueVerdict::together:
      return "together";
    case ValueVerdict::not_finite:
      return "not finite";
    case ValueVerdict::unresolved:
      return "unresolved";
  }
  return {};
}

void write_limits(JsonText& json, const PartLimits& limits) {
  for (std::size_t i = 0; i < kPartLimitCount; ++i) {
    if (limits.most[i]) json.number(part_limit_name(static_cast<PartLimit>(i)), *limits.most[i]);
  }
}

class JsonWriter {
 public:
  explicit JsonWriter(const LoweringReport& report)
      : report_(report), graph_(report.model.graph), outcome_(report.outcome) {}

  std::string write() {
    json_.begin_object();
    json_.text("format", "cleave.lowering");
    json_.number("version", 1);
    json_.flag("clean", outcome_.is_clean);
    json_.number("nodes", outcome_.nodes);
    json_.number("nodes_lowered", outcome_.nodes_lowered);
    json_.number("rounds", outcome_.rounds.size());
    json_.number("compiler_runs", outcome_.compiler_runs);
    json_.number("cache_hits", outcome_.cache_hits);
    json_.number("rules", outcome_.learned.size());
    json_.flag("eroding", outcome_.is_eroding);
    json_.number("seconds", outcome_.seconds);
    json_.number("backend_seconds", outcome_.backend_seconds);
    json_.number("jobs", report_.pool.jobs);
    write_backends();
    json_.begin_list("parts");
    for (const LoweredPart& part : outcome_.rounds.back().parts) write_part(part);
    json_.end_list();
    json_.begin_list("findings");
    for (std::size_t i = 0; i < outcome_.findings.size(); ++i) write_finding(i);
    json_.end_list();
    json_.begin_list("learned");
    write_learned();
    json_.end_list();
    json_.number("max_nodes", outcome_.limits[PartLimit::nodes]);
    json_.begin_object("limits", Layout::one_line);
    write_limits(json_, outcome_.limits);
    json_.end_object();
    write_sizes();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void write_backends() {
    json_.text("model", report_.model.source.path());
    write_bound();
    json_.begin_list("backends");
    for (std::size_t i = 0; i < report_.backends.size(); ++i) {
      json_.begin_object(Layout::one_line);
      json_.text("name", report_.backends[i].name);
      json_.text("identity", outcome_.identities[i]);
      const std::string& target = report_.backends[i].target;
      if (!target.empty()) json_.text("target", target);
      json_.end_object();
    }
    json_.end_list();
    write_targets();
    json_.key("reference");
    outcome_.reference.empty() ? json_.null() : json_.text(outcome_.reference);
    json_.text("reference_note", outcome_.lack_of_reference);
    write_reference_sizes();
    json_.number("samples_compared", outcome_.samples);
    json_.number("seed", report_.pool.seed);
  }

  // What the model was given before it was split: a compiled partition holds for these only.
  void write_bound() {
    const ShapeBindings& bindings = report_.model.bindings;
    json_.begin_object("bound", Layout::one_line);
    json_.begin_object("dims");
    for (const auto& [name, size] : bindings.dims) {
      json_.text_key(name);
      json_.number(size);
    }
    json_.end_object();
    json_.begin_object("shapes");
    for (const auto& [input, sizes] : bindings.inputs) {
      json_.text_key(input);
      json_.begin_list();
      for (const std::int64_t size : sizes) json_.number(size);
      json_.end_list();
    }
    json_.end_object();
    json_.begin_object("values");
    for (const auto& [input, text] : bindings.values) {
      json_.text_key(input);
      json_.text(text);
    }
    json_.end_object();
    json_.end_object();
  }

  void write_targets() {
    if (outcome_.targets.empty()) return;
    json_.begin_list("targets");
    for (const LoweredOfTarget& own : lowered_of_targets(report_)) {
      json_.begin_object(Layout::one_line);
      json_.text("name", own.target);
      json_.number("partitions", own.parts);
      json_.number("nodes", own.nodes);
      json_.number("partitions_lowered", own.lowered_parts);
      json_.number("nodes_lowered", own.lowered_nodes);
      json_.flag("compiled", !own.backends.empty());
      json_.end_object();
    }
    json_.end_list();
  }

  void write_reference_sizes() {
    json_.begin_list("reference_sizes");
    for (const TakenSize& taken : outcome_.taken) {
      json_.begin_object(Layout::one_line);
      json_.text("input", taken.input);
      json_.number("axis", taken.axis);
      json_.number("size", taken.size);
      json_.text("why", taken.why);
      json_.end_object();
    }
    json_.end_list();
  }

  void write_nodes(std::string_view key, const std::vector<NodeId>& nodes) {
    json_.begin_list(key, Layout::one_line);
    for (const NodeId node : nodes) json_.text(graph_.node(node).name);
    json_.end_list();
  }

  void write_left(const Attempt& attempt) {
    json_.begin_list("left");
    for (const LeftOut& one : attempt.left) {
      json_.begin_object(Layout::one_line);
      json_.text("node", one.node);
      json_.text("op", one.op);
      json_.text("why", one.why);
      json_.end_object();
    }
    json_.end_list();
  }

  void write_compared(const Attempt& attempt) {
    json_.begin_list("values");
    for (const ComparedOutput& one : attempt.compared) {
      json_.begin_object(Layout::one_line);
      json_.text("output", one.name);
      json_.number("largest_difference", one.most_apart);
      json_.number("largest_value", one.largest);
      json_.number("rms", one.rms);
      json_.flag("tested", one.is_tested);
      json_.end_object();
    }
    json_.end_list();
  }

  void write_remedies(const LoweredPart& part) {
    json_.begin_object("remedies", Layout::one_line);
    json_.number("pinned_inputs", part.pinned.size());
    json_.number("pinned_to_data", static_cast<std::uint64_t>(std::count_if(
                                       part.pinned.begin(), part.pinned.end(),
                                       [](const PinnedShape& one) { return one.is_of_data; })));
    json_.number("frozen_inputs", part.frozen);
    json_.key("opset");
    part.remedies.opset ? json_.number(*part.remedies.opset) : json_.null();
    json_.flag("needs_sizes", part.needs_sizes);
    json_.flag("stated_inside", part.remedies.state_inside);
    write_pinned(part);
    json_.end_object();
  }

  void write_pinned(const LoweredPart& part) {
    json_.begin_list("pinned", Layout::one_line);
    for (const PinnedShape& pinned : part.pinned) {
      json_.begin_object();
      json_.text("input", graph_.value(pinned.input).name);
      json_.text("type", type_text(graph_, pinned.input));
      json_.begin_list("shape");
      for (const std::int64_t size : pinned.shape) json_.number(size);
      json_.end_list();
      json_.end_object();
    }
    json_.end_list();
  }

  // The sizes with which open inputs compiled, and what to do with them.
  void write_sizes() {
    json_.begin_list("size_options", Layout::one_line);
    for (const std::string& word : size_options(outcome_.sizes)) json_.text(word);
    json_.end_list();
    json_.key("split_command");
    const std::string command = split_command(report_);
    command.empty() ? json_.null() : json_.text(command);
    json_.begin_list("advice");
    for (const std::string& text : advice_texts(report_)) json_.text(text);
    json_.end_list();
  }

  void write_part(const LoweredPart& part) {
    const Attempt& attempt = part.attempt;
    json_.begin_object();
    json_.text("name", part.name);
    json_.text("backend", report_.backends[part.backend].name);
    json_.number("nodes", part.nodes.size());
    json_.flag("lowered", part.is_lowered);
    json_.text("verdict", verdict_name(attempt.verdict));
    json_.text("detail", attempt.detail);
    json_.text("stage", lower_stage_name(attempt.stage));
    json_.number("seconds", attempt.seconds);
    json_.number("artefact_bytes", attempt.artefact_bytes);
    json_.flag("cached", attempt.is_cached);
    json_.text("message", attempt.message);
    json_.text("before", attempt.before);
    json_.text("hash", part.hash);
    write_left(attempt);
    write_compared(attempt);
    write_remedies(part);
    json_.number("finding", part.finding);
    if (part.artefacts) write_artefacts(*part.artefacts);
    json_.end_object();
  }

  void write_artefacts(const PartArtefacts& artefacts) {
    json_.begin_list("artefacts");
    for (const Artefact& one : artefacts.files) {
      json_.begin_object(Layout::one_line);
      json_.text("file", one.file);
      json_.text("role", one.role);
      json_.number("bytes", one.bytes);
      json_.text("sha256", one.sha256);
      json_.end_object();
    }
    json_.end_list();
    json_.key("artefact_why");
    artefacts.why.empty() ? json_.null() : json_.text(artefacts.why);
    write_texts("artefact_inputs", artefacts.inputs);
    write_texts("artefact_outputs", artefacts.outputs);
    json_.begin_object("target", Layout::one_line);
    for (const auto& [key, value] : artefacts.target) json_.text(key, value);
    json_.end_object();
  }

  void write_texts(std::string_view key, const std::vector<std::string>& texts) {
    json_.begin_list(key, Layout::one_line);
    for (const std::string& text : texts) json_.text(text);
    json_.end_list();
  }

  void write_finding(std::size_t index) {
    const LowerFinding& found = outcome_.findings[index];
    const Finding& finding = found.finding;
    json_.begin_object();
    json_.number("round", found.round);
    json_.text("part", found.part);
    json_.text("backend", report_.backends[found.backend].name);
    json_.text("kind", kind_name(finding.kind));
    json_.key("values");
    found.values ? json_.text(values_name(*found.values)) : json_.null();
    json_.text("culprit", culprit_text(graph_, found));
    write_nodes("nodes", finding.nodes);
    json_.number("nodes_within", finding.within.size());
    json_.flag("minimal", finding.is_minimal);
    json_.key("max_nodes");
    const bool is_of_nodes = finding.kind == FindingKind::size && finding.limit.of == SizeOf::nodes;
    is_of_nodes ? json_.number(finding.limit.most) : json_.null();
    json_.key("blocked");
    const std::string blocked = blocked_text(graph_, finding);
    blocked.empty() ? json_.null() : json_.text(blocked);
    json_.text("signature", finding.signature);
    json_.text("message", finding.message);
    json_.number("runs", finding.runs);
    json_.key("rule");
    found.rule.empty() ? json_.null() : json_.text(found.rule);
    json_.key("cases");
    found.rule.empty() ? json_.null() : json_.number(found.cases);
    json_.key("folder");
    report_.folder.empty() ? json_.null() : json_.text("findings/" + std::to_string(index + 1));
    json_.end_object();
  }

  void write_learned() {
    if (outcome_.targets.empty()) {
      for (const Rule& rule : outcome_.learned) write_rule(rule, {});
    }
    for (std::size_t i = 0; i < outcome_.targets.size(); ++i) {
      for (const Rule& rule : outcome_.learned_by_target[i].rules) {
        write_rule(rule, outcome_.targets[i]);
      }
    }
  }

  // `target`: of several, the one that it holds for.
  void write_rule(const Rule& rule, std::string_view target) {
    json_.begin_object(Layout::one_line);
    if (!target.empty()) json_.text("target", target);
    json_.text("op", rule.op);
    json_.text("domain", rule.domain);
    json_.text("name", rule.node_name);
    json_.text("why", rule.why);
    json_.end_object();
  }

  const LoweringReport& report_;
  const Graph& graph_;
  const LowerOutcome& outcome_;
  JsonText json_;
};

}  // namespace

std::string lowering_json(const LoweringReport& report) { return JsonWriter(report).write(); }

std::string with_lowering(std::string report, const LoweringReport& lowering) {
  constexpr std::string_view kEnd = "\n}\n";
  report.resize(report.size() - kEnd.size());
  std::string inner = lowering_json(lowering);
  while (inner.ends_with('\n')) inner.pop_back();
  std::string text = report + ",\n \"lowering\": ";
  for (const char c : inner) {
    text += c;
    if (c == '\n') text += ' ';
  }
  return text + std::string(kEnd);
}

namespace {

void write_part(JsonText& json, const PartConditions& part) {
  if (!part.is_any()) return;
  json.begin_object("part");
  json.begin_object("min_ops");
  for (const auto& [op, count] : part.min_ops) {
    json.text_key(op);
    json.number(count);
  }
  json.end_object();
  json.begin_list("not_only");
  for (const std::string& op : part.not_only) json.text(op);
  json.end_list();
  json.end_object();
}

}  // namespace

Result<std::string, Error> learned_list_json(const SupportList& list, const Learned& learned) {
  for (const Rule& rule : list.allow) {
    if (rule.opset && rule.opset->same_schema) {
      return Error{list.path +
                   " asks for schema versions of operators, which a native list cannot: "
                   "give a list in native JSON or plain text"};
    }
  }
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.text("name", list.name + std::string(kLearnedSuffix));
  if (!list.source.empty()) json.text("source", list.source);
  if (list.link) {
    json.begin_object("link", Layout::one_line);
    json.text("bandwidth", list.link->name);
    json.end_object();
  }
  if (const std::string target = list_target_text(list); !target.empty()) {
    json.key("target");
    json.document(target);
  }
  json.begin_list("allow");
  for (const Rule& rule : list.allow) write_allow_rule(json, rule);
  json.end_list();
  json.begin_list("deny");
  for (const Rule& rule : list.deny) write_deny_rule(json, rule);
  for (const Rule& rule : learned.rules) write_deny_rule(json, rule);
  json.end_list();
  if (!list.patterns.empty()) {
    json.begin_list("patterns");
    for (const Pattern& pattern : list.patterns) write_pattern(json, pattern);
    json.end_list();
  }
  PartLimits limits = list.limits;
  for (std::size_t i = 0; i < kPartLimitCount; ++i) {
    const auto& own = learned.limits.most[i];
    if (own) limits.most[i] = std::min(*own, limits.most[i].value_or(*own));
  }
  write_limits(json, limits);
  write_part(json, list.part);
  if (list.view != GraphView::model) json.text("as", graph_view_name(list.view));
  if (list.keeps_qdq) json.flag("keep_qdq", true);
  json.end_object();
  return std::move(json).finish();
}

// ---- lowering ci ----
//
// What a lowering tells a CI server: a test and, if it fails, an alert for each partition of the last
// round, a finding for each finding.

namespace {

constexpr std::size_t kMostRows = 50;

// By kind of finding.
constexpr std::array<CiRule, 7> kRules = {{
    {"culprit", "Culprit", "The compiler refuses the node alone, or computes it wrong.",
     "Deny the node in the support list, or fix the compiler."},
    {"together", "Together", "The compiler fails on the node together with others.",
     "Deny the node by its name, or fix the compiler."},
    {"remedy", "Remedy", "The compiler takes the partition once something around it is changed.",
     "Pin shapes, freeze shape values or raise the opset, as the message says."},
    {"flaky", "Flaky", "The compiler failed, and did not fail when it was asked again.",
     "Run again; fix the compiler."},
    {"unexplained", "Unexplained", "The compiler fails on the partition; no node is to blame.",
     "Look at the compiler's own words."},
    {"left-out", "LeftOut", "The compiler leaves the node out and compiles the others.",
     "Deny the node in the support list."},
    {"size", "Size", "The compiler fails on partitions beyond a size, whichever their nodes are.",
     "Limit the partition in the support list, as the learned list does."},
}};

FilePlace place_of(const LoweringReport& report) {
  return {.file = report.model.source.path(), .has_lines = false};
}

const std::vector<LoweredPart>& parts_of(const LoweringReport& report) {
  return report.outcome.rounds.back().parts;
}

// ---- tests: a suite for each backend ----

// A refusal or wrong values are a failure. A crash, a timeout and faults that are not the partition's
// are an error.
CiCase::Outcome outcome_of(const LoweredPart& part) {
  if (part.is_lowered) return CiCase::Outcome::passed;
  switch (part.attempt.verdict) {
    case LowerVerdict::partly:
    case LowerVerdict::refused:
    case LowerVerdict::no_output:
    case LowerVerdict::too_large:
    case LowerVerdict::wrong_values:
    case LowerVerdict::lower_precision:
      return CiCase::Outcome::failure;
    default:
      return CiCase::Outcome::error;
  }
}

std::string details_of(const LoweringReport& report, const LoweredPart& part) {
  std::string details = part.attempt.message + "\n";
  if (!part.finding) return details;
  const LowerFinding& finding = report.outcome.findings[*part.finding];
  details += "culprit: " + culprit_text(report.model.graph, finding) + "\n";
  if (!finding.rule.empty()) details += "rule: " + rule_text(report, finding) + "\n";
  if (!report.folder.empty()) details += "see " + finding_path(report, *part.finding) + "\n";
  return details;
}

CiCase case_of(const LoweringReport& report, const LoweredPart& part) {
  const Attempt& attempt = part.attempt;
  CiCase test{.name = part.name,
              .class_name = backend_name(report, part.backend),
              .outcome = outcome_of(part),
              .type = std::string(verdict_name(attempt.verdict)),
              .message = verdict_text(attempt),
              .details = details_of(report, part),
              .seconds = attempt.seconds};
  if (!attempt.message.empty()) test.message += ": " + first_line(attempt.message, 200);
  return test;
}

CiSuite suite_of(const LoweringReport& report, std::size_t backend) {
  CiSuite suite{.name = report.model.source.path() + " with " + backend_name(report, backend)};
  for (const LoweredPart& part : parts_of(report)) {
    if (part.backend == backend) suite.cases.push_back(case_of(report, part));
  }
  if (report.outcome.takes_nothing) {
    suite.cases.push_back({.name = "accelerator partitions",
                           .class_name = backend_name(report, backend),
                           .outcome = CiCase::Outcome::failure,
                           .type = "nothing to lower",
                           .message = conclusion_text(report)});
  }
  return suite;
}

// ---- alerts and findings ----

CiAlert alert_of(const LoweringReport& report, const LoweredPart& part) {
  std::string message = part.name + ": " + verdict_text(part.attempt);
  if (part.finding) {
    message += ": " + culprit_text(report.model.graph, report.outcome.findings[*part.finding]);
  }
  if (!part.attempt.message.empty()) message += ": " + first_line(part.attempt.message, 200);
  return {place_of(report), "cleave lower: " + backend_name(report, part.backend), message};
}

CiFinding finding_of(const LoweringReport& report, const LowerFinding& found) {
  const Graph& graph = report.model.graph;
  const FindingKind kind = found.finding.kind;
  const bool is_fault = kind == FindingKind::culprit || kind == FindingKind::together;
  CiFinding finding{.rule = static_cast<std::size_t>(kind),
                    .level = is_fault ? "error" : "warning",
                    .message = backend_name(report, found.backend) + ", partition " + found.part +
                               ": " + culprit_text(graph, found) + ": " +
                               first_line(found.finding.message, 300),
                    .place = place_of(report),
                    .model = report.model.source.path()};
  for (const NodeId node : found.finding.nodes) finding.nodes.emplace_back(graph.node(node).name);
  return finding;
}

// ---- Markdown ----

std::string row_of(const LoweringReport& report, const LoweredPart& part,
                   const std::string& remedy) {
  const std::string says = remedy.empty() ? first_line(part.attempt.message, 120)
                                          : (part.needs_sizes ? "lowers with " : "with ") + remedy;
  return markdown_row({markdown_mark(part.is_lowered), markdown_code(part.name),
                       count_text(part.nodes.size()),
                       markdown_text(backend_name(report, part.backend)),
                       markdown_text(verdict_text(part.attempt)), markdown_text(says)});
}

// The partitions of the last round that are not lowered, or only with a remedy.
std::string parts_text(const LoweringReport& report) {
  std::string rows;
  CappedList list(kMostRows);
  for (const LoweredPart& part : parts_of(report)) {
    const std::string remedy = remedy_text(part);
    if (part.attempt.verdict == LowerVerdict::lowered && remedy.empty()) continue;
    if (list.shows_next()) rows += row_of(report, part, remedy);
  }
  if (rows.empty()) return {};
  return "\n| | partition | nodes | backend | verdict | |\n"
         "| --- | --- | ---: | --- | --- | --- |\n" +
         rows + list.rest("\nand # more\n");
}

std::string findings_text(const LoweringReport& report) {
  const auto& findings = report.outcome.findings;
  CappedList list(kMostRows);
  std::string text;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!list.shows_next()) continue;
    const LowerFinding& finding = findings[i];
    text += std::to_string(i + 1) + ". " + markdown_code(finding.part) + ": " +
            markdown_text(culprit_text(report.model.graph, finding));
    if (!finding.rule.empty()) text += "; " + markdown_text(rule_text(report, finding));
    const std::string path = finding_path(report, i), doubt = doubt_text(report, i);
    if (!doubt.empty()) text += " (" + markdown_text(doubt) + ")";
    if (!path.empty() && doubt.empty()) text += "; see " + markdown_code(path);
    text += "\n";
  }
  return text.empty() ? "" : "\n**Findings**\n\n" + text + list.rest("\nand # more\n");
}

// A command at the end of the advice is code, to be copied.
std::string advice_text(std::string_view advice, std::string_view command) {
  const std::size_t at = command.empty() ? advice.npos : advice.rfind(command);
  if (at == advice.npos) return markdown_text(advice);
  return markdown_text(advice.substr(0, at)) + markdown_code(command);
}

}  // namespace

CiReport ci_report(const LoweringReport& report) {
  CiReport ci{.program = "cleave lower",
              .is_passed = report.outcome.is_clean && !report.outcome.takes_nothing,
              .more_alerts = "and # more partitions are not lowered: see the report",
              .rules = kRules,
              .title = markdown_text(report.model.source.path())};
  for (std::size_t i = 0; i < report.backends.size(); ++i) {
    ci.suites.push_back(suite_of(report, i));
  }
  for (const LoweredPart& part : parts_of(report)) {
    if (!part.is_lowered) ci.alerts.push_back(alert_of(report, part));
  }
  for (const LowerFinding& finding : report.outcome.findings) {
    ci.findings.push_back(finding_of(report, finding));
  }
  ci.body = "\n" + markdown_text(conclusion_text(report)) + "\n";
  for (const std::string& advice : advice_texts(report)) {
    ci.body += "\n" + advice_text(advice, split_command(report)) + "\n";
  }
  ci.body += parts_text(report) + findings_text(report);
  return ci;
}

// ---- backend reports ----

namespace {

std::string_view outcome_text(SelfTestStep::Outcome outcome) {
  switch (outcome) {
    case SelfTestStep::Outcome::passed:
      return "ok";
    case SelfTestStep::Outcome::failed:
      return "FAILED";
    case SelfTestStep::Outcome::skipped:
      return "skipped";
  }
  return {};
}

std::string stages_of(const Backend& backend) {
  std::string text;
  for (const LowerStage stage : {LowerStage::check, LowerStage::compile, LowerStage::run}) {
    if (!backend.has(stage)) continue;
    text += (text.empty() ? "" : ", ") + std::string(lower_stage_name(stage));
  }
  if (backend.serve && backend.serve->does("capture")) text += ", reference";
  return text;
}

}  // namespace

std::string self_test_text(const Backend& backend, const SelfTest& test) {
  const auto failed = std::count_if(test.steps.begin(), test.steps.end(), [](const auto& step) {
    return step.outcome == SelfTestStep::Outcome::failed;
  });
  std::string text = backend.name;
  if (!test.identity.empty()) text += " " + test.identity;
  text += failed == 0 ? ": works\n\n"
                      : ": does not work: " + count_text(static_cast<std::uint64_t>(failed)) +
                            " of " + count_text(test.steps.size()) + " steps fail\n\n";
  TextTable table({"step", "result", "time"}, {Align::left, Align::left, Align::right});
  std::string details;
  for (const SelfTestStep& step : test.steps) {
    table.add_row({step.name, std::string(outcome_text(step.outcome)),
                   step.seconds > 0 ? duration_text(step.seconds * 1e6) : ""});
    if (step.detail.empty()) continue;
    const std::size_t end = step.detail.find_last_not_of(" \n\t\r");  // of programs' last lines
    details += wrapped(step.name + ": " + escaped(step.detail.substr(0, end + 1)), 2, 4);
  }
  text += table.text();
  if (!details.empty()) text += "\n" + details;
  return text;
}

std::string backend_list_text(const std::vector<Backend>& backends) {
  TextTable table({"name", "stages", "file"}, {Align::left, Align::left, Align::left});
  for (const Backend& backend : backends) {
    table.add_row({backend.name, stages_of(backend), backend.path});
  }
  return table.text();
}

namespace {

struct OpCounts {
  std::size_t nodes = 0, cases = 0, taken = 0, refused = 0;
  const ProbedCase* first_refused = nullptr;
};

std::string op_name(const ProbeReport& report, const ProbedCase& probed) {
  const Graph& graph = report.input.models[probed.model].graph;
  return op_text(graph.domain(probed.node), graph.op(probed.node));
}

std::map<std::string, OpCounts> count_ops(const ProbeReport& report) {
  std::map<std::string, OpCounts> ops;
  for (const ProbedCase& probed : report.outcome.cases) {
    OpCounts& counts = ops[op_name(report, probed)];
    ++counts.cases;
    counts.nodes += probed.nodes;
    counts.taken += probed.is_taken() ? 1U : 0U;
    counts.refused += probed.is_refused() ? 1U : 0U;
    if (probed.is_refused() && counts.first_refused == nullptr) counts.first_refused = &probed;
  }
  return ops;
}

std::string backend_text(const ProbeReport& report) {
  return report.input.backends.front().title(report.outcome.identity);
}

std::size_t count_taken(const ProbeOutcome& outcome) {
  return static_cast<std::size_t>(std::count_if(outcome.cases.begin(), outcome.cases.end(),
                                                [](const auto& one) { return one.is_taken(); }));
}

// With which sizes cases were asked that are refused with open shapes; a line for each model.
std::string known_sizes_text(const ProbeReport& report) {
  const ProbeOutcome& outcome = report.outcome;
  std::string text;
  for (std::size_t model = 0; model < outcome.sizes.size(); ++model) {
    std::size_t taken = 0;
    for (const ProbedCase& one : outcome.cases) {
      taken += one.model == model && one.is_pinned && one.is_taken() ? 1U : 0U;
    }
    if (taken == 0) continue;
    text += wrapped(counted(taken, "case of ", "cases of ") +
                        escaped(report.input.models[model].source.path()) +
                        (taken == 1 ? " is" : " are") +
                        " taken with known sizes only: give them to the split, too, as in " +
                        words_text(size_options(outcome.sizes[model])),
                    0, 2);
  }
  return text;
}

// What was found out about cases that are refused alone, or of which nothing was left.
std::string help_text(const ProbeReport& report) {
  std::size_t known = 0, folded = 0;
  for (const ProbedCase& one : report.outcome.cases) {
    known += one.help == CaseHelp::known ? 1U : 0U;
    folded += one.is_folded() ? 1U : 0U;
  }
  std::string text;
  for (const Pattern& pattern : report.outcome.patterns) {
    std::string ops;
    for (const Rule& op : pattern.ops) ops += (ops.empty() ? "" : ", ") + op.op;
    text +=
        wrapped("pattern \"" + escaped(pattern.name) + "\": taken together: " + escaped(ops), 0, 2);
  }
  if (known > 0) {
    text += wrapped(counted(known, "refused case is", "refused cases are") +
                        " known before the model runs: pass --fold write to the split, too",
                    0, 2);
  }
  if (folded > 0) {
    text += wrapped(counted(folded, "case was", "cases were") +
                        " folded away by the compiler, which takes nothing of them",
                    0, 2);
  }
  return text;
}

}  // namespace

std::string probe_text(const ProbeReport& report) {
  const ProbeOutcome& outcome = report.outcome;
  const std::size_t taken = count_taken(outcome);
  std::string text =
      backend_text(report) + " takes " + count_text(taken) + " of " +
      counted(outcome.cases.size(), "case") + " of " + counted(outcome.nodes, "node") + "; " +
      counted(outcome.compiler_runs, "compiler run") + ", " + duration_text(outcome.seconds * 1e6);
  if (!report.list_path.empty()) text += "; see " + escaped(report.list_path);
  text = wrapped(text, 0, 2);
  TextTable table(
      {"op", "nodes", "cases", "taken", "refused", "first refusal"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::left});
  bool is_empty = true;
  for (const auto& [op, counts] : count_ops(report)) {
    if (counts.first_refused == nullptr) continue;
    table.add_row({escaped(op), count_text(counts.nodes), count_text(counts.cases),
                   count_text(counts.taken), count_text(counts.refused),
                   first_line(counts.first_refused->attempt.message, 50)});
    is_empty = false;
  }
  if (!is_empty) text += "\n" + table.text();
  if (const std::size_t silent = outcome.count_unanswered(); silent > 0) {
    text += counted(silent, "case was", "cases were") +
            " not answered by the compiler, and the list leaves them out: see the evidence\n";
  }
  text += help_text(report);
  text += known_sizes_text(report);
  if (!report.input.backends.front().has(LowerStage::run)) {
    text += "values are not compared: " + escaped(report.input.backends.front().name) +
            " compiles, and does not run what it made\n";
  } else if (!outcome.is_compared) {
    text += "values are not compared (--compare does, with a reference)\n";
  }
  return text;
}

std::string probed_list_json(const ProbeReport& report) {
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.text("name", backend_text(report) + " (probed)");
  json.begin_list("allow");
  for (const Rule& rule : report.outcome.allow) write_allow_rule(json, rule);
  json.end_list();
  json.begin_list("deny");
  for (const Rule& rule : report.outcome.deny) write_deny_rule(json, rule);
  json.end_list();
  if (!report.outcome.patterns.empty()) {
    json.begin_list("patterns");
    for (const Pattern& pattern : report.outcome.patterns) write_pattern(json, pattern);
    json.end_list();
  }
  json.end_object();
  return std::move(json).finish();
}

std::string probe_evidence(const ProbeReport& report) {
  using Json = nlohmann::ordered_json;
  std::string text;
  for (const ProbedCase& probed : report.outcome.cases) {
    const LoadedModel& model = report.input.models[probed.model];
    Json together = Json::array();
    for (const NodeId node : probed.together) together.push_back(model.graph.node(node).name);
    const Json line = {{"case", probed.text},
                       {"verdict", verdict_name(probed.attempt.verdict)},
                       {"stage", lower_stage_name(probed.attempt.stage)},
                       {"message", probed.attempt.message},
                       {"seconds", probed.attempt.seconds},
                       {"model", model.source.path()},
                       {"node", model.graph.node(probed.node).name},
                       {"nodes", probed.nodes},
                       {"pinned", probed.is_pinned},
                       {"known", probed.help == CaseHelp::known},
                       {"together", std::move(together)}};
    text += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

namespace {

std::string backend_text(const ReduceReport& report) {
  return report.input.backends.front().title(report.outcome.identity);
}

}  // namespace

std::string reduce_text(const ReduceReport& report) {
  const ReduceOutcome& outcome = report.outcome;
  const LoweredPart& part = outcome.part;
  const std::string nodes = counted(part.nodes.size(), "node");
  const std::string cost =
      counted(outcome.compiler_runs, "compiler run") + ", " + duration_text(outcome.seconds * 1e6);
  if (part.is_lowered) return backend_text(report) + " lowers the " + nodes + "; " + cost + "\n";
  std::string text;
  if (!outcome.finding) {
    text = wrapped(backend_text(report) + " does not lower the " + nodes + " (" +
                       verdict_text(part.attempt) + "): " + first_line(part.attempt.message, 300),
                   0, 2);
    return text + "nothing smaller was found; " + cost + "\n";
  }
  const Finding& finding = outcome.finding->finding;
  const std::size_t least = finding.within.empty() ? finding.nodes.size() : finding.within.size();
  text = wrapped(backend_text(report) + " fails on " + counted(least, "node") + " of " +
                     count_text(part.nodes.size()) +
                     " as on all: " + culprit_text(report.input.model.graph, *outcome.finding),
                 0, 2);
  text += wrapped(verdict_text(part.attempt) + ": " + first_line(finding.message, 300), 2, 4);
  if (finding.kind == FindingKind::together && !finding.is_minimal) {
    const SearchSettings& search = report.options.search;
    const bool is_used_up = finding.runs >= search.most_runs ||
                            (search.most_seconds > 0 && outcome.seconds >= search.most_seconds);
    text += is_used_up ? "not minimal: --search-runs or --search-time was used up\n"
                       : "perhaps not minimal: not every smaller piece was tried\n";
  }
  text += cost;
  if (!report.folder.empty()) text += "; see " + escaped(report.folder) + "/README.md";
  return text + "\n";
}

std::string reduce_json(const ReduceReport& report) {
  const ReduceOutcome& outcome = report.outcome;
  const Graph& graph = report.input.model.graph;
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.reduction");
  json.number("version", 1);
  json.text("model", report.input.model.source.path());
  json.text("backend", report.input.backends.front().name);
  json.text("identity", outcome.identity);
  json.number("nodes", outcome.part.nodes.size());
  json.flag("lowered", outcome.part.is_lowered);
  json.text("verdict", verdict_name(outcome.part.attempt.verdict));
  json.text("message", outcome.part.attempt.message);
  json.begin_list("culprits", JsonText::Layout::one_line);
  if (outcome.finding) {
    for (const NodeId node : outcome.finding->finding.nodes) json.text(graph.node(node).name);
  }
  json.end_list();
  json.begin_list("piece");
  if (outcome.finding) {
    for (const NodeId node : outcome.finding->finding.within) json.text(graph.node(node).name);
  }
  json.end_list();
  json.flag("minimal", outcome.finding && outcome.finding->finding.is_minimal);
  json.number("compiler_runs", outcome.compiler_runs);
  json.number("seconds", outcome.seconds);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace cleave
