// Reports of advice.
#include "formats/report/advice/advice_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/fields.h"
#include "formats/base/text.h"
#include "formats/lists/options.h"
#include "formats/lists/support_file.h"
#include "formats/models/models.h"
#include "formats/report/drawings/pages.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- advice json ----
//
// Advice as JSON. Every remedy can be tried: its rule is one of a native support list, to be passed
// with another --support.

namespace {

struct ShareSaid {
  double acc, total;
  std::optional<double> ratio;
};
const Fields<ShareSaid> kShareFields = {
    kLines,
    {{"acc", the<&ShareSaid::acc>},
     {"total", the<&ShareSaid::total>},
     {"ratio", the<&ShareSaid::ratio>,
      "1 where the total is 0; null where most FLOPs are not known."}},
    "share"};

const Fields<Outcome> kOutcomeFields = {
    kOneLine,
    {{"acc_subgraphs", the<&Outcome::acc_subgraphs>},
     {"subgraphs", the<&Outcome::subgraphs>},
     {"link_bytes", the<&Outcome::link_bytes>,
      "Into and out of accelerator subgraphs, for tensors of known size."},
     {"values_of_unknown_bytes", the<&Outcome::unknown_bytes>},
     {"qps", [](auto& one) { return one.unknown_bytes > 0 ? std::nullopt : one.qps(); },
      "The rate of running every model once; null: the link does not limit it."},
     {"shared_qps",
      [](auto& one) { return one.unknown_bytes > 0 ? std::nullopt : one.shared_qps(); },
      "The same where all subgraphs of a model share the link; null: as for `qps`."},
     {"latency_us", [](auto& one) { return one.latency(); },
      "Of an inference of every model; null: not known."},
     {"supported_nodes", the<&Outcome::supported>, "Nodes that the lists accept."},
     {"nodes",
      [](auto& one) {
        return ShareSaid{one.nodes.acc, one.nodes.total, one.nodes.ratio()};
      },
      kShareFields},
     {"flops",
      [](auto& one) {
        const FlopsCoverage& flops = one.flops;
        return ShareSaid{flops.acc, flops.total, when(flops.are_known(), flops.ratio())};
      },
      "Of nodes whose FLOPs are known.", kShareFields}},
    "outcome"};

const Fields<Signature> kGapSignatureFields = {
    kOneLine, {{Itself{}, kSignatureFields}}, "gap_signature"};

const Fields<FailedPart> kFailedFields = {kOneLine,
                                          {{"subject", the<&FailedPart::subject>},
                                           {"expected", the<&FailedPart::expected>},
                                           {"actual", the<&FailedPart::actual>}},
                                          "gap_failed"};

template <class T>
struct One {
  const AdviceReport* report;
  const T* it;
};
using OneGap = One<Gap>;
using OneRemedy = One<Remedy>;
template <auto Member>
constexpr auto of_gap = the<&OneGap::it, Member>;

// The rule that refuses the nodes.
const Fields<OneGap> kRefusalFields = {
    kOneLine,
    {{"file", [](auto& gap) { return std::string_view(gap.report->lists[gap.it->list].path); }},
     {"rules",
      [](auto& gap) {
        return std::string_view(gap.it->kind == Gap::Kind::denied ? "deny" : "allow");
      },
      words("allow deny")},
     {"index",
      [](auto& gap) {
        const SupportList& list = gap.report->lists[gap.it->list];
        const auto& rules = gap.it->kind == Gap::Kind::denied ? list.deny : list.allow;
        return static_cast<std::size_t>(std::ranges::find(rules, gap.it->rule) - rules.begin());
      },
      "Among these rules, from 0."},
     {"line", the<&OneGap::it, &Gap::rule, &Rule::line>, "From 1; 0: not known."}},
    "gap_refused_by"};

constexpr std::array<std::string_view, 3> kKindNames = {"op", "condition", "denied"};

const Fields<OneGap> kGapFields = {
    kLines,
    {{"kind", [](auto& gap) { return kKindNames[static_cast<std::size_t>(gap.it->kind)]; },
      "No rule names the op; the conditions of a rule fail; a deny rule matches.",
      words(all_of<kKindNames>)},
     {"op", of_gap<&Gap::op>, "The first node's signature."},
     {"domain", of_gap<&Gap::domain>},
     {"signature", of_gap<&Gap::signature>,
      "Dtypes of the first node's inputs; null: none, or not a tensor.", kGapSignatureFields},
     {"refused_by", [](auto& gap) { return gap.it->kind == Gap::Kind::op ? nullptr : &gap; },
      "The rule that refuses the node; null: there is none.", kRefusalFields},
     {"failed", of_gap<&Gap::failed>, "Conditions of that rule that fail for the first node.",
      kFailedFields},
     {"newer_opset", [](auto& gap) { return newer_opset_of(gap.it->failed); },
      "The opset in which the list already accepts the nodes: `cleave convert --opset` converts "
      "the model. null: the opset is not all that is in the way."},
     {"remedy",
      [](JsonText& json, const OneGap& gap) {
        const bool has_rule = gap.it->kind != Gap::Kind::denied && !newer_opset_of(gap.it->failed);
        has_rule ? write_allow_rule(json, gap.it->remedy) : json.null();
      },
      {.schema =
           [] {
             return std::string(R"({
"description": "An allow rule for one more support list, or for a list itself that is about ONNX Runtime's graph; null: remove the deny rule, or convert the model to `newer_opset`.",
"type": ["object", "null"],
"required": ["op"]
})");
           }}}},
    "gap"};

