// Makes a check's data from a report: gates, what moved since the baseline and why, then the nodes
// on the CPU with the rules to blame.
#include "formats/report/check/check.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_set>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/check/comparison.h"
#include "core/graph/fingerprint.h"
#include "core/graph/op_name.h"
#include "core/support/glob.h"
#include "core/support/required_nodes.h"
#include "core/support/support_list.h"
#include "formats/base/text/text_layout.h"
#include "formats/lists/settings/split_settings.h"
#include "formats/lists/support/support_file.h"
#include "formats/models/model_file.h"
#include "formats/models/open_shapes.h"
#include "formats/report/check/checked_node.h"
#include "formats/report/words/cost_words.h"
#include "formats/report/words/reason_text.h"
#include "formats/report/words/report_values.h"
#include "formats/report/words/value_text.h"

namespace cleave {
namespace {

class CheckMaker {
 public:
  CheckMaker(const Report& report, const CheckRequest& request, const EarlierResult* before)
      : report_(report),
        graph_(report.graph),
        partition_(report.split.partition),
        request_(request),
        before_(before) {}

  CheckRun make() {
    run_.list_place = place_of_list(report_);
    run_.now = measures_of(report_);
    if (!open_inputs(graph_).empty()) {
      // No sizes are sought: a fleet takes no longer for them.
      run_.open_sizes = dim_options(graph_, [](ValueId, std::size_t) { return std::nullopt; });
    }
    if (before_ != nullptr) compare_with_baseline();
    hold_against_limits();
    hold_against_requirements();
    list_cpu_nodes();
    return std::move(run_);
  }

 private:
  bool on_cpu(NodeId node) const { return !partition_.is_acc(partition_.part_of[node]); }

  // ---- the baseline ----

  // What is not the same for all targets, of those that the baseline has.
  void take_targets(Origin& origin) const {
    origin.targets = before_->targets;
    origin.places = compared_.before;
    std::vector<Machine>& later = origin.options.later;
    const std::vector<Machine>& later_now = report_.options.later;
    for (std::size_t i = 0; i < std::min(later.size(), later_now.size()); ++i) {
      later[i].cpu.calibrated = later_now[i].cpu.calibrated;
      later[i].acc.calibrated = later_now[i].acc.calibrated;
    }
  }

  Origin origin(const LoadedModel* earlier) const {
    Origin origin{.options = before_->options};
    // Settings that the baseline does not state are taken from the present run.
    origin.link = report_.preview.link;
    if (before_->link_bandwidth) origin.link.bytes_per_second = *before_->link_bandwidth;
    origin.options.host_flops = report_.options.host_flops;
    origin.options.host_bandwidth = report_.options.host_bandwidth;
    Machine& machine = origin.options.machine;
    machine.cpu.calibrated = report_.options.machine.cpu.calibrated;
    machine.acc.calibrated = report_.options.machine.acc.calibrated;
    take_targets(origin);
    if (earlier != nullptr) origin.graph = &earlier->graph;
    if (before_->fingerprint) {
      const Graph& graph = earlier != nullptr ? earlier->graph : graph_;
      origin.is_same_model = *before_->fingerprint == fingerprint(graph);
    }
    if (!before_->lists) return origin;
    origin.are_same_lists = std::equal(
        before_->lists->begin(), before_->lists->end(), report_.lists.begin(), report_.lists.end(),
        [](const std::string& text, const SupportList& list) { return text == list.text; });
    origin.are_same_lists = origin.are_same_lists && before_->all_of == are_all_of(report_.lists) &&
                            before_->as == given_view(report_.lists);
    std::vector<SupportList> lists;
    for (const std::string& text : *before_->lists) {
      auto list = parse_support("baseline", text);
      if (!list) return origin;  // from a version that could read more
      ListRole& role = list->list.role;
      if (before_->all_of && role == ListRole::any_of) role = ListRole::all_of;
      if (before_->as) list->list.view = *before_->as;
      lists.push_back(std::move(list->list));
    }
    origin.lists = std::move(lists);
    return origin;
  }

