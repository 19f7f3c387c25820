// Options of pipeline stages, however they are cut: parameters, skip connections, devices.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/stages/stages.h"
#include "formats/run/jobs/stage_jobs.h"

namespace CLI {
class App;
}

namespace cleave {

// --shared-params, --relay, --device-map, --loss-output, --stage
class StageArgs {
 public:
  void add_to(CLI::App& app);

  const StageBoundaryOptions& boundary_options() const { return boundary_; }
  // The stage to print, if only one is.
  std::optional<std::size_t> only() const { return only_; }
  // The argument of --loss-output: nullopt when not given, else a spec, "" when it has no value.
  const std::optional<std::string>& loss() const { return loss_; }
  // The devices by stage, "" for none; empty when none were given. Refuses a stage that does not
  // exist.
  Result<std::vector<std::string>> devices(std::size_t stage_count) const;

 private:
  void add_sharing(const std::string& text);
  void add_devices(const std::string& text);
  void add_device(std::size_t stage, std::string device);

  StageBoundaryOptions boundary_;
  std::vector<std::pair<std::size_t, std::string>> devices_;
  std::optional<std::size_t> only_;
  std::optional<std::string> loss_;
};

// The options of balanced stages: the cost of a stage, the devices, and the effort of the search.
struct BalanceArgs {
  BalanceRequest request;
  void add_to(CLI::App& app);
  // The first of these options that was given, for commands that cannot use them; else empty.
  std::string first_given() const;
  // The first given one that says nothing about what a schedule of stages takes; else empty.
  std::string first_not_for_schedule() const;
  // Error if an option was given that has no effect; else nullopt.
  std::optional<Error> idle_option(StagePolicy policy) const;

 private:
  const CLI::App* app_ = nullptr;
  void add_costs(const std::string& text);
  void add_target(const std::string& text);
  void set_memory(const std::string& text);
  void set_most_parameters(const std::string& text);
  void set_target(const std::string& text);
  void set_time_limit(const std::string& text);
};

// The options that say where a pipeline is cut.

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

// The options of a schedule for the stages of a pipeline.

// --schedule, --microbatches, --ranks, --backward-factor
class ScheduleArgs {
 public:
  void add_to(CLI::App& app);

  // nullopt: no schedule was asked for.
  std::optional<ScheduleRequest> request() const;

 private:
  ScheduleRequest request_;
  const CLI::App* app_ = nullptr;  // to see which options were given
};

}  // namespace cleave
