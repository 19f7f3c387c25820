// The options that say where a pipeline is cut.
#pragma once

#include <optional>
#include <string>

#include "cli/options/balance_args.h"
#include "core/base/result.h"
#include "formats/run/jobs/stage_plan.h"

namespace CLI {
class App;
}

namespace cleave {

// --split-at, --split-between, --map, --default, --stages, --balance, and the options of balanced stages
class StagePlanArgs {
 public:
  void add_to(CLI::App& app);

  StagePlanRequest request() const;
  // Error if an option was given that has no effect together with the others; else nullopt.
  std::optional<Error> idle_option() const;
  // The first given option that does not apply to a workload, which has no scopes, no model to
  // write, and its own costs; empty when there is none.
  std::string first_not_for_workload() const;

 private:
  void add_split_at(const std::string& text);

  StagePlanRequest request_;  // except what `balance_` has
  BalanceArgs balance_;
  const CLI::App* app_ = nullptr;  // knows which options were given
};

}  // namespace cleave
