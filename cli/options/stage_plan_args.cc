#include "cli/options/stage_plan_args.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/options/choice.h"
#include "cli/options/file_option.h"
#include "cli/options/refuse_option.h"
#include "cli/options/whole_number.h"
#include "core/base/quotes.h"

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

}  // namespace

void StagePlanArgs::add_to(CLI::App& app) {
  app_ = &app;
  auto* const split_at =
      app.add_option_function<std::vector<std::string>>(
             "--split-at",
             [this](const std::vector<std::string>& texts) {
               for (const std::string& text : texts) add_split_at(text);
             },
             "end a stage before or after each call of a module, --split-at layers.3=begin, of one "
             "call, layers.3=end@last, or a node, node:/Add_7=end; repeatable")
          ->type_name("SCOPE=begin|end[@first|@last]")
          ->allow_extra_args(false);
  auto* const split_between =
      app.add_option_function<std::string>(
             "--split-between",
             [this](const std::string& text) { request_.cuts.between = scope_of_text(text); },
             "make each module directly inside this one a stage; . is the model")
          ->type_name("SCOPE");
  auto* const map =
      add_input_option(app, "--map", request_.map_path, "the stage of each node: JSON, CSV or TSV");
  app.add_option_function<std::string>(
         "--default", [this](const std::string& text) { request_.map.fallback = text; },
         "the stage of nodes that the map does not name")
      ->type_name("STAGE")
      ->needs(map);
  app.add_option("--stages", request_.stages, "cut into at most this many stages")
      ->check(whole_number())
      ->check(CLI::Range(1U, 1'000'000U).description(""))
      ->type_name("N")
      ->excludes(split_at)
      ->excludes(split_between);
  add_choice(app, "--balance", request_.policy,
             {{"time", StagePolicy::time},
              {"flops", StagePolicy::flops},
              {"params", StagePolicy::params},
              {"bytes", StagePolicy::bytes},
              {"nodes", StagePolicy::nodes},
              {"params-greedy", StagePolicy::params_greedy}},
             "what to balance over the stages: time, flops, params, bytes, nodes; or "
             "params-greedy, as FairScale cuts");
  balance_.add_to(app);
}

void StagePlanArgs::add_split_at(const std::string& text) {
  constexpr std::string_view kNode = "node:";
  const std::size_t equals = text.rfind('=');
  const std::string place = equals == text.npos ? "" : text.substr(equals + 1);
  const std::size_t at = place.find('@');
  const std::string side = place.substr(0, at);
  const std::string call = at == place.npos ? "" : place.substr(at);
  const bool is_call = call.empty() || call == "@first" || call == "@last";
  if (equals == 0 || (side != "begin" && side != "end") || !is_call) {
    refuse_option("--split-at", in_quotes(text) +
                                    " is not of the form layers.3=begin, layers.3=end, "
                                    "layers.3=end@last or node:NAME=end");
  }
  const auto where = side == "begin" ? ScopeCut::Side::begin : ScopeCut::Side::end;
  if (text.starts_with(kNode)) {
    if (!call.empty()) refuse_option("--split-at", in_quotes(text) + ": a node has no calls");
    request_.cuts.at_nodes.push_back({text.substr(kNode.size(), equals - kNode.size()), where});
    return;
  }
  request_.cuts.at.push_back({.scope = scope_of_text(text.substr(0, equals)),
                              .side = where,
                              .calls = call.empty()       ? ScopeCut::Calls::every
                                       : call == "@first" ? ScopeCut::Calls::first
                                                          : ScopeCut::Calls::last});
}

StagePlanRequest StagePlanArgs::request() const {
  StagePlanRequest request = request_;
  request.balance = balance_.request;
  return request;
}

std::optional<Error> StagePlanArgs::idle_option() const {
  const StagePlanRequest asked = request();
  const std::string given = balance_.first_given();
  const bool has_schedule = app_->count("--schedule") > 0;
  if (!asked.has_policy()) {
    const std::string idle = has_schedule ? balance_.first_not_for_schedule() : given;
    if (idle.empty() && app_->count("--balance") == 0) return std::nullopt;
    return Error{
        .message = (idle.empty() ? "--balance" : idle) + " only applies to balanced stages",
        .notes = {"give --stages, --devices or --target-latency"}};
  }
  const bool is_cut = !asked.cuts.at.empty() || !asked.cuts.at_nodes.empty() ||
                      asked.cuts.between || !asked.map_path.empty();
  if (is_cut) return std::nullopt;  // the plan refuses that
  if (asked.policy == StagePolicy::params_greedy) {
    const std::string idle = has_schedule ? balance_.first_not_for_schedule() : given;
    if (idle.empty()) return std::nullopt;
    return Error{idle + " cannot be used with --balance params-greedy"};
  }
  return balance_.idle_option(has_schedule ? StagePolicy::time : asked.policy);
}

std::string StagePlanArgs::first_not_for_workload() const {
  for (const char* const name : {"--split-at",         "--split-between", "--map",
                                 "--balance",          "--costs",         "--device-flops",
                                 "--device-bandwidth", "--link",          "--devices",
                                 "--optimizer-factor", "--dim",           "--input-shape",
                                 "--set-input",        "--infer",         "--fold",
                                 "--shared-params",    "--relay",         "--device-map",
                                 "--loss-output",      "--stage",         "--weights",
                                 "--annotate",         "--schedule"}) {
    if (app_->count(name) > 0) return name;
  }
  return {};
}

}  // namespace cleave