  void compare_with_baseline() {
    run_.before = before_->measures;
    compared_ = compare_targets(target_names(before_->targets), target_names(report_.targets));
    run_.targets = compared_.names;
    std::optional<LoadedModel> earlier;  // the model with the baseline's shapes
    const auto bindings = changed_bindings(before_->bindings, report_.model.bindings);
    if (!bindings.empty()) earlier = read_again(report_.model, before_->bindings);
    const std::vector<Step> trail =
        make_trail({graph_, report_.facts, report_.lists, report_.options, partition_,
                    report_.preview.link, times_of(report_), report_.targets, compared_.now},
                   origin(earlier ? &*earlier : nullptr));
    const Comparison comparison = compare(graph_, before_->places_as(compared_.before), trail);
    run_.removed = comparison.removed.size();
    for (const Move& move : comparison.moves) {
      if (is_on_acc(move.to) && move.from == Place::absent)
        continue;  // new on the accelerator: neither loss nor gain
      auto& moves = move.to == Place::cpu     ? run_.regressions
                    : move.from == Place::cpu ? run_.improvements
                                              : run_.moved;
      moves.push_back(checked_move(report_, move, compared_));
    }
    run_.settings = changed_settings(before_->options, report_.options, report_.targets.size() > 1);
    const std::vector<std::string> numbers =
        changed_targets(before_->targets, before_->options, report_);
    run_.settings.insert(run_.settings.end(), numbers.begin(), numbers.end());
    note_link();
    note_times();
    run_.settings.insert(run_.settings.end(), bindings.begin(), bindings.end());
    for (const std::string& name : before_->other_settings) {
      run_.settings.push_back(escaped(name) + ": not known to this version");
    }
  }

  void note_link() {
    if (!before_->link_bandwidth) return;
    std::string link = changed_link(before_->targets, *before_->link_bandwidth, report_);
    if (!link.empty()) run_.settings.push_back(std::move(link));
  }

  // The baseline has no times of nodes, but their sum.
  void note_times() {
    std::string times = changed_times(before_->measures.all_cpu_us, run_.now.all_cpu_us);
    if (!times.empty()) run_.settings.push_back(std::move(times));
  }

  // ---- gates ----

  void hold_against_limits() {
    const std::vector<ValueId> unknown = values_of_unknown_shape(graph_);
    const std::vector<Gate> gates =
        evaluate_gates(request_.limits, {.now = run_.now,
                                         .unknown_shapes = unknown.size(),
                                         .unchecked = report_.split.support.unchecked.size(),
                                         .before = run_.before,
                                         .new_cpu_nodes = run_.regressions.size()});
    for (const Gate& gate : gates) run_.gates.push_back({gate, detail_of(gate, unknown)});
  }

  static bool is_of_time(GateKind kind) {
    return kind == GateKind::max_latency || kind == GateKind::faster_than_cpu ||
           kind == GateKind::latency_regression;
  }

  std::string detail_of(const Gate& gate, const std::vector<ValueId>& unknown_shapes) const {
    if (gate.passed()) return {};
    if (gate.kind == GateKind::no_unknown_shapes) return shapes_text(unknown_shapes);
    if (gate.verdict == GateVerdict::not_known) {
      if (is_of_time(gate.kind)) {
        if (gate.actual && report_.time != nullptr) {
          return "the faster one is not known: " + unmatched_time_text(*report_.time);
        }
        return report_.time == nullptr ? std::string() : missing_number_text(graph_, *report_.time);
      }
      const std::string dims = size_options_text(report_.model, graph_);
      const std::string mend = dims.empty() ? "" : "; give " + dims;
      if (gate.kind == GateKind::min_flops_coverage) {
        return (run_.now.flops.total > 0
                    ? "the FLOPs of " + counted(run_.now.flops.unknown, "node") +
                          " are not known, more than are"
                    : "no node's FLOPs are known") +
               mend;
      }
      if (gate.kind == GateKind::flops_coverage_regression) {
        return "FLOPs that the baseline knows are not known now" + mend;
      }
      return "the sizes of some tensors that cross the link are not known" +
             (dims.empty() ? ": see cleave preview" : mend);
    }
    if (gate.kind == GateKind::max_new_cpu_nodes) return names_text(run_.regressions);
    const bool is_of_coverage =
        gate.kind == GateKind::min_node_coverage || gate.kind == GateKind::min_flops_coverage ||
        gate.kind == GateKind::min_parameter_coverage || gate.kind == GateKind::max_acc_subgraphs;
    if (is_of_coverage && !gate.subject.empty()) return causes_of_target(gate.subject);
    if (is_of_coverage) return causes_text(reason_context(report_), report_.split.reasons);
    if (gate.kind != GateKind::max_cpu_nodes) return {};
    std::vector<NodeId> nodes;
    for (const NodeId node : graph_.nodes()) {
      if (on_cpu(node)) nodes.push_back(node);
    }
    return names_text(nodes);
  }

