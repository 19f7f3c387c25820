// Steps:
// 1. split all models under the present settings, for the sizes of accelerator subgraphs;
// 2. for each of some minimum sizes and each starting side, split them again and sum the outcomes;
// 3. find the knee of the outcomes.
#include "core/study/settings_sweep.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "core/split/split.h"

namespace cleave {
namespace {

constexpr std::array kSides = {StartSide::reference, StartSide::cpu, StartSide::acc};
constexpr std::size_t kMostSizes = 12;

class Sweep {
 public:
  Sweep(std::span<const ModelToSplit> models, const std::vector<SupportList>& lists,
        SplitOptions split, const Link& link, const Progress& progress)
      : models_(models),
        lists_(lists),
        split_(std::move(split)),
        link_(link),
        progress_(progress) {}

  Result<SettingsSweep> run() && {
    if (auto failed = find_sizes()) return *std::move(failed);
    SettingsSweep sweep;
    const std::vector<std::size_t> sizes = minimum_sizes();
    for (const std::size_t min_acc_size : sizes) {
      for (const StartSide side : kSides) {
        tell(progress_,
             {"trying", "settings", sweep.settings.size(), sizes.size() * kSides.size()});
        auto outcome = outcome_under(min_acc_size, side);
        if (!outcome) return std::move(outcome).error();
        sweep.settings.push_back({min_acc_size, side, *outcome});
      }
    }
    sweep.knee = knee_of(sweep.settings);
    return sweep;
  }

 private:
  // Sizes of all accelerator subgraphs under the present settings, before any was merged.
  std::optional<Error> find_sizes() {
    for (const ModelToSplit& model : models_) {
      auto split = split_graph({.graph = model.graph,
                                .lists = lists_,
                                .facts = model.facts,
                                .link = link_,
                                .times = model.times,
                                .required = model.required},
                               split_);
      if (!split) return std::move(split).error();
      const Subgraphs& found = split->found.subgraphs;
      for (std::size_t i = 0; i < found.count(); ++i) {
        if (found.devices[i] == Device::acc) sizes_.insert(found.sizes[i]);
      }
    }
    return std::nullopt;
  }

  // Ascending. The greatest size is left out: a minimum above it would leave no subgraph.
  std::vector<std::size_t> minimum_sizes() const {
    std::vector<std::size_t> all{1};
    for (const std::size_t size : sizes_) all.push_back(size + 1);
    if (all.size() > 1) all.pop_back();
    if (all.size() <= kMostSizes) return all;
    std::vector<std::size_t> some;
    for (std::size_t i = 0; i < kMostSizes; ++i) {
      some.push_back(all[i * (all.size() - 1) / (kMostSizes - 1)]);
    }
    return some;
  }

  Result<Outcome> outcome_under(std::size_t min_acc_size, StartSide side) {
    split_.subgraphs.min_acc_size = min_acc_size;
    split_.subgraphs.start = side;
    Outcome sum;
    for (const ModelToSplit& model : models_) {
      auto split = split_outcome(model, lists_, split_, link_);
      if (!split) return std::move(split).error();
      sum.add(split->outcome);
    }
    return sum;
  }

  static double coverage_of(const Outcome& outcome) {
    return outcome.flops.total > 0 ? outcome.flops.acc : outcome.nodes.acc;
  }

  static std::size_t knee_of(const std::vector<Setting>& settings) {
    double most_subgraphs = 1;
    double most_coverage = 1;
    for (const Setting& setting : settings) {
      most_subgraphs = std::max(most_subgraphs, static_cast<double>(setting.outcome.acc_subgraphs));
      most_coverage = std::max(most_coverage, coverage_of(setting.outcome));
    }
    const auto height = [&](const Setting& setting) {
      return coverage_of(setting.outcome) / most_coverage -
             static_cast<double>(setting.outcome.acc_subgraphs) / most_subgraphs;
    };
    const auto knee =
        std::max_element(settings.begin(), settings.end(),
                         [&](const Setting& a, const Setting& b) { return height(a) < height(b); });
    return static_cast<std::size_t>(knee - settings.begin());
  }

  std::span<const ModelToSplit> models_;
  const std::vector<SupportList>& lists_;
  SplitOptions split_;
  const Link& link_;
  const Progress& progress_;
  std::set<std::size_t> sizes_;
};

}  // namespace

Result<SettingsSweep> sweep_settings(std::span<const ModelToSplit> models,
                                     const std::vector<SupportList>& lists,
                                     const SplitOptions& split, const Link& link,
                                     const Progress& progress) {
  return Sweep(models, lists, split, link, progress).run();
}

}  // namespace cleave
