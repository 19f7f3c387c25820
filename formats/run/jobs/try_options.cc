#include "formats/run/jobs/try_options.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/support/rule_check.h"
#include "core/support/support.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/shell_word.h"
#include "formats/models/open_shapes.h"
#include "formats/report/words/option_words.h"
#include "formats/run/jobs/measured_shapes.h"

namespace cleave {
namespace {

// Of a preview: all trials together take some ten times as long as the split. `advise` has no limit.
constexpr std::size_t kMostNodes = 5'000;

// A model read again with known nodes folded, and its split. Times and shapes that were measured are matched
// anew: they are by node and value, which have other ids here.
struct FoldedModel {
  LoadedModel model;
  CostSet costs;
  std::optional<SplitJob> job;
};

// Empty when a model cannot be folded, or none has a node to fold.
std::vector<std::unique_ptr<FoldedModel>> fold(std::span<const SplitJob> jobs) {
  std::vector<std::unique_ptr<FoldedModel>> folded;
  bool is_any = false;
  for (const SplitJob& job : jobs) {
    ShapeBindings bindings = job.model().bindings;
    const bool can_fold =
        job.model().format() == ModelFormat::onnx && bindings.folding != Folding::write;
    if (!can_fold) return {};
    bindings.folding = Folding::write;
    auto model = read_again(job.model(), bindings);
    if (!model) return {};
    is_any |= model->graph.node_count() != job.graph().node_count();
    folded.push_back(std::make_unique<FoldedModel>(FoldedModel{*std::move(model), {}, {}}));
  }
  if (!is_any) return {};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const SplitJob& job = jobs[i];
    FoldedModel& one = *folded[i];
    auto costs = read_costs_and_shapes(costs_of(job.request()), one.model);
    if (!costs) return {};
    one.costs = *std::move(costs);
    const ListsRead lists{job.lists(), {}};
    auto split =
        run_split(job.request(), {}, {.model = &one.model, .costs = &one.costs, .lists = &lists});
    if (!split) return {};
    one.job = *std::move(split);
  }
  return folded;
}

ModelToSplit model_of(const SplitJob& job) {
  return {job.graph(), job.facts(), &job.time().basis.times, job.required(),
          job.found_placements()};
}

}  // namespace

std::optional<OptionTrials> try_options(std::span<const SplitJob> jobs) {
  const Report first = jobs.front().report();
  if (!first.targets.empty()) return std::nullopt;
  std::vector<ModelToSplit> models, folded;
  for (const SplitJob& job : jobs) models.push_back(model_of(job));
  const auto read = fold(jobs);
  for (const auto& one : read) folded.push_back(model_of(*one->job));
  auto trials = try_options(models, folded, first.lists, first.options, first.preview.link);
  if (!trials) return std::nullopt;
  return *std::move(trials);
}

std::string option_note(const SplitJob& job) {
  if (job.graph().node_count() > kMostNodes || job.targets().size() > 1) return {};
  const auto trials = try_options(std::span(&job, 1));
  return trials ? best_option_text(*trials) : "";
}

namespace {

// The names of the nodes that a rule refuses, and that the lists accept once known nodes are folded.
std::unordered_set<std::string> accepted_folded(const SplitJob& job) {
  ShapeBindings bindings = job.model().bindings;
  const bool can_fold =
      job.model().format() == ModelFormat::onnx && bindings.folding != Folding::write;
  if (!can_fold) return {};
  bindings.folding = Folding::write;
  const auto model = read_again(job.model(), bindings);
  if (!model) return {};
  const OpFacts facts = op_facts(*model);
  const Support support = match_support(model->graph, job.lists(), facts);
  std::unordered_set<std::string> names;
  for (const NodeId node : model->graph.nodes()) {
    if (support.supported.contains(node)) names.emplace(model->graph.node(node).name);
  }
  return names;
}

}  // namespace

std::vector<std::string> ways_out(const SplitJob& job, std::span<const NodeId> nodes) {
  std::vector<std::string> ways(nodes.size());
  if (job.targets().size() > 1) return ways;
  const Graph& graph = job.graph();
  std::optional<std::unordered_set<std::string>> folded;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!graph.nodes().contains(nodes[i])) continue;
    const Reason& reason = job.split().reasons[nodes[i]];
    if (graph.op(nodes[i]) == "If") {
      for (const ValueId input : deciding_inputs(graph, nodes[i])) {
        ways[i] += (ways[i].empty() ? "" : " ") + std::string("--set-input ") +
                   shell_word(escaped(graph.value(input).name) + "=VALUE");
      }
      if (!ways[i].empty())
        ways[i] += ": it decides which branch runs, which takes the place of the If";
    }
    if (reason.code != ReasonCode::rule_failed || reason.because != kNone<NodeId>) continue;
    const Rule& rule = job.lists()[reason.list].allow[reason.rule];
    if (const auto newer = newer_opset_of(graph, nodes[i], rule, job.facts());
        newer && job.model().format() == ModelFormat::onnx) {
      ways[i] = "cleave fix --opset " + std::to_string(*newer) + " converts the model";
      continue;
    }
    if (!folded) folded = accepted_folded(job);
    if (folded->contains(std::string(graph.node(nodes[i]).name))) {
      ways[i] = "--fold write: what it asks for is known before the model runs";
    }
  }
  return ways;
}

}  // namespace cleave
