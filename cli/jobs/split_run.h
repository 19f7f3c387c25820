// A split from files to numbers: what preview, split, draw, explain and print start from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/model_args.h"
#include "cli/terminal/exit_code.h"
#include "core/split/preview.h"
#include "core/split/split.h"
#include "formats/model_file.h"
#include "formats/report/words/report.h"

namespace cleave {

// Everything that was read and computed. Holds what a Report refers to.
class SplitRun {
 public:
  // Reads the model and the lists and runs the passes. Prints warnings, and errors when there are
  // any: then there is no run, and `code` tells what to exit with.
  static std::optional<SplitRun> make(const ModelArgs& model, const SupportArgs& support,
                                      const SplitArgs& split, ExitCode& code);
  // The same of a model that was read before and outlives the run.
  static std::optional<SplitRun> make(const LoadedModel& model, const SupportArgs& support,
                                      const SplitArgs& split, ExitCode& code);

  const LoadedModel& model() const { return *model_; }
  const Graph& graph() const { return model_->graph; }
  const std::vector<SupportList>& lists() const { return lists_; }
  const OpFacts& facts() const { return facts_; }
  const Split& split() const { return *split_; }
  // What --costs gave: empty without it.
  const CostSet& costs() const { return costs_; }
  // Calls write() while the graph has the shapes that it was read with, without those that a
  // profile saw: what is written of a model must fit any input.
  template <class Write>
  auto with_declared_shapes(Write write) {
    if (own_model_) exchange_observed_shapes(own_model_->graph, costs_);
    auto result = write();
    if (own_model_) exchange_observed_shapes(own_model_->graph, costs_);
    return result;
  }
  Report report(std::vector<std::string> more_notes = {}) const;
  // The reason of a node that is on the CPU, in words; "" on the accelerator.
  std::string why_on_cpu(NodeId node) const;

 private:
  // Runs the passes; prints what is wrong.
  ExitCode compute(const SplitArgs& args);
  void add_cost_notes();

  std::unique_ptr<LoadedModel> own_model_;  // null when it is another's
  const LoadedModel* model_ = nullptr;
  CostSet costs_;
  std::vector<SupportList> lists_;
  OpFacts facts_;
  SplitOptions options_;
  std::optional<Split> split_;
  std::optional<Preview> preview_;
  std::vector<std::string> notes_;
};

// Reads the lists; prints warnings, or what is wrong with any of them: then there is nothing.
std::optional<std::vector<SupportList>> load_lists(const SupportArgs& args);

// What was asked for, else the first link that a list names, else the default.
Link choose_link(const std::optional<Link>& asked, const std::vector<SupportList>& lists);

// Reads a model; prints warnings or errors. Nothing when it could not be read.
std::optional<LoadedModel> load_model(const ModelArgs& args);

// Reads the files of --costs, and gives the model the shapes that they saw. Prints warnings, or
// what is wrong with any of them: then there is nothing.
std::optional<CostSet> load_costs(const ModelArgs& args, LoadedModel& model);

}  // namespace cleave
