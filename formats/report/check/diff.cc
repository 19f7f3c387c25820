// Comparisons of two splits.

#include <algorithm>
#include <iterator>
#include <optional>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/measures/check.h"
#include "formats/base/faults.h"
#include "formats/base/fields.h"
#include "formats/base/text.h"
#include "formats/lists/options.h"
#include "formats/models/models.h"
#include "formats/report/check/check.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- diff ----

namespace {

bool are_same_lists(const Report& before, const Report& after) {
  return std::equal(before.lists.begin(), before.lists.end(), after.lists.begin(),
                    after.lists.end(), [](const SupportList& a, const SupportList& b) {
                      return a.text == b.text && a.role == b.role;
                    });
}

void add_to(std::vector<std::string>& texts, const std::vector<std::string>& more) {
  texts.insert(texts.end(), more.begin(), more.end());
}

class DiffMaker {
 public:
  DiffMaker(const Report& before, const Report& after) : before_(before), after_(after) {}

  Diff make() {
    diff_.before.measures = measures_of(before_);
    diff_.after.measures = measures_of(after_);
    add_opsets(before_.graph, diff_.before);
    add_opsets(after_.graph, diff_.after);
    diff_.is_same_list = are_same_lists(before_, after_);
    diff_.settings = changed_settings(before_.options, after_.options, after_.targets.size() > 1);
    add_to(diff_.settings, changed_targets(before_.targets, before_.options, after_));
    std::string link = changed_link(before_.targets, before_.preview.link.bytes_per_second, after_);
    if (!link.empty()) diff_.settings.push_back(std::move(link));
    std::string times =
        changed_times(diff_.before.measures.all_cpu_us, diff_.after.measures.all_cpu_us);
    if (!times.empty()) diff_.settings.push_back(std::move(times));
    const auto bindings = changed_bindings(before_.model.bindings, after_.model.bindings);
    diff_.settings.insert(diff_.settings.end(), bindings.begin(), bindings.end());
    if (!bindings.empty()) earlier_ = read_again(after_.model, before_.model.bindings);
    const Graph& graph = earlier_ ? earlier_->graph : after_.graph;
    diff_.is_same_model = fingerprint(before_.graph) == fingerprint(graph);
    compare_places();
    return std::move(diff_);
  }

 private:
  static void add_opsets(const Graph& graph, DiffSide& side) {
    side.opsets.assign(graph.opsets().begin(), graph.opsets().end());
    side.opsets_text = opsets_text(graph);
  }

  void compare_places() {
    targets_ = compare_targets(target_names(before_.targets), target_names(after_.targets));
    diff_.targets = targets_.names;
    const Origin origin{.is_same_model = diff_.is_same_model,
                        .lists = before_.lists,
                        .are_same_lists = diff_.is_same_list,
                        .options = before_.options,
                        .link = before_.preview.link,
                        .graph = earlier_ ? &earlier_->graph : nullptr,
                        .targets = before_.targets,
                        .places = targets_.before};
    const std::vector<Step> trail = make_trail(
        {after_.graph, after_.facts, after_.lists, after_.options, after_.split.partition,
         after_.preview.link, times_of(after_), after_.targets, targets_.now},
        origin);
    const Comparison comparison = compare(
        after_.graph, named_places(before_.graph, before_.split.partition, targets_.before), trail);
    for (const Move& move : comparison.moves) add(move);
    for (const auto& removed : comparison.removed) {
      diff_.removed.push_back({removed.node, removed.from});
    }
  }

  void add(const Move& move) {
    CheckedMove checked = checked_move(after_, move, targets_);
    if (move.from == Place::absent) {
      diff_.added.push_back(std::move(checked));
    } else if (move.to == Place::cpu) {
      diff_.to_cpu.push_back(std::move(checked));
    } else if (move.from == Place::cpu) {
      say_why_not_before(checked.node, target_before(move.to));
      diff_.to_acc.push_back(std::move(checked));
    } else {
      if (checked.node.cause.empty()) say_why_not_before(checked.node, target_before(move.to));
      diff_.moved.push_back(std::move(checked));
    }
  }

  // The earlier result's target of a place.
  TargetId target_before(Place place) const {
    const auto found = std::ranges::find(targets_.before, place);
    if (found == targets_.before.end()) return kNone<TargetId>;
    return id_at<TargetId>(static_cast<std::size_t>(found - targets_.before.begin()));
  }

