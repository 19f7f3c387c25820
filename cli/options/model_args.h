// Option groups that commands share, bound straight to the options of core and formats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "core/cost/target_spec.h"
#include "core/split/options.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/models/model_file.h"
#include "formats/run/jobs/split_job.h"

namespace CLI {
class App;
}

namespace cleave {

// MODEL, --dim, --input-shape, --set-input, --infer, --fold, --limit
struct ModelArgs {
  std::string path;
  ShapeBindings bindings;
  ModelLimits limits;
  std::vector<CostSource> costs;  // --costs
  void add_to(CLI::App& app);
  // --costs, for commands that report times, FLOPs or bytes.
  void add_costs_to(CLI::App& app);
  // The same as add_to() without MODEL, for commands that take several models.
  void add_bindings_to(CLI::App& app);

 private:
  void add_dim(const std::string& text);
  void add_input_shape(const std::string& text);
  void add_limit(const std::string& text);
};

// -s/--support, --deny, --verdicts, all repeatable; --all-of
struct SupportArgs {
  std::vector<std::string> paths;
  std::vector<std::string> deny, verdicts;
  bool all_of = false;
  void add_to(CLI::App& app, bool required);
  ListsRequest request() const { return {paths, verdicts, deny, all_of}; }

 private:
  void take(const std::vector<std::string>& given);
};

// The options of the split and the link.
struct SplitArgs {
  SplitOptions options;
  std::optional<Link> link;          // --pcie-bw, or of --target
  std::vector<TargetSpec> targets;   // --target
  std::vector<std::string> require;  // --require
  void add_to(CLI::App& app);
  // --require, for commands that have no gate of that name.
  void add_require_to(CLI::App& app);

 private:
  void set_target(const std::string& text);
  void set_link(const std::string& text);
};

}  // namespace cleave
