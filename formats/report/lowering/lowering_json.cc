// Reports of lowering for programs and CI, and of backends.

#include <algorithm>
#include <array>
#include <map>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/fields.h"
#include "formats/base/text.h"
#include "formats/lists/support_file.h"
#include "formats/models/models.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- lowering json ----

namespace {

// By FindingKind and by ValueVerdict.
constexpr std::array<std::string_view, 7> kKindNames = {
    "culprit", "together", "remedy", "flaky", "unexplained", "left out", "size"};
constexpr std::array<std::string_view, 9> kValuesNames = {"culprit",
                                                          "lower precision",
                                                          "order of ties",
                                                          "one quantisation step",
                                                          "rounding decides an order",
                                                          "errors add up",
                                                          "together",
                                                          "not finite",
                                                          "unresolved"};

constexpr FieldForm kVerdicts = words(all_up_to<verdict_name, LowerVerdict::driver>);

constexpr std::string_view kStageNames = "check compile run";

std::optional<std::string> unless_empty(const std::string& text) {
  return when(!text.empty(), text);
}

struct Said {
  const LoweringReport* report;
  const LowerOutcome* outcome;
};
template <auto Member>
constexpr auto of_outcome = the<&Said::outcome, Member>;

// One of several things of a lowering: a partition, a finding.
template <class T>
struct One {
  const LoweringReport* report;
  const T* it;
};
using OnePart = One<LoweredPart>;
using OneFinding = One<LowerFinding>;
template <auto... Members>
constexpr auto of_part = the<&OnePart::it, Members...>;
template <auto Member>
constexpr auto of_attempt = the<&OnePart::it, &LoweredPart::attempt, Member>;
template <auto... Members>
constexpr auto of_found = the<&OneFinding::it, Members...>;
template <auto Member>
constexpr auto of_finding = the<&OneFinding::it, &LowerFinding::finding, Member>;

// The partitions of the last round.
const std::vector<LoweredPart>& parts_of(const LoweringReport& report) {
  return report.outcome.rounds.back().parts;
}

const Fields<ShapeBindings> kBoundFields = {
    kOneLine,
    {{"dims", [](auto& bound) { return Entries{bound.dims}; }, "--dim"},
     {"shapes", [](auto& bound) { return Entries{bound.inputs}; },
      "--input-shape; below 0: left open."},
     {"values", [](auto& bound) { return Entries{bound.values}; }, "--set-input"}}};

struct BackendSaid {
  const Backend* backend;
  std::string identity;
};
const Fields<BackendSaid> kBackendFields = {
    kOneLine,
    {{"name", the<&BackendSaid::backend, &Backend::name>},
     {"identity", the<&BackendSaid::identity>},
     {"target", the<&BackendSaid::backend, &Backend::target>,
      "The one of several targets that it compiles for.", kLeftOut}}};

const Fields<LoweredOfTarget> kTargetFields = {
    kOneLine,
    {{"name", the<&LoweredOfTarget::target>},
     {"partitions", the<&LoweredOfTarget::parts>},
     {"nodes", the<&LoweredOfTarget::nodes>},
     {"partitions_lowered", the<&LoweredOfTarget::lowered_parts>, "By each of its backends."},
     {"nodes_lowered", the<&LoweredOfTarget::lowered_nodes>},
     {"compiled", [](auto& own) { return !own.backends.empty(); }, "False: it has no backend."}}};

const Fields<TakenSize> kTakenFields = {kOneLine,
                                        {{"input", the<&TakenSize::input>},
                                         {"axis", the<&TakenSize::axis>},
                                         {"size", the<&TakenSize::size>},
                                         {"why", the<&TakenSize::why>}}};

const Fields<LeftOut> kLeftFields = {
    kOneLine,
    {{"node", the<&LeftOut::node>},
     {"op", the<&LeftOut::op>, "The backend's name for it, or for the part of it that is left."},
     {"why", the<&LeftOut::why>, "Empty when the backend does not say."}}};

const Fields<ComparedOutput> kComparedFields = {
    kOneLine,
    {{"output", the<&ComparedOutput::name>},
     {"largest_difference", the<&ComparedOutput::most_apart>},
     {"largest_value", the<&ComparedOutput::largest>, "Of the reference."},
     {"rms", the<&ComparedOutput::rms>, "Of the difference, as a share of the reference's."},
     {"tested", the<&ComparedOutput::is_tested>,
      "False: all that is wanted is within the tolerance of 0."}}};

struct PinnedSaid {
  const Graph* graph;
  const PinnedShape* pinned;
};
const Fields<PinnedSaid> kPinnedFields = {
    kOneLine,
    {{"input", [](auto& one) { return one.graph->value(one.pinned->input).name; }},
     {"type", [](auto& one) { return type_text(*one.graph, one.pinned->input); },
      "In the model, as `float32[N, 3]`."},
     {"shape", the<&PinnedSaid::pinned, &PinnedShape::shape>, "That it was pinned to."}}};

const Fields<OnePart> kRemedyFields = {
    kOneLine,
    {{"pinned_inputs", [](auto& part) { return part.it->pinned.size(); }},
     {"pinned_to_data",
      [](auto& part) {
        const auto& pinned = part.it->pinned;
        return static_cast<std::uint64_t>(
            std::ranges::count_if(pinned, [](const PinnedShape& one) { return one.is_of_data; }));
      },
      "Of the pinned: inputs whose shape depends on data."},
     {"frozen_inputs", of_part<&LoweredPart::frozen>},
     {"opset", of_part<&LoweredPart::remedies, &Remedies::opset>, "null: the model's."},
     {"needs_sizes", of_part<&LoweredPart::needs_sizes>,
      "Refused as it is; compiles when the model gets sizes such as `size_options`."},
     {"stated_inside", of_part<&LoweredPart::remedies, &Remedies::state_inside>,
      "The shapes that the reference saw of values inside, and of bodies, are written into the "
      "part."},
     {"pinned",
      [](auto& part) {
        return each(part.it->pinned, [&](const PinnedShape& pinned) {
          return PinnedSaid{&part.report->model.graph, &pinned};
        });
      },
      kPinnedFields}}};

const Fields<Artefact> kArtefactFields = {
    kOneLine,
    {{"file", the<&Artefact::file>},
     {"role", the<&Artefact::role>, "main: the file to load; data: one that it refers to."},
     {"bytes", the<&Artefact::bytes>},
     {"sha256", the<&Artefact::sha256>}}};

const Fields<PartArtefacts> kMadeFields = {
    kLines,
    {{"artefacts", the<&PartArtefacts::files>,
      "Files in the output folder that the backend made of the part; with -o, of lowered parts "
      "only.",
      kArtefactFields},
     {"artefact_why", [](auto& made) { return unless_empty(made.why); },
      "Why there are none; null: there are."},
     {"artefact_inputs", the<&PartArtefacts::inputs>, "Of the main file, in its order.",
      kOnOneLine},
     {"artefact_outputs", the<&PartArtefacts::outputs>, kOnOneLine},
     {"target", [](auto& made) { return Entries{made.target}; },
      "What they were made for, as the worker says it: soc_model, precision, sdk, ...",
      kOnOneLine}}};

const Fields<OnePart> kPartFields = {
    kLines,
    {{"name", of_part<&LoweredPart::name>},
     {"backend", [](auto& part) { return part.report->backends[part.it->backend].name; }},
     {"nodes", [](auto& part) { return part.it->nodes.size(); }},
     {"lowered", of_part<&LoweredPart::is_lowered>},
     {"verdict", [](auto& part) { return verdict_name(part.it->attempt.verdict); }, kVerdicts},
     {"detail", of_attempt<&Attempt::detail>,
      "The signal or exit status; of a worker, the stage as it names it."},
     {"stage", [](auto& part) { return lower_stage_name(part.it->attempt.stage); },
      words(kStageNames)},
     {"seconds", of_attempt<&Attempt::seconds>},
     {"artefact_bytes", of_attempt<&Attempt::artefact_bytes>},
     {"cached", of_attempt<&Attempt::is_cached>},
     {"message", of_attempt<&Attempt::message>, "The backend's message."},
     {"before", of_attempt<&Attempt::before>,
      "How an earlier try failed, when this is the answer to a repeat."},
     {"hash", of_part<&LoweredPart::hash>,
      "Of the piece, the backend and its version: the key of the cache."},
     {"left", of_attempt<&Attempt::left>,
      "Of a partition that is partly lowered: the nodes that the backend leaves out, as it calls "
      "them. Of one that is refused: nodes that the backend names, where it does.",
      kLeftFields},
     {"values", of_attempt<&Attempt::compared>,
      "Outputs of floats that were compared with the reference's.", kComparedFields},
     {"remedies", Itself{}, kRemedyFields},
     {"finding", of_part<&LoweredPart::finding>,
      "Index of the first finding of it; null: there is none."},
     {of_part<&LoweredPart::artefacts>, kMadeFields}}};

const Fields<OneFinding> kFindingFields = {
    kLines,
    {{"round", of_found<&LowerFinding::round>},
     {"part", of_found<&LowerFinding::part>},
     {"backend", [](auto& one) { return one.report->backends[one.it->backend].name; }},
     {"kind", [](auto& one) { return kKindNames[static_cast<std::size_t>(one.it->finding.kind)]; },
      words(all_of<kKindNames>)},
     {"values",
      [](auto& one) {
        return one.it->values
                   ? std::optional(kValuesNames[static_cast<std::size_t>(*one.it->values)])
                   : std::nullopt;
      },
      "null: values are not what is wrong.", words(all_of<kValuesNames>)},
     {"culprit", [](auto& one) { return culprit_text(one.report->model.graph, *one.it); }},
     {"nodes", [](auto& one) { return each_name(one.report->model.graph, one.it->finding.nodes); },
      kOnOneLine},
     {"nodes_within", [](auto& one) { return one.it->finding.within.size(); }},
     {"minimal", of_finding<&Finding::is_minimal>},
     {"max_nodes",
      [](auto& one) {
        const Finding& finding = one.it->finding;
        return when(finding.kind == FindingKind::size && finding.limit.of == SizeOf::nodes,
                    finding.limit.most);
      },
      "For the kind size: pieces of so many nodes pass. null: it is another."},
     {"blocked",
      [](auto& one) {
        return unless_empty(blocked_text(one.report->model.graph, one.it->finding));
      },
      "The first cut that could not be run, and why; null: there was none."},
     {"signature", of_finding<&Finding::signature>},
     {"message", of_finding<&Finding::message>},
     {"runs", of_finding<&Finding::runs>, "Of the backend, for the search up to here."},
     {"rule", [](auto& one) { return unless_empty(one.it->rule); }, "null: none was learned."},
     {"cases",
      [](auto& one) { return one.it->rule.empty() ? std::nullopt : std::optional(one.it->cases); },
      "How many kinds of node the rule is made of; null: there is none."},
     {"folder",
      [](auto& one) {
        const auto& all = one.report->outcome.findings;
        return when(!one.report->folder.empty(),
                    "findings/" + std::to_string(one.it - all.data() + 1));
      },
      "Beside lowering.json; null where it was not written."}}};

struct LearnedSaid {
  std::string_view target;  // of several, the one that it holds for
  const Rule* rule;
};
const Fields<LearnedSaid> kLearnedFields = {
    kOneLine,
    {{"target", the<&LearnedSaid::target>, "The one of several targets that it holds for.",
      kLeftOut},
     {"op", the<&LearnedSaid::rule, &Rule::op>},
     {"domain", the<&LearnedSaid::rule, &Rule::domain>},
     {"name", the<&LearnedSaid::rule, &Rule::node_name>},
     {"why", the<&LearnedSaid::rule, &Rule::why>}}};

std::vector<LearnedSaid> learned_of(const Said& said) {
  const LowerOutcome& outcome = *said.outcome;
  std::vector<LearnedSaid> all;
  if (outcome.targets.empty()) {
    for (const Rule& rule : outcome.learned) all.push_back({{}, &rule});
  }
  for (std::size_t i = 0; i < outcome.targets.size(); ++i) {
    for (const Rule& rule : outcome.learned_by_target[i].rules) {
      all.push_back({outcome.targets[i], &rule});
    }
  }
  return all;
}

const Fields<Said> kLoweringFields = {
    kLines,
    {{"clean", of_outcome<&LowerOutcome::is_clean>,
      "Every accelerator partition of the last round is lowered by every backend."},
     {"nodes", of_outcome<&LowerOutcome::nodes>, "Of the model."},
     {"nodes_lowered", of_outcome<&LowerOutcome::nodes_lowered>},
     {"rounds", [](auto& said) { return said.outcome->rounds.size(); }},
     {"compiler_runs", of_outcome<&LowerOutcome::compiler_runs>,
      "Number of runs of a backend, including searches."},
     {"cache_hits", of_outcome<&LowerOutcome::cache_hits>, "Verdicts that were known."},
     {"rules", [](auto& said) { return said.outcome->learned.size(); }, "Rules that were learned."},
     {"eroding", of_outcome<&LowerOutcome::is_eroding>,
      "Stopped because in each round the readers of the last culprit fail."},
     {"seconds", of_outcome<&LowerOutcome::seconds>},
     {"backend_seconds", of_outcome<&LowerOutcome::backend_seconds>,
      "Spent waiting for backends and the reference, by all jobs."},
     {"jobs", [](auto& said) { return said.report->pool.jobs; },
      "Compilers at once: above 1, they slow each other down."},
     {"model", [](auto& said) { return said.report->model.source.path(); }},
     {"bound", [](auto& said) { return said.report->model.bindings; },
      "What the model was given before it was split; compiled partitions hold for these.",
      kBoundFields},
     {"backends",
      [](auto& said) {
        return each(said.report->backends, [&](const Backend& backend) {
          const auto i = static_cast<std::size_t>(&backend - said.report->backends.data());
          return BackendSaid{&backend, said.outcome->identities[i]};
        });
      },
      kBackendFields},
     {"targets", [](auto& said) { return lowered_of_targets(*said.report); },
      "Several targets: what each has in the last round. Left out where there is one.",
      kTargetFields, kLeftOut},
     {"reference", [](auto& said) { return unless_empty(said.outcome->reference); },
      "null: none was used."},
     {"reference_note", of_outcome<&LowerOutcome::lack_of_reference>,
      "Why the reference that is the default was not used."},
     {"reference_sizes", of_outcome<&LowerOutcome::taken>,
      "Sizes that the reference took for open dims of the model's inputs.", kTakenFields},
     {"samples_compared", of_outcome<&LowerOutcome::samples>, "0: values were not compared."},
     {"seed", [](auto& said) { return said.report->pool.seed; }},
     {"parts",
      [](auto& said) {
        return each(parts_of(*said.report), [&](const LoweredPart& part) {
          return OnePart{said.report, &part};
        });
      },
      kPartFields},
     {"findings",
      [](auto& said) {
        return each(said.outcome->findings, [&](const LowerFinding& found) {
          return OneFinding{said.report, &found};
        });
      },
      kFindingFields},
     {"learned", the<learned_of>, kLearnedFields},
     {"max_nodes", [](auto& said) { return said.outcome->limits[PartLimit::nodes]; },
      "A limit that was learned, for the list; null: none was."},
     {"limits",
      [](auto& said) {
        std::vector<std::pair<std::string, std::uint64_t>> learned;
        for (std::size_t i = 0; i < kPartLimitCount; ++i) {
          const auto limit = static_cast<PartLimit>(i);
          const auto& most = said.outcome->limits[limit];
          if (most) learned.emplace_back(part_limit_name(limit), *most);
        }
        return Entries{std::move(learned)};
      },
      "All limits of whole partitions that were learned, by their names in the list: "
      "max_parameter_bytes and so on.",
      kOnOneLine},
     {"size_options", [](auto& said) { return size_options(said.outcome->sizes); },
      "Sizes of the open inputs with which partitions compiled: those of the reference's run, else "
      "assumed ones.",
      kOnOneLine},
     {"split_command", [](auto& said) { return unless_empty(split_command(*said.report)); },
      "Writes the partitions with the shapes that were pinned; null when no shape was, or no "
      "command can."},
     {"advice", [](auto& said) { return advice_texts(*said.report); },
      "What to do next, in words."}}};

}  // namespace