  // `asked`: one of several targets, whose reason counts.
  void say_why_not_before(CheckedNode& node, TargetId asked) {
    if (nodes_before_.empty()) {
      for (const NodeId id : before_.graph.nodes()) {
        nodes_before_.emplace(before_.graph.node(id).name, id);
      }
    }
    const NodeId id = nodes_before_.at(node.name);
    const bool says_why = asked != kNone<TargetId> &&
                          before_.split.targets[index(asked)].reasons[id].code != ReasonCode::none;
    const CheckedNode was = checked_node(before_, id, says_why ? asked : kNone<TargetId>);
    node.cause = was.cause;
    node.detail = was.detail;
  }

  const Report& before_;
  const Report& after_;
  std::optional<LoadedModel> earlier_;  // the later model with the earlier shapes
  std::unordered_map<std::string_view, NodeId> nodes_before_;
  ComparedTargets targets_;
  Diff diff_;
};

}  // namespace

Diff diff_reports(const Report& before, const Report& after) {
  return DiffMaker(before, after).make();
}

namespace {

std::string boundary_text(const Measures& measures) {
  return known_bytes_text(measures.boundary_bytes, measures.is_boundary_known);
}

std::string qps_text(const Measures& measures) {
  if (!measures.is_any_boundary_known()) return "?";
  if (!measures.qps) return "-";
  return (measures.is_boundary_known ? "" : "<") + rate_text(*measures.qps);
}

std::string time_text(const std::optional<double>& us) {
  return us ? duration_text(*us) : std::string("?");
}

// Of several targets: what each has of the model, "-" where one of the results lacks it.
void add_target_rows(KeptTable& table, const Measures& before, const Measures& after) {
  std::vector<std::string> names;
  for (const Measures* const side : {&after, &before}) {
    for (const TargetMeasures& target : side->targets) {
      const bool is_new = !contains(names, target.name);
      if (is_new) names.push_back(target.name);
    }
  }
  const auto text_of = [](const Measures& side, const std::string& name) {
    for (const TargetMeasures& target : side.targets) {
      if (target.name != name) continue;
      return share_text(target.nodes) + " of nodes in " + count_text(target.parts);
    }
    return std::string("-");
  };
  for (const std::string& name : names) {
    table.add_row({"on " + name, text_of(before, name), text_of(after, name)});
  }
}

}  // namespace

KeptTable diff_numbers(const Diff& diff) {
  const Measures& before = diff.before.measures;
  const Measures& after = diff.after.measures;
  KeptTable table({"", "before", "after"}, {Align::left, Align::right, Align::right});
  const auto count = [](double number) { return count_text(static_cast<std::uint64_t>(number)); };
  if (diff.before.opsets_text != diff.after.opsets_text) {
    table.add_row({"opset", diff.before.opsets_text, diff.after.opsets_text});
  }
  table.add_row({"nodes", count(before.nodes.total), count(after.nodes.total)});
  table.add_row({"on the CPU", count_text(before.cpu_nodes), count_text(after.cpu_nodes)});
  table.add_row({"node coverage", share_text(before.nodes), share_text(after.nodes)});
  const auto flops = [](const Measures& measures) {
    return measures.flops.are_known() ? share_text(measures.flops) : "?";
  };
  table.add_row({"FLOPs coverage", flops(before), flops(after)});
  table.add_row({"parameter coverage", share_text(before.parameter_bytes),
                 share_text(after.parameter_bytes)});
  table.add_row(
      {"accelerator subgraphs", count_text(before.acc_subgraphs), count_text(after.acc_subgraphs)});
  add_target_rows(table, before, after);
  table.add_row({"boundary bytes", boundary_text(before), boundary_text(after)});
  table.add_row({"link-bound QPS", qps_text(before), qps_text(after)});
  if (before.latency_us || after.latency_us) {
    table.add_row({"latency", time_text(before.latency_us), time_text(after.latency_us)});
    table.add_row({"all on the CPU", time_text(before.all_cpu_us), time_text(after.all_cpu_us)});
  }
  return table;
}

