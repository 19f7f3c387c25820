#include "formats/run/jobs/try_options.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "formats/report/words/option_words.h"

namespace cleave {
namespace {

// Of a preview: all trials together take some ten times as long as the split. `advise` has no limit.
constexpr std::size_t kMostNodes = 5'000;

// A model read again, with known nodes folded.
struct FoldedModel {
  LoadedModel model;
  OpFacts facts;
};

bool has_own_times(const SplitJob& job) {
  return !job.costs().empty() || !job.request().targets.empty();
}

// Empty when a model cannot be folded, none has a node to fold, or times are those of its nodes as
// they are.
std::vector<std::unique_ptr<FoldedModel>> fold(std::span<const SplitJob> jobs) {
  std::vector<std::unique_ptr<FoldedModel>> folded;
  bool is_any = false;
  for (const SplitJob& job : jobs) {
    ShapeBindings bindings = job.model().bindings;
    const bool can_fold =
        job.model().format() == ModelFormat::onnx && bindings.folding != Folding::write;
    if (!can_fold || has_own_times(job)) return {};
    bindings.folding = Folding::write;
    auto model = read_again(job.model(), bindings);
    if (!model) return {};
    is_any |= model->graph.node_count() != job.graph().node_count();
    folded.push_back(std::make_unique<FoldedModel>(FoldedModel{*std::move(model), {}}));
    folded.back()->facts = op_facts(folded.back()->model);
  }
  if (!is_any) folded.clear();
  return folded;
}

}  // namespace

std::optional<OptionTrials> try_options(std::span<const SplitJob> jobs) {
  const Report first = jobs.front().report();
  if (!first.targets.empty()) return std::nullopt;
  std::vector<ModelToSplit> models, folded;
  for (const SplitJob& job : jobs) {
    models.push_back({job.graph(), job.facts(), &job.time().basis.times, job.required()});
  }
  const auto read = fold(jobs);
  for (const auto& one : read) folded.push_back({one->model.graph, one->facts});
  auto trials = try_options(models, folded, first.lists, first.options, first.preview.link);
  if (!trials) return std::nullopt;
  return *std::move(trials);
}

std::string option_note(const SplitJob& job) {
  if (job.graph().node_count() > kMostNodes || job.targets().size() > 1) return {};
  const auto trials = try_options(std::span(&job, 1));
  return trials ? best_option_text(*trials) : "";
}

}  // namespace cleave