Document lowering_document() {
  return {"lowering",
          "The output of `lower --json`, and lowering.json of `lower -o`. Partitions are those of "
          "the last round.",
          kLoweringFields.table()};
}

std::string lowering_json(const LoweringReport& report) {
  return document_text("lowering", kLoweringFields, {&report, &report.outcome});
}

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
    json.key(op);
    json.number(count);
  }
  json.end_object();
  json.begin_list("not_only");
  for (const std::string& op : part.not_only) json.text(op);
  json.end_list();
  json.end_object();
}

// A native list. Its rules hold no schema versions of operators.
std::string list_json(const SupportList& list) {
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.text("name", list.name);
  if (!list.source.empty()) json.text("source", list.source);
  if (list.link) {
    json.begin_object("link", kOneLine);
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
  json.end_list();
  if (!list.patterns.empty()) {
    json.begin_list("patterns");
    for (const Pattern& pattern : list.patterns) write_pattern(json, pattern);
    json.end_list();
  }
  for (std::size_t i = 0; i < kPartLimitCount; ++i) {
    const auto limit = static_cast<PartLimit>(i);
    if (list.limits[limit]) json.number(part_limit_name(limit), *list.limits[limit]);
  }
  write_part(json, list.part);
  if (list.view != GraphView::model) json.text("as", graph_view_name(list.view));
  if (list.keeps_qdq) json.flag("keep_qdq", true);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace

Result<std::string, Error> learned_list_json(const SupportList& list, const Learned& learned) {
  for (const Rule& rule : list.allow) {
    if (rule.opset && rule.opset->same_schema) {
      return Error{list.path +
                   " asks for schema versions of operators, which a native list cannot: give a "
                   "list in native JSON or plain text"};
    }
  }
  SupportList all = list;
  all.name += kLearnedSuffix;
  all.deny.insert(all.deny.end(), learned.rules.begin(), learned.rules.end());
  for (std::size_t i = 0; i < kPartLimitCount; ++i) {
    const auto& own = learned.limits.most[i];
    auto& most = all.limits.most[i];
    if (own) most = std::min(*own, most.value_or(*own));
  }
  return list_json(all);
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
  constexpr std::array<std::string_view, 3> kWords = {"ok", "FAILED", "skipped"};
  return kWords[static_cast<std::size_t>(outcome)];
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
  const auto failed = std::ranges::count_if(
      test.steps, [](const auto& step) { return step.outcome == SelfTestStep::Outcome::failed; });
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
    details += as_line(step.name + ": " + escaped(step.detail.substr(0, end + 1)), 2);
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
  return static_cast<std::size_t>(
      std::ranges::count_if(outcome.cases, [](const auto& one) { return one.is_taken(); }));
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
    text +=
        as_line(counted(taken, "case of ", "cases of ") +
                escaped(report.input.models[model].source.path()) + (taken == 1 ? " is" : " are") +
                " taken with known sizes only: give them to the split, too, as in " +
                words_text(size_options(outcome.sizes[model])));
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
    const std::string ops = joined(pattern.ops, ", ", [&](const Rule& op) { return op.op; });
    text += as_line("pattern \"" + escaped(pattern.name) + "\": taken together: " + escaped(ops));
  }
  if (known > 0) {
    text += as_line(counted(known, "refused case is", "refused cases are") +
                    " known before the model runs: pass --fold write to the split, too");
  }
  if (folded > 0) {
    text += as_line(counted(folded, "case was", "cases were") +
                    " folded away by the compiler, which takes nothing of them");
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
  text = as_line(text);
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
  SupportList list;
  list.name = backend_text(report) + " (probed)";
  list.allow = report.outcome.allow;
  list.deny = report.outcome.deny;
  list.patterns = report.outcome.patterns;
  return list_json(list);
}

namespace {

struct CaseSaid {
  const ProbedCase* it;
  const LoadedModel* model;
};
template <auto... Members>
constexpr auto of_case = the<&CaseSaid::it, Members...>;

const Fields<CaseSaid> kCaseFields = {
    kOneLine,
    {{"case", of_case<&ProbedCase::text>,
      "Op, opset, dtypes and shapes of inputs, attributes, number of outputs."},
     {"verdict", [](auto& one) { return verdict_name(one.it->attempt.verdict); }, kVerdicts},
     {"stage", [](auto& one) { return lower_stage_name(one.it->attempt.stage); },
      words(kStageNames)},
     {"message", of_case<&ProbedCase::attempt, &Attempt::message>,
      "The backend's own words; empty when it takes the node."},
     {"seconds", of_case<&ProbedCase::attempt, &Attempt::seconds>},
     {"model", [](auto& one) { return one.model->source.path(); },
      "Where the first node of this case is."},
     {"node", [](auto& one) { return one.model->graph.node(one.it->node).name; }},
     {"nodes", of_case<&ProbedCase::nodes>, "Nodes of this case in all models."},
     {"pinned", of_case<&ProbedCase::is_pinned>,
      "Refused with open shapes, and asked again with the sizes of the reference, or those "
      "assumed: the verdict is with these."},
     {"known", [](auto& one) { return one.it->help == CaseHelp::known; },
      "Refused as it is; with `--fold write` it is taken, or is no node any more."},
     {"together", [](auto& one) { return each_name(one.model->graph, one.it->together); },
      "Nodes with which it is taken, though refused alone: those of a learned pattern."}}};

}  // namespace

Document evidence_document() {
  return {.name = "evidence",
          .about = "LIST.evidence.jsonl has one a line, for each distinct node of the models.",
          .fields = kCaseFields.table(),
          .title = "A line of the evidence of `cleave probe`"};
}

std::string probe_evidence(const ProbeReport& report) {
  std::string text;
  for (const ProbedCase& probed : report.outcome.cases) {
    JsonText line;
    write(line, kCaseFields, {&probed, &report.input.models[probed.model]});
    text += std::move(line).finish();
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
    text = as_line(backend_text(report) + " does not lower the " + nodes + " (" +
                   verdict_text(part.attempt) + "): " + first_line(part.attempt.message, 300));
    return text + "nothing smaller was found; " + cost + "\n";
  }
  const Finding& finding = outcome.finding->finding;
  const std::size_t least = finding.within.empty() ? finding.nodes.size() : finding.within.size();
  text = as_line(backend_text(report) + " fails on " + counted(least, "node") + " of " +
                 count_text(part.nodes.size()) +
                 " as on all: " + culprit_text(report.input.model.graph, *outcome.finding));
  text += as_line(verdict_text(part.attempt) + ": " + first_line(finding.message, 300), 2);
  if (finding.kind == FindingKind::together && !finding.is_minimal) {
    const SearchSettings& search = report.options.search;
    const bool is_used_up = finding.runs >= search.most_runs ||
                            (search.most_seconds > 0 && outcome.seconds >= search.most_seconds);
    text += is_used_up ? "not minimal: --limit search-runs or --limit time was used up\n"
                       : "perhaps not minimal: not every smaller piece was tried\n";
  }
  text += cost;
  if (!report.folder.empty()) text += "; see " + escaped(report.folder) + "/README.md";
  return text + "\n";
}

namespace {

const Fields<ReduceReport> kReduceFields = {
    kLines,
    {{"model", [](auto& report) { return report.input.model.source.path(); }},
     {"backend", [](auto& report) { return report.input.backends.front().name; }},
     {"identity", [](auto& report) { return report.outcome.identity; },
      "What the backend says of its version."},
     {"nodes", [](auto& report) { return report.outcome.part.nodes.size(); },
      "That were asked about."},
     {"lowered", [](auto& report) { return report.outcome.part.is_lowered; },
      "The backend takes them all: there is nothing to reduce."},
     {"verdict", [](auto& report) { return verdict_name(report.outcome.part.attempt.verdict); },
      kVerdicts},
     {"message", [](auto& report) { return report.outcome.part.attempt.message; },
      "The backend's own words."},
     {"culprits",
      [](auto& report) {
        const auto& found = report.outcome.finding;
        return each_name(report.input.model.graph,
                         found ? found->finding.nodes : std::vector<NodeId>());
      },
      "Nodes that are to blame.", kOnOneLine},
     {"piece",
      [](auto& report) {
        const auto& found = report.outcome.finding;
        return each_name(report.input.model.graph,
                         found ? found->finding.within : std::vector<NodeId>());
      },
      "Nodes of the smallest piece that was seen to fail."},
     {"minimal",
      [](auto& report) {
        return report.outcome.finding && report.outcome.finding->finding.is_minimal;
      },
      "No node of the piece can be left out."},
     {"compiler_runs", [](auto& report) { return report.outcome.compiler_runs; }},
     {"seconds", [](auto& report) { return report.outcome.seconds; }}}};

}  // namespace

Document reduction_document() {
  return {"reduction", "What `reduce --json` prints.", kReduceFields.table()};
}

std::string reduce_json(const ReduceReport& report) {
  return document_text("reduction", kReduceFields, report);
}

}  // namespace cleave