namespace {

std::string removed_text(const Diff& diff) {
  if (diff.removed.empty()) return {};
  const auto name = [&](const Diff::Removed& removed) {
    const std::string target(diff.targets.empty() || removed.from == Place::cpu
                                 ? ""
                                 : place_name(removed.from, diff.targets));
    return escaped(removed.node) + (removed.from == Place::cpu ? " (CPU)"
                                    : target.empty()           ? ""
                                                               : " (" + target + ")");
  };
  return "\n  " + counted(diff.removed.size(), "node") + " removed\n" +
         as_line(some_of(diff.removed, kTextColumns - 6, name), 6);
}

std::string headline(const Diff& diff) {
  const std::size_t moved = diff.to_cpu.size() + diff.to_acc.size() + diff.moved.size();
  if (moved + diff.added.size() + diff.removed.size() == 0) return "no node moved";
  std::string text = counted(diff.to_cpu.size(), "node") + " moved to the CPU, " +
                     count_text(diff.to_acc.size()) +
                     (diff.targets.empty() ? " to the accelerator" : " from it to a target, ");
  if (!diff.targets.empty()) text += count_text(diff.moved.size()) + " between targets";
  if (!diff.added.empty()) text += "; " + count_text(diff.added.size()) + " added";
  if (!diff.removed.empty()) text += "; " + count_text(diff.removed.size()) + " removed";
  return text;
}

std::vector<CheckedMove> added_at(const Diff& diff, Place place) {
  std::vector<CheckedMove> moves;
  std::ranges::copy_if(diff.added, std::back_inserter(moves),
                       [&](const CheckedMove& move) { return move.to == place; });
  return moves;
}

std::string side_text(const DiffSide& side) {
  return escaped(side.model) + " with " + escaped(side.list);
}

}  // namespace

std::string diff_text(const Diff& diff) {
  std::string text = headline(diff) + '\n';
  text += as_line("before: " + side_text(diff.before));
  text += as_line("after:  " + side_text(diff.after));
  for (const std::string& setting : diff.settings) text += as_line("setting " + setting);
  text += '\n' + diff_numbers(diff).text().text();
  if (diff.targets.empty()) {
    text += moves_text(diff.to_cpu, "moved to the CPU", diff.settings);
    text += moves_text(diff.to_acc, "moved to the accelerator", diff.settings);
  } else {
    for (const auto* const moves : {&diff.to_cpu, &diff.moved, &diff.to_acc}) {
      for (const MovesBetween& between : moves_between(*moves, diff.targets)) {
        text += moves_text(between.moves, "moved " + between.text, diff.settings);
      }
    }
  }
  text += moves_text(added_at(diff, Place::cpu), "added on the CPU", diff.settings);
  if (diff.targets.empty()) {
    text += moves_text(added_at(diff, Place::acc), "added on the accelerator", diff.settings);
  }
  for (std::size_t i = 0; i < diff.targets.size(); ++i) {
    const auto place = static_cast<Place>(static_cast<std::size_t>(Place::acc) + i);
    text += moves_text(added_at(diff, place), "added on " + diff.targets[i], diff.settings);
  }
  return text + removed_text(diff);
}

// ---- diff json ----

namespace {

const Fields<DiffSide> kSideFields = {
    kLines,
    {{"model", the<&DiffSide::model>},
     {"list", the<&DiffSide::list>},
     {"opsets", the<&DiffSide::opsets>, "Those that the model imports; the default domain is \"\".",
      kOpsetFields},
     {the<&DiffSide::measures>, kMeasureFields}},
    "side"};

struct RemovedSaid {
  std::string_view node, from;
};
const Fields<RemovedSaid> kRemovedFields = {
    kOneLine,
    {{"node", the<&RemovedSaid::node>},
     {"from", the<&RemovedSaid::from>, "cpu, acc, or the name of one of several targets."}}};

const Fields<Diff> kDiffFields = {
    kLines,
    {{"before", the<&Diff::before>, kSideFields},
     {"after", the<&Diff::after>, kSideFields},
     {"model_changed", [](auto& diff) { return !diff.is_same_model; }},
     {"list_changed", [](auto& diff) { return !diff.is_same_list; }},
     {"settings_changed", the<&Diff::settings>},
     {"moves",
      [](auto& diff) {
        std::vector<MoveSaid> all;
        for (const auto* const moves : {&diff.to_cpu, &diff.to_acc, &diff.moved, &diff.added}) {
          for (const CheckedMove& move : *moves) all.push_back({&move, &diff.targets});
        }
        return all;
      },
      "Nodes moved to the CPU, then from it to an accelerator, then between targets, then added "
      "nodes; each in model order.",
      kMoveFields},
     {"removed",
      [](auto& diff) {
        return each(diff.removed, [&](const Diff::Removed& removed) {
          return RemovedSaid{removed.node, place_name(removed.from, diff.targets)};
        });
      },
      "Nodes that only the first model has, by name.", kRemovedFields}}};

}  // namespace

Document diff_document() {
  return {
      "diff",
      "The output of `diff --json`: nodes that moved between two splits, and the change to blame.",
      kDiffFields.table()};
}

std::string diff_json(const Diff& diff) { return document_text("diff", kDiffFields, diff); }

}  // namespace cleave
