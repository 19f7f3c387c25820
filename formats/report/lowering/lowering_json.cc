#include <algorithm>

#include "formats/base/json/text.h"
#include "formats/lists/support/list_target.h"
#include "formats/lists/support/rule_json.h"
#include "formats/models/open_shapes.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/report/words/list_warnings.h"
#include "formats/report/words/value_text.h"

namespace cleave {
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
    json_.number("max_nodes", outcome_.most_nodes);
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
    finding.kind == FindingKind::size ? json_.number(finding.most_nodes) : json_.null();
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
  for (std::size_t i = 0; i < kPartLimitCount; ++i) {
    const auto limit = static_cast<PartLimit>(i);
    std::optional<std::uint64_t> most = list.limits[limit];
    if (limit == PartLimit::nodes && learned.most_nodes) {
      most = std::min<std::uint64_t>(most.value_or(*learned.most_nodes), *learned.most_nodes);
    }
    if (most) json.number(part_limit_name(limit), *most);
  }
  write_part(json, list.part);
  if (list.view != GraphView::model) json.text("as", graph_view_name(list.view));
  if (list.keeps_qdq) json.flag("keep_qdq", true);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace cleave
