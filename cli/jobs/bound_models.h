// BoundModels: models that share the options for shapes, as those of a matrix do. --dim N=8 binds the
// dim where a model has it; where one has not, a line says so, and where none has, it is refused.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "cli/jobs/split_run.h"
#include "cli/options/model_args.h"
#include "formats/model_file.h"

namespace cleave {

class BoundModels {
 public:
  // `are_several`: of one model, a binding that it does not have is refused as it is read.
  BoundModels(const ModelArgs& args, bool are_several) : args_(args), are_several_(are_several) {}

  // Reads a model and prints warnings; nullopt when it has faults, which are printed. With bindings
  // the model is read twice, first for the names that it has; standard input is not, and must have
  // them all.
  std::optional<LoadedModel> load(const std::string& path);

  // The same, and the files of --costs.
  std::optional<MeasuredModel> load_measured(const std::string& path);

  // What no model that was read has: `--dim names "N", which no model has`; empty when all is bound.
  std::string unbound() const;

 private:
  ModelArgs args_for(const std::string& path);
  ModelArgs args_of(const std::string& path, const LoadedModel& probe);
  void note_bound(const ShapeBindings& bindings);

  const ModelArgs& args_;
  bool are_several_;
  std::set<std::string> bound_;  // names of dims and inputs that some model has
};

}  // namespace cleave
