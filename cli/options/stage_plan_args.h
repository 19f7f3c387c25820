// Where a pipeline is cut: by markers and scopes, or by a policy that is given a number of stages.
// A policy yields the stage of each node, and what it knows of how well they are balanced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/balance_args.h"
#include "cli/terminal/exit_code.h"
#include "core/stages/stages.h"
#include "formats/model_file.h"
#include "formats/report/stages/stages_report.h"

namespace CLI {
class App;
}

namespace cleave {

struct StagePlan {
  PerNode<std::uint32_t> stage_of;
  std::optional<StageBalance> balance = {};  // loads by stage, those without nodes left out
  std::vector<std::string> devices = {};     // by stage; empty: they have no names
  std::vector<std::string> notes = {};
};

// How a number of stages is made.
enum class StagePolicy : std::uint8_t { time, flops, params, bytes, nodes, params_greedy };

// --split-at, --split-between, --stages, --balance, and the options of balanced stages
class StagePlanArgs {
 public:
  void add_to(CLI::App& app);

  // The plan; else nothing after printing why, and `code` tells what to exit with.
  std::optional<StagePlan> make(const LoadedModel& model, ExitCode& code) const;

  std::uint32_t stages() const { return stages_; }
  const BalanceArgs& balance() const { return balance_; }
  // The first option of the command that means nothing for a workload, which has no scopes, no
  // model to write and its own costs; empty when there is none.
  std::string first_not_for_workload() const;

 private:
  void add_split_at(const std::string& text);

  bool has_policy() const;
  std::optional<StagePlan> make_by_policy(const Graph& graph, ExitCode& code) const;

  CutOptions cuts_;
  std::uint32_t stages_ = 0;  // 0: not given
  StagePolicy policy_ = StagePolicy::time;
  BalanceArgs balance_;
  const CLI::App* app_ = nullptr;  // to tell what was given
};

}  // namespace cleave
