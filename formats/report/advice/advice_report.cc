// Reports of advice.
#include "formats/report/advice/advice_report.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/lists/options.h"
#include "formats/lists/support_file.h"
#include "formats/report/drawings/pages.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- advice json ----
//
// Advice as JSON. Every remedy can be tried: its rule is one of a native support list, to be passed
// with another --support.

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
      json_.text("subject", part.subject);
      json_.text("expected", part.expected);
      json_.text("actual", part.actual);
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

// ---- advice text ----
//
// Advice for people: the best order to implement things in, the gain of each by itself, and the
// effect of other settings.

namespace {

// How much of the advice is shown.
struct AdviceLimits {
  std::size_t gaps = 20;
  std::size_t name_columns = 42;
};
constexpr AdviceLimits kOnPage{.gaps = 2'000, .name_columns = 400};
constexpr std::size_t kObstacleColumns = 250;  // of what refuses the nodes, below a row

std::string_view goal_text(Goal goal) {
  switch (goal) {
    case Goal::subgraphs:
      return "fewest accelerator subgraphs";
    case Goal::bytes:
      return "fewest bytes over the link";
    case Goal::qps:
      return "most inferences a second over the link";
    case Goal::flops:
      return "most FLOPs on the accelerator";
    case Goal::latency:
      return "least time of an inference";
  }
  return {};
}

// "+3", "-1", "=": the change of a count.
std::string change_text(std::uint64_t before, std::uint64_t after,
                        std::string (*text)(std::uint64_t)) {
  if (before == after) return "=";
  return after > before ? "+" + text(after - before) : "-" + text(before - after);
}

// The share of the FLOPs on the accelerator; "?" where too few are known.
std::string work_share_text(const Outcome& outcome) {
  return outcome.flops.are_known() ? share_text(outcome.flops) : "?";
}

// "+6.5%", in percentage points.
std::string points_text(double before, double after) {
  const double points = (after - before) * 100;
  if (points == 0) return "=";
  const std::string digits = fixed_text(std::abs(points), 1);
  const std::string sign = points > 0 ? "+" : "-";
  return sign + (digits == "0.0" ? "<0.1" : digits) + "%";
}

// Without a bound there is no rate; with unknown bytes the rate is unknown.
std::string qps_text(const Outcome& outcome, const std::optional<double>& qps) {
  if (outcome.unknown_bytes > 0) return "?";
  return qps ? rate_text(*qps) : "-";
}
std::string qps_text(const Outcome& outcome) { return qps_text(outcome, outcome.qps()); }
// The rate when all partitions share the link.
std::string shared_text(const Outcome& outcome) { return qps_text(outcome, outcome.shared_qps()); }

std::string link_bytes_text(const Outcome& outcome) {
  return known_bytes_text(outcome.link_bytes, outcome.unknown_bytes == 0);
}

// How the known bytes over the link change.
std::string link_change_text(const Outcome& before, const Outcome& after) {
  const bool is_none_known =
      before.link_bytes + after.link_bytes == 0 && before.unknown_bytes + after.unknown_bytes > 0;
  if (is_none_known) return "?";
  return change_text(before.link_bytes, after.link_bytes, bytes_text);
}

// "(float32 x3, int64)": runs of one dtype counted.
std::string short_signature(const Signature& signature) {
  Signature keywords{{}, signature.kwargs};
  std::string text;
  for (std::size_t i = 0; i < signature.args.size();) {
    std::size_t end = i + 1;
    while (end < signature.args.size() && signature.args[end] == signature.args[i]) ++end;
    const DType dtype = signature.args[i];
    const std::string name(dtype == DType::unknown ? "-" : dtype_name(dtype));
    text += (text.empty() ? "" : ", ") + name;
    if (end - i == 2) text += ", " + name;
    if (end - i > 2) text += " x" + std::to_string(end - i);
    i = end;
  }
  if (signature.kwargs.empty()) return "(" + text + ")";
  const std::string rest = signature_text(keywords).substr(1);
  return "(" + text + (text.empty() ? "" : ", ") + rest;
}

// The op and what it reads. Of a dotted name that is too long the end is shown.
std::string gap_name(const Gap& gap, std::size_t columns) {
  std::string op = escaped(op_text(gap.domain, gap.op));
  const std::string signature = short_signature(gap.signature);
  const std::size_t taken = text_columns(signature) + 3;
  for (std::size_t dot = op.find('.'); text_columns(op) + taken > columns;) {
    if (dot == std::string::npos) break;
    op = "..." + op.substr(dot + 1);
    dot = op.find('.', 3);
  }
  const std::size_t domain = op.rfind("::");
  if (text_columns(op + signature) > columns && domain != std::string::npos) {
    op.erase(0, domain + 2);
  }
  return fitted(op + signature, columns);
}

// Types of one op are one addition.
std::size_t count_additions(std::span<const Remedy> steps) {
  std::set<std::string> additions;
  const auto add = [&](const Gap& gap) {
    const bool is_op = gap.kind == Gap::Kind::op;
    additions.insert(is_op ? "op\n" + gap.domain + '\n' + gap.op : gap.key);
  };
  for (const Remedy& step : steps) {
    add(step.gap);
    for (const Gap& gap : step.with) add(gap);
  }
  return additions.size();
}

class AdviceText {
 public:
  AdviceText(const AdviceReport& report, const AdviceLimits& limits)
      : report_(report), advice_(report.advice), limits_(limits) {}

  std::string write() {
    write_headline();
    write_steps();
    write_each();
    write_out_of_reach();
    write_settings();
    write_trials();
    write_last_notes();
    return page_.take();
  }
  std::vector<PageTable> tables() { return std::move(tables_); }

 private:
  // ---- the conclusion ----

  std::string models_text() const {
    const std::string first = fitted(model_name(report_.models.front()), 40);
    const std::size_t others = report_.models.size() - 1;
    return others == 0 ? first : first + " and " + counted(others, "more model");
  }

  // The value that the goal measures.
  std::string goal_value(const Outcome& outcome) const {
    switch (report_.options.goal) {
      case Goal::subgraphs:
        return counted(outcome.acc_subgraphs, "accelerator subgraph");
      case Goal::bytes:
        return link_bytes_text(outcome) + " over the link";
      case Goal::qps:
        if (outcome.unknown_bytes > 0) return "unknown QPS";
        return outcome.qps() ? qps_text(outcome) + " QPS" : "no bound by the link";
      case Goal::flops:
        if (!outcome.flops.have_share()) return "no FLOPs known";
        return share_text(outcome.flops) + " of the FLOPs on the accelerator";
      case Goal::latency:
        return outcome.latency() ? "latency " + duration_text(*outcome.latency())
                                 : std::string("unknown latency");
    }
    return {};
  }

  // The first that reach what all reach.
  std::span<const Remedy> needed_steps() const {
    const std::vector<Remedy>& steps = advice_.steps;
    const std::string reached = goal_value(steps.back().then);
    const auto last = std::find_if(steps.begin(), steps.end(), [&](const Remedy& step) {
      return goal_value(step.then) == reached;
    });
    return std::span(steps.begin(), last + 1);
  }

  void write_headline() {
    std::string line = models_text() + ": " + goal_value(advice_.now);
    if (advice_.each.empty()) {
      line += "; " + escaped(support_name(report_.lists)) + " accepts every node";
    } else if (!is_better(advice_.each.front().then, advice_.now, report_.options.goal)) {
      line +=
          "; no addition to " + escaped(support_name(report_.lists)) + " gets nearer to the goal";
    } else if (!advice_.steps.empty()) {
      line += " now, " + goal_value(advice_.steps.back().then) + " with " +
              counted(count_additions(needed_steps()), "addition") + " to " +
              escaped(support_name(report_.lists));
    }
    page_.line(line);
    const std::string goal = "goal: " + std::string(goal_text(report_.options.goal));
    if (report_.target().empty()) return page_.line(goal + ", link " + link_text(report_.link));
    std::string names;
    for (const Target& target : report_.options.target.targets) names += target.name + ", ";
    page_.line(goal + "; additions to what " + report_.target() + " takes, of " + names +
               (report_.split.place == PlaceBy::cost ? "placed by cost"
                                                     : "which are asked in this order"));
  }

  // ---- gaps ----

  std::string title_of(const Gap& gap) const {
    if (gap.kind == Gap::Kind::denied) {
      if (gap.rule.line == 0) return "leave out what --deny says";
      return "remove the deny rule on line " + std::to_string(gap.rule.line);
    }
    return gap_name(gap, limits_.name_columns);
  }

  // What refuses the nodes, unless it is just that no rule names the op.
  std::string obstacle_of(const Gap& gap) const {
    if (gap.kind == Gap::Kind::op) return {};
    const SupportList& list = report_.lists[gap.list];
    if (gap.kind == Gap::Kind::condition) {
      const auto newer = newer_opset_of(gap.failed);
      return failed_parts_text(gap.failed) + " (" + rule_place(list, gap.rule) + ")" +
             (newer ? ": no rule is missing, cleave convert --opset " + std::to_string(*newer) +
                          " converts the model"
                    : "");
    }
    return deny_rule_text(list, gap.rule);
  }

  static bool is_one_op(const Remedy& remedy) {
    return remedy.gap.kind == Gap::Kind::op &&
           std::all_of(remedy.with.begin(), remedy.with.end(), [&](const Gap& other) {
             return other.kind == Gap::Kind::op && other.op == remedy.gap.op &&
                    other.domain == remedy.gap.domain;
           });
  }

  // "Cast(int64) and 2 more types", "remove the deny rule on line 5, and Slice", "Cast(int64), and 3
  // more".
  std::string row_title(const Remedy& remedy) const {
    if (remedy.with.empty()) return title_of(remedy.gap);
    const std::string count = count_text(remedy.with.size());
    if (is_one_op(remedy)) {
      return fitted(title_of(remedy.gap), limits_.name_columns - 16) + " and " + count +
             (remedy.with.size() == 1 ? " more type" : " more types");
    }
    const Gap& second = remedy.with.front();
    if (remedy.with.size() > 1 || second.kind == Gap::Kind::denied) {
      return title_of(remedy.gap) + ", and " + count + " more";
    }
    return title_of(remedy.gap) + ", and " + fitted(escaped(second.op), limits_.name_columns);
  }

  // Names all gaps that are closed together, which the title shortens.
  std::string row_obstacle(const Remedy& remedy) const {
    std::string text = obstacle_of(remedy.gap);
    if (remedy.with.empty() || is_one_op(remedy)) return text;
    std::string names;
    for (const Gap& gap : remedy.with) {
      names += (names.empty() ? "" : ", ") + title_of(gap);
    }
    return text + (text.empty() ? "" : "; ") + "with " + names;
  }

  // A table with a column for the latency after the first `fixed` ones, if that is the goal.
  class Table {
   public:
    Table(bool has_latency, std::size_t fixed, std::vector<std::string> heading,
          std::vector<Align> aligns)
        : has_latency_(has_latency),
          fixed_(fixed),
          table_(with(std::move(heading), std::string("latency")),
                 with(std::move(aligns), Align::right)) {}

    void add(std::vector<std::string> row, const Outcome& outcome, std::string note = {}) {
      const auto latency = outcome.latency();
      table_.add_row(with(std::move(row), latency ? duration_text(*latency) : std::string("?")),
                     std::move(note));
    }
    KeptTable& made() { return table_; }

   private:
    template <class T>
    std::vector<T> with(std::vector<T> row, T cell) const {
      if (has_latency_)
        row.insert(row.begin() + static_cast<std::ptrdiff_t>(fixed_), std::move(cell));
      return row;
    }

    bool has_latency_;
    std::size_t fixed_;
    KeptTable table_;
  };

  void show(KeptTable& table, const std::vector<std::string>& notes = {}) {
    if (notes.empty()) {
      page_.table(table.text());
    } else {
      page_.table(table.text(), notes, kObstacleColumns);
    }
    tables_.push_back(table.page());
  }

  bool is_for_latency() const { return report_.options.goal == Goal::latency; }

  void write_steps() {
    if (advice_.steps.empty()) return;
    Table table(is_for_latency(), 1,
                {"best order", "subgraphs", "link bytes", "QPS", "shared", "nodes", "work"},
                {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
                 Align::right});
    std::vector<std::string> obstacles(2);
    const auto add = [&](const std::string& title, const Outcome& outcome, std::string note = {}) {
      table.add(
          {title, count_text(outcome.acc_subgraphs), link_bytes_text(outcome), qps_text(outcome),
           shared_text(outcome), share_text(outcome.nodes), work_share_text(outcome)},
          outcome, std::move(note));
    };
    add("    now", advice_.now);
    for (std::size_t i = 0; i < advice_.steps.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      const std::string space(number.size() < 3 ? 3 - number.size() : 0, ' ');
      obstacles.push_back(row_obstacle(advice_.steps[i]));
      add(space + number + " " + row_title(advice_.steps[i]), advice_.steps[i].then,
          obstacles.back());
    }
    table.made().page().not_counted = 1;  // that of today
    show(table.made(), obstacles);
  }

  // With several targets: how many nodes leave the CPU. The other nodes that the target gains come from
  // another target.
  std::string off_cpu_text(const Remedy& remedy) const {
    const double less = remedy.then.nodes.acc - advice_.now.nodes.acc;
    const std::string count = count_text(static_cast<std::uint64_t>(std::abs(less)));
    return less < 0 ? "-" + count : count;
  }

  void write_each() {
    if (advice_.each.empty()) return;
    Table table(is_for_latency(), 3,
                {"each by itself", "accepts", report_.target().empty() ? "models" : "off CPU",
                 "subgraphs", "link bytes", "QPS", "shared", "work"},
                {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
                 Align::right, Align::right});
    std::vector<std::string> obstacles(1);
    const Outcome& now = advice_.now;
    CappedList list(limits_.gaps);
    std::size_t idle = 0;
    for (const Remedy& remedy : advice_.each) {
      if (remedy.nodes == 0) {
        ++idle;
        continue;
      }
      if (!list.shows_next()) continue;
      table.add(
          {"  " + row_title(remedy), count_text(remedy.nodes),
           report_.target().empty() ? count_text(remedy.models.size()) : off_cpu_text(remedy),
           change_text(now.acc_subgraphs, remedy.then.acc_subgraphs, count_text),
           link_change_text(now, remedy.then), qps_text(remedy.then), shared_text(remedy.then),
           now.flops.are_known() ? points_text(now.flops.ratio(), remedy.then.flops.ratio())
                                 : std::string("?")},
          remedy.then, row_obstacle(remedy));
      obstacles.push_back(row_obstacle(remedy));
    }
    show(table.made(), obstacles);
    page_.rest(list, "... and # more (see --json)");
    if (advice_.untried > 0) {
      page_.line(counted(advice_.untried, "gap was", "gaps were") +
                 " not tried: there are too many, and these have the fewest nodes");
    }
    if (idle > 0) {
      page_.line(counted(idle, "more accepts", "more accept") +
                 " no node by itself: a node with bodies needs its own op and all of theirs");
    }
  }

  // ---- what stays out of reach ----

  void write_out_of_reach() {
    const auto& ops = advice_.out_of_reach;
    if (ops.empty()) return;
    const std::string target = report_.target().empty() ? "" : " of " + report_.target();
    KeptTable table({"out of reach" + target + (advice_.steps.empty() ? "" : " after these steps"),
                     "nodes", "work", "bytes"},
                    {Align::left, Align::right, Align::right, Align::right});
    CappedList list(10);
    for (const OpOutOfReach& op : ops) {
      if (!list.shows_next()) continue;
      const std::string name = op_text(op.domain, op.op);
      const bool is_unknown = op.unknown_flops == op.nodes;
      table.add_row({"  " + fitted(escaped(name), limits_.name_columns), count_text(op.nodes),
                     is_unknown ? "?" : flops_text(op.flops) + (op.unknown_flops > 0 ? "+" : ""),
                     bytes_text(static_cast<std::uint64_t>(op.bytes))});
    }
    show(table);
    page_.rest(list, "... and # more op (see --json)", "... and # more ops (see --json)");
  }

  // ---- settings ----

  // The setting with the best start side for the goal, under one minimum size; the given side if it
  // is as good.
  const Setting& best_side(std::size_t first, std::size_t last) const {
    const auto& settings = report_.sweep.settings;
    const StartSide asked = report_.split.start;
    std::size_t best = first;
    for (std::size_t i = first; i < last; ++i) {
      if (settings[i].start == asked) best = i;
    }
    for (std::size_t i = first; i < last; ++i) {
      if (is_better(settings[i].outcome, settings[best].outcome, report_.options.goal)) best = i;
    }
    return settings[best];
  }

  void write_settings() {
    const auto& settings = report_.sweep.settings;
    if (settings.empty()) return;
    const Setting& knee = settings[report_.sweep.knee];
    Table table(
        is_for_latency(), 2,
        {"settings", "start", "subgraphs", "link bytes", "QPS", "shared", "nodes", "work", ""},
        {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right,
         Align::right, Align::right, Align::left});
    for (std::size_t first = 0; first < settings.size();) {
      std::size_t last = first;
      const std::size_t size = settings[first].min_acc_size;
      while (last < settings.size() && settings[last].min_acc_size == size) ++last;
      const bool is_knee = size == knee.min_acc_size;
      const Setting& setting = is_knee ? knee : best_side(first, last);
      const Outcome& outcome = setting.outcome;
      table.add({"  --min-acc-module-size " + count_text(size),
                 std::string(start_side_name(setting.start)), count_text(outcome.acc_subgraphs),
                 link_bytes_text(outcome), qps_text(outcome), shared_text(outcome),
                 share_text(outcome.nodes), work_share_text(outcome), is_knee ? "<- knee" : ""},
                outcome);
      first = last;
    }
    show(table.made());
  }

  void write_trials() {
    if (report_.trials == nullptr || report_.trials->trials.empty()) return;
    Table table(
        is_for_latency(), 1,
        {"one option more", "subgraphs", "link bytes", "QPS", "shared", "nodes", "work", ""},
        {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right,
         Align::right, Align::left});
    for (const OptionTrial& trial : report_.trials->trials) {
      const Outcome& then = trial.then;
      table.add({"  " + option_text(trial), count_text(then.acc_subgraphs), link_bytes_text(then),
                 qps_text(then), shared_text(then), share_text(then.nodes), work_share_text(then),
                 &trial == report_.trials->best() ? "<- best" : ""},
                then);
    }
    show(table.made());
  }

  void write_last_notes() {
    page_.blank();
    if (report_.models.size() > 1) {
      page_.line(
          "Numbers are sums over the models; QPS is the rate at which all of them run once.");
    }
    page_.line(
        "Every row is a split made with it. --json has each remedy as a rule for a support list.");
    if (advice_.now.unknown_bytes > 0) {
      page_.line("note: the bytes of " + counted(advice_.now.unknown_bytes, "value") +
                 " over the link are not known and left out; see --dim");
    }
  }

  const AdviceReport& report_;
  const Advice& advice_;
  const AdviceLimits limits_;
  Page page_;
  std::vector<PageTable> tables_;
};

}  // namespace

std::string advice_text(const AdviceReport& report) { return AdviceText(report, {}).write(); }

std::string advice_page(const AdviceReport& report) {
  AdviceText whole(report, kOnPage);
  whole.write();
  ContentPage page{.title = model_name(report.models.front()) + ": advice",
                   .text = advice_text(report)};
  const Outcome& now = report.advice.now;
  if (now.nodes.total > 0) {
    page.shares.push_back({"of nodes on the accelerator now", now.nodes.ratio()});
    if (!report.advice.steps.empty()) {
      const Remedy& last = report.advice.steps.back();
      page.shares.push_back({"after the steps in the best order", last.then.nodes.ratio()});
    }
  }
  page.tables = whole.tables();
  return content_page(page);
}

}  // namespace cleave
