// BoundModels: several models that share the options for shapes. --dim N=8 binds the dim in each
// model that has it. A warning counts the models without it; if no model has it, the command refuses it.
// Tables [[model]] of --config bind in the models that they name, which must have what they bind.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/jobs/split_run.h"
#include "formats/models/model_file.h"

namespace CLI {
class App;
}

namespace cleave {

class BoundModels {
 public:
  // `are_several`: false for a single model, which is refused while it is read if it lacks a
  // binding.
  BoundModels(const CLI::App& command, const ModelRequest& request, bool are_several)
      : command_(command), request_(request), are_several_(are_several) {}

  // Reads a model and prints warnings; nullopt when it has faults, which are printed. With bindings
  // the model is read twice, first for the names that it has; standard input is not, and must have
  // them all.
  std::optional<LoadedModel> load(const std::string& path);

  // The same, and the files of --costs.
  std::optional<MeasuredModel> load_measured(const std::string& path,
                                             const std::vector<CostSource>& costs);

  // What is asked of the model: the bindings that it has.
  ModelRequest request_for(const std::string& path);

  // After the last model: warns of bindings that some models lack. False, after printing which, when no
  // model has one.
  bool are_all_bound() const;

 private:
  using Given = std::pair<std::string_view, std::string>;  // an option, and the name that it binds
  std::vector<Given> given() const;
  ModelRequest request_of(const std::string& path, const LoadedModel& probe);

  const CLI::App& command_;
  const ModelRequest& request_;
  bool are_several_;
  std::size_t models_ = 0;                // that were asked for
  std::map<Given, std::size_t> lacking_;  // models without it
};

}  // namespace cleave
