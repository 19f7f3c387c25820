// The options of balanced stages: the cost of a stage, the devices, and the effort of the search.
#pragma once

#include <optional>
#include <string>

#include "core/base/result.h"
#include "formats/run/jobs/stage_plan.h"

namespace CLI {
class App;
}

namespace cleave {

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
  void set_memory(const std::string& text);
  void set_target(const std::string& text);
  void set_time_limit(const std::string& text);
};

}  // namespace cleave