const Fields<OneRemedy> kRemedyFields = {
    kLines,
    {{[](auto& remedy) {
        return OneGap{remedy.report, &remedy.it->gap};
      },
      kGapFields},
     {"with",
      [](auto& remedy) {
        return each(remedy.it->with, [&](const Gap& gap) { return OneGap{remedy.report, &gap}; });
      },
      "Closed together with it: the op in other types, or a second gap.", kGapFields},
     {"nodes", the<&OneRemedy::it, &Remedy::nodes>, "Nodes that become accepted."},
     {"models",
      [](auto& remedy) {
        return each(remedy.it->models,
                    [&](std::size_t model) { return remedy.report->models[model].source.path(); });
      },
      "Models that have the gap.", kOnOneLine},
     {"then", the<&OneRemedy::it, &Remedy::then>, kOutcomeFields}},
    "remedy"};

std::vector<OneRemedy> remedies(const AdviceReport& report, const std::vector<Remedy>& all) {
  return each(all, [&](const Remedy& remedy) { return OneRemedy{&report, &remedy}; });
}

const Fields<OpOutOfReach> kOutOfReachFields = {
    kOneLine,
    {{"op", the<&OpOutOfReach::op>},
     {"domain", the<&OpOutOfReach::domain>},
     {"nodes", the<&OpOutOfReach::nodes>},
     {"flops", the<&OpOutOfReach::flops>},
     {"nodes_of_unknown_flops", the<&OpOutOfReach::unknown_flops>},
     {"bytes", the<&OpOutOfReach::bytes>}}};

const Fields<Setting> kKneeFields = {
    kOneLine,
    {{"min_acc_module_size", the<&Setting::min_acc_size>},
     {"start", [](auto& setting) { return start_side_name(setting.start); },
      words("reference cpu acc")}}};
const Fields<Setting> kSettingFields = {
    kLines, {{Itself{}, kKneeFields}, {"outcome", the<&Setting::outcome>, kOutcomeFields}}};

const Fields<OptionTrial> kTrialFields = {
    kLines,
    {{"option", [](auto& trial) { return option_text(trial); }},
     {"gains", the<&OptionTrial::gains>,
      "Less time, more work on the accelerator, or fewer subgraphs or bytes."},
     {"outcome", the<&OptionTrial::then>, kOutcomeFields}}};

const Fields<One<LoadedModel>> kModelFields = {
    kOneLine,
    {{"path", [](auto& model) { return model.it->source.path(); }},
     {"name", [](auto& model) { return model.it->graph.name(); }},
     {"nodes", [](auto& model) { return model.it->graph.node_count(); }},
     {"state", [](auto& model) { return state_of(model.it->graph); },
      "What one step of the model hands to the next.", kStateFields, kLeftOut}}};

const Fields<AdviceReport> kListFields = {
    kLines,
    {{"name", [](auto& report) { return support_name(report.lists); }},
     {"target", [](auto& report) { return report.target(); },
      "The one of several targets whose lists these are.", kLeftOut},
     {"files",
      [](auto& report) {
        return each(report.lists,
                    [](const SupportList& list) { return std::string_view(list.path); });
      },
      kOnOneLine}}};