  // `12 nodes: the list does not have op "Foo" (conv1, conv2 and 10 more); ...`: the most frequent causes.
  std::string causes_text(const ReasonContext& context, const PerNode<Reason>& reasons) const {
    const std::vector<Cause> causes = group_by_cause(context, reasons);
    constexpr std::size_t kMostCauses = 3;
    constexpr std::size_t kColumns = 60;
    std::string text;
    CappedList list(kMostCauses);
    for (const Cause& cause : causes) {
      if (!list.shows_next()) continue;
      const auto name = [&](NodeId node) { return escaped(name_of(node)); };
      text += (text.empty() ? "" : "; ") + counted(cause.nodes.size(), "node") + ": " + cause.text +
              " (" + some_of(cause.nodes, kColumns, name) + ")";
    }
    return text + list.rest("; and # more cause", "; and # more causes");
  }

  std::string causes_of_target(const std::string& name) const {
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      if (report_.targets[i].name != name) continue;
      const auto target = id_at<TargetId>(i);
      return causes_text(reason_context(report_, target), report_.split.targets[i].reasons);
    }
    return {};
  }

  std::string shapes_text(const std::vector<ValueId>& values) const {
    const auto name = [&](ValueId value) {
      return escaped(graph_.value(value).name) + " " + type_text(graph_, value);
    };
    const std::string mend = size_options_text(report_.model, graph_);
    return some_of(values, kNamesColumns, name) + (mend.empty() ? "" : "; give " + mend);
  }

  static std::string name_of(const CheckedMove& move) { return move.node.name; }
  std::string name_of(NodeId node) const { return std::string(graph_.node(node).name); }

  template <class Items>
  std::string names_text(const Items& items) const {
    return some_of(items, kNamesColumns, [&](const auto& item) { return escaped(name_of(item)); });
  }

  void hold_against_requirements() {
    const RequiredNodes required(graph_);
    for (const std::string& pattern : request_.require) {
      const TargetId target = required_target(pattern);
      const bool is_of_one = target != kNone<TargetId>;
      const std::vector<NodeId> nodes =
          required.of(is_of_one ? pattern.substr(pattern.find(':') + 1) : pattern);
      std::vector<NodeId> refused;
      std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(refused), [&](NodeId node) {
        return is_of_one ? partition_.target(partition_.part_of[node]) != target : on_cpu(node);
      });
      for (const NodeId node : refused) required_.insert(index(node));
      run_.gates.push_back({require_gate(pattern, nodes.size(), refused.size()),
                            refused.empty() ? std::string() : names_text(refused)});
    }
  }

