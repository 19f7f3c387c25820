// A split from files to numbers: what preview, split, draw, explain and print start from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/model_args.h"
#include "core/preview.h"
#include "core/split.h"
#include "formats/model_file.h"
#include "formats/report.h"

namespace cleave {

// Everything that was read and computed. Holds what a Report refers to.
class SplitRun {
 public:
  // Reads the model and the lists and runs the passes. Prints warnings, and errors when there are
  // any: then there is no run, and `code` tells what to exit with.
  static std::optional<SplitRun> make(const ModelArgs& model, const SupportArgs& support,
                                      const SplitArgs& split, ExitCode& code);

  const LoadedModel& model() const { return *model_; }
  const Graph& graph() const { return model_->graph; }
  const std::vector<SupportList>& lists() const { return lists_; }
  const OpFacts& facts() const { return facts_; }
  const Split& split() const { return *split_; }
  Report report(std::vector<std::string> more_notes = {}) const;

 private:
  std::optional<LoadedModel> model_;
  std::vector<SupportList> lists_;
  OpFacts facts_;
  SplitOptions options_;
  std::optional<Split> split_;
  std::optional<Preview> preview_;
  std::vector<std::string> notes_;
};

// Reads a model; prints warnings or errors. Nothing when it could not be read.
std::optional<LoadedModel> load_model(const ModelArgs& args);

}  // namespace cleave
