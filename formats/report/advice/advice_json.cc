// Advice as JSON. Every remedy can be tried: its rule is one of a native support list, to be passed
// with another --support.
#include <algorithm>

#include "core/support/rule_check.h"
#include "formats/base/json/text.h"
#include "formats/lists/settings/split_settings.h"
#include "formats/lists/support/rule_json.h"
#include "formats/report/advice/advice_report.h"
#include "formats/report/words/failed_part_text.h"
#include "formats/report/words/option_words.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

using Layout = JsonText::Layout;

std::string_view kind_name(Gap::Kind kind) {
  switch (kind) {
    case Gap::Kind::op:
      return "op";
    case Gap::Kind::condition:
      return "condition";
    case Gap::Kind::denied:
      return "denied";
  }
  return {};
}

class AdviceWriter {
 public:
  explicit AdviceWriter(const AdviceReport& report) : report_(report) {}

  std::string write() {
    json_.begin_object();
    json_.text("format", "cleave.advice");
    json_.number("version", 1);
    write_models();
    write_lists();
    json_.begin_object("link", Layout::one_line);
    json_.number("bandwidth", report_.link.bytes_per_second);
    json_.text("name", report_.link.name);
    json_.end_object();
    json_.text("goal", goal_name(report_.options.goal));
    json_.key("now");
    write_outcome(report_.advice.now);
    write_remedies("each", report_.advice.each);
    json_.number("untried_gaps", report_.advice.untried);
    write_remedies("steps", report_.advice.steps);
    write_out_of_reach();
    write_settings();
    write_trials();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void write_models() {
    json_.begin_list("models");
    for (const LoadedModel& model : report_.models) {
      json_.begin_object(Layout::one_line);
      json_.text("path", model.source.path());
      json_.text("name", model.graph.name());
      json_.number("nodes", model.graph.node_count());
      json_.end_object();
    }
    json_.end_list();
  }

  void write_lists() {
    json_.begin_object("support");
    json_.text("name", support_name(report_.lists));
    if (!report_.target().empty()) json_.text("target", report_.target());
    json_.begin_list("files", Layout::one_line);
    for (const SupportList& list : report_.lists) json_.text(list.path);
    json_.end_list();
    json_.end_object();
  }

  void write_coverage_of(std::string_view key, const Coverage& coverage, bool is_known = true) {
    json_.begin_object(key);
    json_.number("acc", coverage.acc);
    json_.number("total", coverage.total);
    json_.number("ratio", is_known ? std::optional(coverage.ratio()) : std::nullopt);
    json_.end_object();
  }

  void write_outcome(const Outcome& outcome) {
    json_.begin_object(Layout::one_line);
    json_.number("acc_subgraphs", outcome.acc_subgraphs);
    json_.number("subgraphs", outcome.subgraphs);
    json_.number("link_bytes", outcome.link_bytes);
    json_.number("values_of_unknown_bytes", outcome.unknown_bytes);
    json_.number("qps", outcome.unknown_bytes > 0 ? std::nullopt : outcome.qps());
    json_.number("shared_qps", outcome.unknown_bytes > 0 ? std::nullopt : outcome.shared_qps());
    json_.number("latency_us", outcome.latency());
    json_.number("supported_nodes", outcome.supported);
    write_coverage_of("nodes", outcome.nodes);
    write_coverage_of("flops", outcome.flops, outcome.flops.are_known());
    json_.end_object();
  }

  void write_dtype(DType dtype) {
    dtype == DType::unknown ? json_.null() : json_.text(dtype_name(dtype));
  }

  void write_signature(const Signature& signature) {
    json_.begin_object("signature", Layout::one_line);
    json_.begin_list("args");
    for (const DType dtype : signature.args) write_dtype(dtype);
    json_.end_list();
    json_.begin_object("kwargs");
    for (const auto& [name, dtype] : signature.kwargs) {
      json_.text_key(name);
      write_dtype(dtype);
    }
    json_.end_object();
    json_.end_object();
  }

  // The rule that refuses the nodes; null when none names the op.
  void write_refusal(const Gap& gap) {
    json_.key("refused_by");
    if (gap.kind == Gap::Kind::op) return json_.null();
    const SupportList& list = report_.lists[gap.list];
    const auto& rules = gap.kind == Gap::Kind::denied ? list.deny : list.allow;
    json_.begin_object(Layout::one_line);
    json_.text("file", list.path);
    json_.text("rules", gap.kind == Gap::Kind::denied ? "deny" : "allow");
    json_.number("index", std::find(rules.begin(), rules.end(), gap.rule) - rules.begin());
    json_.number("line", gap.rule.line);
    json_.end_object();
  }

  void write_failed(const Gap& gap) {
    json_.begin_list("failed");
    for (const FailedPart& part : gap.failed) {
      json_.begin_object(Layout::one_line);
      const FailedPartWords words = words_of(part);
      json_.text("subject", words.subject);
      json_.text("expected", words.expected);
      json_.text("actual", words.actual);
      json_.end_object();
    }
    json_.end_list();
  }

  // The fields of one gap, with the rule that closes it.
  void write_gap(const Gap& gap) {
    json_.text("kind", kind_name(gap.kind));
    json_.text("op", gap.op);
    json_.text("domain", gap.domain);
    write_signature(gap.signature);
    write_refusal(gap);
    write_failed(gap);
    const auto newer = newer_opset_of(gap.failed);
    json_.key("newer_opset");
    newer ? json_.number(*newer) : json_.null();
    json_.key("remedy");
    const bool has_rule = gap.kind != Gap::Kind::denied && !newer;
    has_rule ? write_allow_rule(json_, gap.remedy) : json_.null();
  }

  void write_remedy(const Remedy& remedy) {
    json_.begin_object();
    write_gap(remedy.gap);
    json_.begin_list("with");
    for (const Gap& gap : remedy.with) {
      json_.begin_object();
      write_gap(gap);
      json_.end_object();
    }
    json_.end_list();
    json_.number("nodes", remedy.nodes);
    json_.begin_list("models", Layout::one_line);
    for (const std::size_t model : remedy.models) {
      json_.text(report_.models[model].source.path());
    }
    json_.end_list();
    json_.key("then");
    write_outcome(remedy.then);
    json_.end_object();
  }

  void write_remedies(std::string_view key, const std::vector<Remedy>& remedies) {
    json_.begin_list(key);
    for (const Remedy& remedy : remedies) write_remedy(remedy);
    json_.end_list();
  }

  void write_out_of_reach() {
    json_.begin_list("out_of_reach");
    for (const OpOutOfReach& op : report_.advice.out_of_reach) {
      json_.begin_object(Layout::one_line);
      json_.text("op", op.op);
      json_.text("domain", op.domain);
      json_.number("nodes", op.nodes);
      json_.number("flops", op.flops);
      json_.number("nodes_of_unknown_flops", op.unknown_flops);
      json_.number("bytes", op.bytes);
      json_.end_object();
    }
    json_.end_list();
  }

  void write_setting(const Setting& setting) {
    json_.number("min_acc_module_size", setting.min_acc_size);
    json_.text("start", start_side_name(setting.start));
  }

  void write_settings() {
    json_.begin_list("settings");
    for (const Setting& setting : report_.sweep.settings) {
      json_.begin_object();
      write_setting(setting);
      json_.key("outcome");
      write_outcome(setting.outcome);
      json_.end_object();
    }
    json_.end_list();
    json_.key("knee");
    if (report_.sweep.settings.empty()) return json_.null();
    json_.begin_object(Layout::one_line);
    write_setting(report_.sweep.settings[report_.sweep.knee]);
    json_.end_object();
  }

  void write_trials() {
    json_.begin_list("options");
    if (report_.trials != nullptr) {
      for (const OptionTrial& trial : report_.trials->trials) {
        json_.begin_object();
        json_.text("option", option_text(trial));
        json_.flag("gains", trial.gains);
        json_.key("outcome");
        write_outcome(trial.then);
        json_.end_object();
      }
    }
    json_.end_list();
  }

  const AdviceReport& report_;
  JsonText json_;
};

}  // namespace

std::string_view goal_name(Goal goal) {
  switch (goal) {
    case Goal::subgraphs:
      return "subgraphs";
    case Goal::bytes:
      return "bytes";
    case Goal::qps:
      return "qps";
    case Goal::flops:
      return "flops";
    case Goal::latency:
      return "latency";
  }
  return {};
}

std::string advice_json(const AdviceReport& report) { return AdviceWriter(report).write(); }

}  // namespace cleave
