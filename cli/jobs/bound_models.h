// BoundModels: several models that share the options for shapes. --dim N=8 binds the dim in each
// model that has it. A message names each model without it; if no model has it, the command refuses
// it.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "cli/jobs/split_run.h"
#include "formats/models/model_file.h"

namespace cleave {

class BoundModels {
 public:
  // `are_several`: false for a single model, which is refused while it is read if it lacks a
  // binding.
  BoundModels(const ModelRequest& request, bool are_several)
      : request_(request), are_several_(are_several) {}

  // Reads a model and prints warnings; nullopt when it has faults, which are printed. With bindings
  // the model is read twice, first for the names that it has; standard input is not, and must have
  // them all.
  std::optional<LoadedModel> load(const std::string& path);

  // The same, and the files of --costs.
  std::optional<MeasuredModel> load_measured(const std::string& path,
                                             const std::vector<CostSource>& costs);

  // The bindings that no model has: `--dim names "N", which no model has`; empty when there are
  // none.
  std::string unbound() const;

 private:
  ModelRequest request_for(const std::string& path);
  ModelRequest request_of(const std::string& path, const LoadedModel& probe);
  void note_bound(const ShapeBindings& bindings);

  const ModelRequest& request_;
  bool are_several_;
  std::set<std::string> bound_;  // names of dims and inputs that some model has
};

}  // namespace cleave
