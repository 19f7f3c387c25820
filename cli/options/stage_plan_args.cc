#include "cli/jobs/stage_plan.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/jobs/balance_run.h"
#include "cli/options/choice.h"
#include "cli/terminal/terminal.h"
#include "core/stages/auto_shard.h"
#include "formats/text/number_text.h"

namespace cleave {
namespace {

// ONNX names are paths: /encoder/layer.0 is the scope encoder.layer.0, and . the model itself.
std::string scope_of_text(std::string text) {
  if (text == "." || text == "/") return {};
  if (!text.empty() && text.front() == '/') text.erase(0, 1);
  if (!text.empty() && text.back() == '/') text.pop_back();
  std::replace(text.begin(), text.end(), '/', '.');
  return text;
}

std::optional<StagePlan> plan_by_cuts(const Graph& graph, const CutOptions& cuts, ExitCode& code) {
  code = ExitCode::usage;
  if (cuts.at.empty() && !cuts.between && !has_stage_markers(graph)) {
    print_error("nothing says where a stage ends: the model has no pippy._pipe_split markers",
                {"give --split-at, --split-between or --stages"});
    return std::nullopt;
  }
  auto numbers = cut_stages(graph, cuts);
  if (!numbers) {
    print_error(numbers.error().message, numbers.error().notes);
    if (numbers.error().node) code = ExitCode::bad_input;
    return std::nullopt;
  }
  return StagePlan{.stage_of = std::move(numbers->stage_of), .notes = std::move(numbers->notes)};
}

StagePlan plan_by_parameters(const Graph& graph, std::uint32_t stages) {
  AutoShards shards = shard_by_parameters(graph, stages);
  StagePlan plan{.stage_of = std::move(shards.stage_of)};
  plan.notes.push_back("a stage ends once it holds more than " + count_text(shards.share) +
                       " parameters; the fullest holds " + count_text(shards.largest));
  if (shards.count < stages) {
    plan.notes.push_back(counted(shards.count, "stage", "stages") + " instead of " +
                         std::to_string(stages) +
                         ": nodes that reach back join what lies between, and a large node fills "
                         "the share of several stages");
  }
  return plan;
}

BalanceBy balance_by(StagePolicy policy) {
  switch (policy) {
    case StagePolicy::time:
      return BalanceBy::time;
    case StagePolicy::flops:
      return BalanceBy::flops;
    case StagePolicy::params:
      return BalanceBy::params;
    case StagePolicy::bytes:
      return BalanceBy::bytes;
    case StagePolicy::nodes:
    case StagePolicy::params_greedy:
      break;
  }
  return BalanceBy::nodes;
}

// Markers are in no stage: one that holds nothing else is left out.
void leave_out_markers(const Graph& graph, StagePlan& plan) {
  std::vector<std::uint8_t> has_nodes(plan.balance->loads.size(), 0);
  for (const NodeId node : graph.nodes()) {
    if (!is_stage_marker(graph, node)) has_nodes[plan.stage_of[node]] = 1;
  }
  for (std::size_t stage = has_nodes.size(); stage-- > 0;) {
    if (has_nodes[stage] != 0) continue;
    const auto at = static_cast<std::ptrdiff_t>(stage);
    plan.balance->loads.erase(plan.balance->loads.begin() + at);
    if (!plan.devices.empty()) plan.devices.erase(plan.devices.begin() + at);
  }
}

std::optional<StagePlan> plan_by_balance(const Graph& graph, BalanceBy by, std::uint32_t stages,
                                         const BalanceArgs& args, ExitCode& code) {
  auto run = balance_graph(graph, by, stages, args, code);
  if (!run) return std::nullopt;
  StagePlan plan{.stage_of = PerNode<std::uint32_t>(graph.node_count()),
                 .balance = std::move(run->balance),
                 .devices = device_names(run->problem, run->result),
                 .notes = std::move(run->notes)};
  for (const NodeId node : graph.nodes()) plan.stage_of[node] = run->result.stage_of[index(node)];
  leave_out_markers(graph, plan);
  return plan;
}

}  // namespace

void StagePlanArgs::add_to(CLI::App& app) {
  app_ = &app;
  auto* const split_at =
      app.add_option_function<std::vector<std::string>>(
             "--split-at",
             [this](const std::vector<std::string>& texts) {
               for (const std::string& text : texts) add_split_at(text);
             },
             "end a stage before or after a module: --split-at layers.3=begin; repeatable")
          ->type_name("SCOPE=begin|end")
          ->allow_extra_args(false);
  auto* const split_between =
      app.add_option_function<std::string>(
             "--split-between",
             [this](const std::string& text) { cuts_.between = scope_of_text(text); },
             "make each module directly inside this one a stage; . is the model")
          ->type_name("SCOPE");
  app.add_option("--stages", stages_, "cut into at most so many stages")
      ->check(CLI::Range(1U, 1'000'000U).description(""))
      ->type_name("N")
      ->excludes(split_at)
      ->excludes(split_between);
  add_choice(app, "--balance", policy_,
             {{"time", StagePolicy::time},
              {"flops", StagePolicy::flops},
              {"params", StagePolicy::params},
              {"bytes", StagePolicy::bytes},
              {"nodes", StagePolicy::nodes},
              {"params-greedy", StagePolicy::params_greedy}},
             "what the fullest of the stages should have least of: time, flops, params, bytes, "
             "nodes; or params-greedy, as FairScale cuts");
  balance_.add_to(app);
}

void StagePlanArgs::add_split_at(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string side = equals == text.npos ? "" : text.substr(equals + 1);
  if (equals == 0 || (side != "begin" && side != "end")) {
    throw CLI::ValidationError(
        "--split-at", "\"" + text + "\" is not of the form layers.3=begin or layers.3=end");
  }
  cuts_.at.push_back({.scope = scope_of_text(text.substr(0, equals)),
                      .side = side == "begin" ? ScopeCut::Side::begin : ScopeCut::Side::end});
}

bool StagePlanArgs::has_policy() const {
  const bool has_target = balance_.target_seconds || balance_.target_number;
  return stages_ > 0 || has_target || !balance_.devices_path.empty();
}

std::optional<StagePlan> StagePlanArgs::make(const LoadedModel& model, ExitCode& code) const {
  const std::string given = balance_.first_given();
  const auto refuse = [&](const std::string& message, const std::vector<std::string>& notes = {}) {
    print_error(message, notes);
    code = ExitCode::usage;
    return std::nullopt;
  };
  if (!has_policy()) {
    if (!given.empty() || app_->count("--balance") > 0) {
      return refuse((given.empty() ? "--balance" : given) + " is for balanced stages",
                    {"give --stages, --devices or --target-latency"});
    }
    return plan_by_cuts(model.graph, cuts_, code);
  }
  if (!cuts_.at.empty() || cuts_.between) {
    return refuse("stages are either cut at modules or balanced, not both");
  }
  if (policy_ != StagePolicy::params_greedy) return make_by_policy(model.graph, code);
  if (!given.empty()) return refuse(given + " means nothing to --balance params-greedy");
  return plan_by_parameters(model.graph, stages_);
}

std::optional<StagePlan> StagePlanArgs::make_by_policy(const Graph& graph, ExitCode& code) const {
  constexpr std::uint32_t kMostForTarget = 64;
  const bool has_number = stages_ > 0 || !balance_.devices_path.empty();
  return plan_by_balance(graph, balance_by(policy_), has_number ? stages_ : kMostForTarget,
                         balance_, code);
}

std::string StagePlanArgs::first_not_for_workload() const {
  for (const char* const name :
       {"--split-at", "--split-between", "--balance", "--costs", "--device-flops",
        "--device-bandwidth", "--link", "--devices", "--optimizer-factor", "--dim", "--input-shape",
        "--infer", "--shared-params", "--relay", "--device-map", "--loss-output", "--stage",
        "--weights", "--annotate"}) {
    if (app_->count(name) > 0) return name;
  }
  return {};
}

}  // namespace cleave
