// The options that say where a pipeline is cut.
#pragma once

#include <optional>
#include <string>

#include "cli/options/balance_args.h"
#include "core/base/result.h"
#include "formats/jobs/stage_plan.h"

namespace CLI {
class App;
}

namespace cleave {

// --split-at, --split-between, --stages, --balance, and the options of balanced stages
class StagePlanArgs {
 public:
  void add_to(CLI::App& app);

  StagePlanRequest request() const;
  // An option that was given and cannot count beside the others; nullopt: there is none.
  std::optional<Error> idle_option() const;
  // The first option of the command that means nothing for a workload, which has no scopes, no
  // model to write and its own costs; empty when there is none.
  std::string first_not_for_workload() const;

 private:
  void add_split_at(const std::string& text);

  StagePlanRequest request_;  // but for what `balance_` has
  BalanceArgs balance_;
  const CLI::App* app_ = nullptr;  // to tell what was given
};

}  // namespace cleave