const Fields<Link> kLinkFields = {
    kOneLine,
    {{"bandwidth", the<&Link::bytes_per_second>, "Bytes per second, one direction."},
     {"name", the<&Link::name>}}};

constexpr std::array<std::string_view, 5> kGoalNames = {"subgraphs", "bytes", "qps", "flops",
                                                        "latency"};

// "subgraphs", "bytes", "qps", "flops"
std::string_view goal_name(Goal goal) { return kGoalNames[static_cast<std::size_t>(goal)]; }

const Fields<AdviceReport> kAdviceFields = {
    kLines,
    {{"models",
      [](auto& report) {
        return each(report.models, [&](const LoadedModel& model) {
          return One<LoadedModel>{&report, &model};
        });
      },
      kModelFields},
     {"support", Itself{}, kListFields},
     {"link", [](auto& report) { return report.link; }, kLinkFields},
     {"goal", [](auto& report) { return goal_name(report.options.goal); },
      words(all_of<kGoalNames>)},
     {"at_sizes", the<&AdviceReport::at_sizes>,
      "Sizes in place of open dims, at which bytes and FLOPs are counted; absent: none is open, or "
      "none is known to fit.",
      kLeftOut},
     {"lack_sizes",
      [](auto& report) { return when(report.advice.lack_sizes > 0, report.advice.lack_sizes); },
      "Nodes that the lists refuse while sizes are open, and accept at these: no gaps.", kLeftOut},
     {"now", [](auto& report) { return report.advice.now; }, kOutcomeFields},
     {"each", [](auto& report) { return remedies(report, report.advice.each); },
      "Every gap of the lists that was tried, each closed alone, the best first; before them what "
      "the first step closes together, where that is more than one.",
      kRemedyFields},
     {"untried_gaps", [](auto& report) { return report.advice.untried; },
      "Number of gaps that were not tried because there are too many: those of the fewest nodes."},
     {"steps", [](auto& report) { return remedies(report, report.advice.steps); },
      "Gaps closed one after the other, each time the best; outcomes after each.", kRemedyFields},
     {"out_of_reach", [](auto& report) { return report.advice.out_of_reach; },
      "Ops of the nodes that are refused after all steps; most FLOPs first.", kOutOfReachFields},
     {"settings", [](auto& report) { return report.sweep.settings; },
      "Results of the present lists under other settings, by minimum size, then by side.",
      kSettingFields},
     {"knee",
      [](auto& report) {
        const SettingsSweep& sweep = report.sweep;
        return sweep.settings.empty() ? nullptr : &sweep.settings[sweep.knee];
      },
      "The setting beyond which fewer subgraphs cost too much of the work; null: of several "
      "targets no settings are tried.",
      kKneeFields},
     {"options",
      [](auto& report) {
        return report.trials != nullptr ? report.trials->trials : std::vector<OptionTrial>();
      },
      "Options of a split, each tried by itself, the best first.", kTrialFields}}};

}  // namespace

Document advice_document() {
  return {"advice", "What to support next: `advise --json`. Numbers are sums over the models.",
          kAdviceFields.table()};
}

std::string advice_json(const AdviceReport& report) {
  return document_text("advice", kAdviceFields, report);
}

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
  static constexpr std::array<std::string_view, 5> kTexts = {
      "fewest accelerator subgraphs", "fewest bytes over the link",
      "most inferences a second over the link", "most FLOPs on the accelerator",
      "least time of an inference"};
  return kTexts[static_cast<std::size_t>(goal)];
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

class AdviceText {
 public:
  AdviceText(const AdviceReport& report, const AdviceLimits& limits)
      : report_(report),
        advice_(report.advice),
        limits_(limits),
        goal_(goal_from(report.advice.now, report.options.goal)) {}

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
    switch (goal_) {
      case Goal::subgraphs:
        return counted(outcome.acc_subgraphs, "accelerator subgraph");
      case Goal::bytes:
        return link_bytes_text(outcome) + " over the link";
      case Goal::qps:
        if (outcome.unknown_bytes > 0) return "unknown QPS";
        return outcome.qps() ? qps_text(outcome) + " QPS" : "no bound by the link";
      case Goal::flops:
        if (!outcome.flops.have_share()) {
          return share_text(outcome.nodes) + " of the nodes on the accelerator";
        }
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
    const auto last = std::ranges::find_if(
        steps, [&](const Remedy& step) { return goal_value(step.then) == reached; });
    return std::span(steps.begin(), last + 1);
  }