  // The target of "npu:Conv"; kNone where the text names none before a colon.
  TargetId required_target(const std::string& pattern) const {
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      if (pattern.starts_with(report_.targets[i].name + ":")) return id_at<TargetId>(i);
    }
    return kNone<TargetId>;
  }

  // ---- nodes on the CPU ----

  void list_cpu_nodes() {
    const std::unordered_set<std::string_view> breaking = new_where_not_allowed();
    CappedList list(kMostCpuNodes);
    const std::vector<TargetId> wanting = targets_of_failed_gates();
    std::size_t rows = 0;
    for (const bool first : {true, false}) {
      for (const NodeId node : graph_.nodes()) {
        const bool breaks =
            breaking.count(graph_.node(node).name) != 0 || required_.count(index(node)) != 0;
        if (breaks != first) continue;
        for (const TargetId target : rows_of(node, wanting)) {
          ++rows;
          if (!list.shows_next()) continue;
          run_.cpu_nodes.push_back(checked_node(report_, node, target));
          run_.cpu_nodes.back().breaks_gate = breaks;
        }
      }
    }
    run_.cpu_nodes_left_out = rows - run_.cpu_nodes.size();
  }

  // Targets that must take more of the model than they do.
  std::vector<TargetId> targets_of_failed_gates() const {
    std::vector<TargetId> targets;
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      const bool fails =
          std::any_of(run_.gates.begin(), run_.gates.end(), [&](const CheckedGate& checked) {
            return checked.gate.kind != GateKind::require && !checked.gate.passed() &&
                   checked.gate.subject == report_.targets[i].name;
          });
      if (fails) targets.push_back(id_at<TargetId>(i));
    }
    return targets;
  }

  // The targets whose reasons the node is listed with; kNone: the reason that it is on the CPU.
  std::vector<TargetId> rows_of(NodeId node, const std::vector<TargetId>& wanting) const {
    std::vector<TargetId> rows;
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      const auto target = id_at<TargetId>(i);
      if (report_.split.targets[i].reasons[node].code == ReasonCode::none) continue;
      const bool is_wanted = std::find(wanting.begin(), wanting.end(), target) != wanting.end();
      const bool is_required = required_.count(index(node)) != 0;
      if (on_cpu(node) || is_wanted || is_required) rows.push_back(target);
    }
    if (rows.empty() && on_cpu(node)) rows.push_back(kNone<TargetId>);
    return rows;
  }

  std::unordered_set<std::string_view> new_where_not_allowed() const {
    std::unordered_set<std::string_view> nodes;
    const bool are_too_many =
        std::any_of(run_.gates.begin(), run_.gates.end(), [](const CheckedGate& checked) {
          return checked.gate.kind == GateKind::max_new_cpu_nodes && !checked.gate.passed();
        });
    if (!are_too_many) return nodes;
    for (const CheckedMove& move : run_.regressions) nodes.insert(move.node.name);
    return nodes;
  }

  static constexpr std::size_t kNamesColumns = 160;

  const Report& report_;
  const Graph& graph_;
  const Partition& partition_;
  const CheckRequest& request_;
  const EarlierResult* before_;
  std::unordered_set<std::uint32_t> required_;  // on the CPU, though a `require` asks for them
  ComparedTargets compared_;
  CheckRun run_;
};

}  // namespace

bool CheckRun::passed() const {
  return std::all_of(gates.begin(), gates.end(),
                     [](const CheckedGate& checked) { return checked.gate.passed(); });
}

bool Check::passed() const {
  return errors.empty() &&
         std::all_of(runs.begin(), runs.end(), [](const CheckRun& run) { return run.passed(); });
}

void fail_vain_requirements(Check& check) {
  std::set<std::string> met;
  const auto each = [&](const auto& visit) {
    for (CheckRun& run : check.runs) {
      for (CheckedGate& checked : run.gates) {
        if (checked.gate.kind == GateKind::require) visit(checked);
      }
    }
  };
  each([&](const CheckedGate& checked) {
    if (checked.gate.verdict != GateVerdict::not_applicable) met.insert(checked.gate.subject);
  });
  each([&](CheckedGate& checked) {
    if (met.count(checked.gate.subject) != 0) return;
    checked.gate.verdict = GateVerdict::not_known;
    checked.detail = "no model has a node or op of that name";
  });
}

CheckRun check_report(const Report& report, const CheckRequest& request,
                      const EarlierResult* before) {
  return CheckMaker(report, request, before).make();
}

}  // namespace cleave
