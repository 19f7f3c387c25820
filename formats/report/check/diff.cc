#include "formats/report/check/diff.h"

#include <algorithm>
#include <optional>

#include "core/graph/fingerprint.h"
#include "core/study/trail.h"
#include "formats/lists/settings/split_settings.h"
#include "formats/models/model_file.h"
#include "formats/report/check/changed_bindings.h"
#include "formats/report/words/machine_words.h"

namespace cleave {
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
    diff_.is_same_list = are_same_lists(before_, after_);
    diff_.settings = changed_settings(before_.options, after_.options);
    add_to(diff_.settings,
           changed_numbers(before_.options.latency.machine, after_.options.latency.machine));
    std::string times =
        changed_times(diff_.before.measures.all_cpu_us, diff_.after.measures.all_cpu_us);
    if (!times.empty()) diff_.settings.push_back(std::move(times));
    const auto bindings = changed_bindings(before_.model.bindings, after_.model.bindings);
    diff_.settings.insert(diff_.settings.end(), bindings.begin(), bindings.end());
    if (!bindings.empty()) earlier_ = read_again(after_.model, before_.model.bindings);
    const Graph& graph = earlier_ ? earlier_->graph : after_.model.graph;
    diff_.is_same_model = fingerprint(before_.model.graph) == fingerprint(graph);
    compare_places();
    return std::move(diff_);
  }

 private:
  void compare_places() {
    const Origin origin{.is_same_model = diff_.is_same_model,
                        .lists = before_.lists,
                        .are_same_lists = diff_.is_same_list,
                        .options = before_.options,
                        .link = before_.preview.link,
                        .graph = earlier_ ? &earlier_->graph : nullptr};
    const std::vector<Step> trail =
        make_trail({after_.model.graph, after_.facts, after_.lists, after_.options,
                    after_.split.partition, after_.preview.link, times_of(after_)},
                   origin);
    const Comparison comparison = compare(
        after_.model.graph, named_places(before_.model.graph, before_.split.partition), trail);
    for (const Move& move : comparison.moves) add(move);
    for (const auto& removed : comparison.removed) {
      diff_.removed.push_back({removed.node, removed.from});
    }
  }

  void add(const Move& move) {
    CheckedMove checked{checked_node(after_, move.node), move.from, move.to, move.cause};
    if (move.from == Place::absent) {
      diff_.added.push_back(std::move(checked));
    } else if (move.to == Place::cpu) {
      diff_.to_cpu.push_back(std::move(checked));
    } else {
      say_why_not_before(checked.node);
      diff_.to_acc.push_back(std::move(checked));
    }
  }

  void say_why_not_before(CheckedNode& node) {
    if (nodes_before_.empty()) {
      for (const NodeId id : before_.model.graph.nodes()) {
        nodes_before_.emplace(before_.model.graph.node(id).name, id);
      }
    }
    const CheckedNode was = checked_node(before_, nodes_before_.at(node.name));
    node.cause = was.cause;
    node.detail = was.detail;
  }

  const Report& before_;
  const Report& after_;
  std::optional<LoadedModel> earlier_;  // the later model with the earlier shapes
  std::unordered_map<std::string_view, NodeId> nodes_before_;
  Diff diff_;
};

}  // namespace

Diff diff_reports(const Report& before, const Report& after) {
  return DiffMaker(before, after).make();
}

}  // namespace cleave