  void write_headline() {
    std::string line = models_text() + ": " + goal_value(advice_.now);
    if (advice_.each.empty()) {
      line += "; " + escaped(support_name(report_.lists)) + " accepts every node" +
              (advice_.lack_sizes > 0 ? " but for sizes" : "");
    } else if (!is_better(advice_.each.front().then, advice_.now, goal_)) {
      line +=
          "; no addition to " + escaped(support_name(report_.lists)) + " gets nearer to the goal";
    } else if (!advice_.steps.empty()) {
      line += " now, " + goal_value(advice_.steps.back().then) + " with " +
              counted(count_additions(needed_steps()), "addition") + " to " +
              escaped(support_name(report_.lists));
    }
    page_.line(line);
    if (advice_.lack_sizes > 0) {
      page_.line(counted(advice_.lack_sizes, "node lacks", "nodes lack") +
                 " nothing but sizes, which the model leaves open, and " +
                 (advice_.lack_sizes == 1 ? "is" : "are") + " no row here: give " +
                 report_.size_options);
    }
    const std::string goal =
        "goal: " + std::string(goal_text(report_.options.goal)) +
        (goal_ == report_.options.goal ? "" : " (first some work, as it has next to none)");
    if (report_.target().empty()) {
      return page_.line(goal + ", link " + link_text(report_.link) +
                        (report_.link.is_none      ? " (so the list says: --pcie-bw states one)"
                         : report_.link.is_assumed ? ", which nobody stated (--pcie-bw does)"
                                                   : ""));
    }
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
           std::ranges::all_of(remedy.with, [&](const Gap& other) {
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
    const std::string both =
        title_of(remedy.gap) + ", and " + fitted(escaped(second.op), limits_.name_columns);
    if (text_columns(both) <= limits_.name_columns) return both;
    return fitted(title_of(remedy.gap), limits_.name_columns - 12) + ", and 1 more";
  }

  // Names all gaps that are closed together, which the title shortens.
  std::string row_obstacle(const Remedy& remedy) const {
    std::string text = obstacle_of(remedy.gap);
    if (remedy.with.empty() || is_one_op(remedy)) return text;
    const std::string names =
        joined(remedy.with, ", ", [&](const Gap& gap) { return title_of(gap); });
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

  // The columns that tell an outcome, between others.
  Table outcome_table(std::vector<std::string> first, std::vector<std::string> last = {}) const {
    const std::size_t fixed = first.size();
    first.insert(first.end(), {"subgraphs", "link bytes"});
    add_rates(first, rate_heading(report_.link), "shared");
    first.insert(first.end(), {"nodes", "work"});
    std::vector<Align> aligns(first.size(), Align::right);
    std::fill_n(aligns.begin(), fixed, Align::left);
    aligns.resize(first.size() + last.size(), Align::left);
    first.insert(first.end(), last.begin(), last.end());
    return {is_for_latency(), fixed, std::move(first), std::move(aligns)};
  }

  // Nothing where the lists say that their device has no link.
  void add_rates(std::vector<std::string>& row, const std::string& alone,
                 const std::string& shared) const {
    if (!report_.link.is_none) row.insert(row.end(), {alone, shared});
  }

  std::vector<std::string> outcome_row(std::vector<std::string> first, const Outcome& one,
                                       const std::vector<std::string>& last = {}) const {
    first.insert(first.end(), {count_text(one.acc_subgraphs), link_bytes_text(one)});
    add_rates(first, qps_text(one), shared_text(one));
    first.insert(first.end(), {share_text(one.nodes), work_share_text(one)});
    first.insert(first.end(), last.begin(), last.end());
    return first;
  }

  void write_steps() {
    if (advice_.steps.empty()) return;
    Table table = outcome_table({"best order"});
    std::vector<std::string> obstacles(2);
    const auto add = [&](const std::string& title, const Outcome& outcome, std::string note = {}) {
      table.add(outcome_row({title}, outcome), outcome, std::move(note));
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
    std::vector<std::string> headings = {"each by itself", "accepts",
                                         report_.target().empty() ? "models" : "off CPU",
                                         "subgraphs", "link bytes"};
    add_rates(headings, rate_heading(report_.link), "shared");
    headings.emplace_back("work");
    std::vector<Align> aligns(headings.size(), Align::right);
    aligns[0] = Align::left;
    Table table(is_for_latency(), 3, std::move(headings), std::move(aligns));
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
      std::vector<std::string> row = {
          "  " + row_title(remedy), count_text(remedy.nodes),
          report_.target().empty() ? count_text(remedy.models.size()) : off_cpu_text(remedy),
          change_text(now.acc_subgraphs, remedy.then.acc_subgraphs, count_text),
          link_change_text(now, remedy.then)};
      add_rates(row, qps_text(remedy.then), shared_text(remedy.then));
      row.push_back(
          now.flops.are_known() ? points_text(now.flops.ratio(), remedy.then.flops.ratio()) : "?");
      table.add(std::move(row), remedy.then, row_obstacle(remedy));
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
    Table table = outcome_table({"settings", "start"}, {""});
    for (std::size_t first = 0; first < settings.size();) {
      std::size_t last = first;
      const std::size_t size = settings[first].min_acc_size;
      while (last < settings.size() && settings[last].min_acc_size == size) ++last;
      const bool is_knee = size == knee.min_acc_size;
      const Setting& setting = is_knee ? knee : best_side(first, last);
      table.add(outcome_row({"  --min-acc-module-size " + count_text(size),
                             std::string(start_side_name(setting.start))},
                            setting.outcome, {is_knee ? "<- knee: larger sizes gain little" : ""}),
                setting.outcome);
      first = last;
    }
    show(table.made());
  }

  void write_trials() {
    if (report_.trials == nullptr || report_.trials->trials.empty()) return;
    // Those that leave all as it is are named in a line.
    const std::vector<std::string> now = outcome_row({}, report_.trials->now);
    std::vector<std::string> idle;
    Table table = outcome_table({"one option more"}, {""});
    for (const OptionTrial& trial : report_.trials->trials) {
      const bool is_as_fast = trial.then.latency() == report_.trials->now.latency();
      if (is_as_fast && outcome_row({}, trial.then) == now) {
        idle.push_back(option_text(trial));
        continue;
      }
      const bool is_best = &trial == report_.trials->best();
      table.add(outcome_row({"  " + option_text(trial)}, trial.then, {is_best ? "<- best" : ""}),
                trial.then);
    }
    const bool are_all_idle = idle.size() == report_.trials->trials.size();
    if (!are_all_idle) show(table.made());
    if (idle.empty()) return;
    if (are_all_idle) page_.blank();
    page_.line((are_all_idle ? "one option more changes nothing here: " : "change nothing here: ") +
               joined(idle));
  }

  void write_last_notes() {
    page_.blank();
    if (report_.models.size() > 1) {
      page_.line(
          "Numbers are sums over the models; QPS is the rate at which all of them run once.");
    }
    if (!report_.at_sizes.empty()) {
      page_.line("Sizes are open: work, bytes and QPS are at " + report_.at_sizes +
                 " (--dim gives others).");
    }
    page_.line(
        "Every row is a split made with it. --json has each remedy as a rule for a support list.");
    for (const LoadedModel& model : report_.models) {
      const std::string state = state_text(model.graph);
      if (!state.empty()) page_.line("note: state of " + model_name(model) + ": " + state);
    }
    if (!report_.inputs.empty()) {
      page_.line("note: which branch of an If runs is not known: to know more give " +
                 report_.inputs);
    }
    if (!report_.link.is_none) {
      page_.line(
          "QPS is what the link allows the slowest partition alone, shared what it allows all of "
          "them together.");
    }
    if (advice_.now.unknown_bytes > 0) {
      page_.line("note: the bytes of " + counted(advice_.now.unknown_bytes, "value") +
                 " over the link are not known and left out; see --dim");
    }
  }

  const AdviceReport& report_;
  const Advice& advice_;
  const AdviceLimits limits_;
  const Goal goal_;  // that of the first step
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
