#include "cli/options/stage_args.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

#include "cli/options/options.h"
#include "core/base/quantity.h"
#include "core/base/words.h"

namespace cleave {
namespace {

std::optional<Sharing> parse_sharing(std::string_view text) {
  if (text == "replicate") return Sharing::replicate;
  if (text == "transmit") return Sharing::transmit;
  return std::nullopt;
}

}  // namespace

void StageArgs::add_to(CLI::App& app) {
  app.add_option_function<std::vector<std::string>>(
         "--shared-params",
         [this](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_sharing(text);
         },
         "parameters that several stages use: replicate (default; each holds a copy) or transmit "
         "(the first holds it and passes it on); NAME=... for one of them; repeatable")
      ->type_name("[NAME=]replicate|transmit")
      ->allow_extra_args(false);
  app.add_flag("--relay", boundary_.relay,
               "pass values that skip stages through the stages in between");
  app.add_option_function<std::string>(
         "--device-map", [this](const std::string& text) { add_devices(text); },
         "devices of stages: 0=cuda:0,1=cuda:1")
      ->type_name("STAGE=DEVICE,...");
  app.add_option_function<std::string>(
         "--loss-output", [this](const std::string& text) { loss_ = text; },
         "add the backward pass of this output: its name, or JSON of what the model returns with "
         "true at the loss (default: the output \"loss\")")
      ->type_name("SPEC")
      ->expected(0, 1);
  app.add_option_function<std::size_t>(
         "--stage", [this](const std::size_t& stage) { only_ = stage; },
         "print this stage alone, counted from 0; with --json as a model")
      ->check(whole_number())
      ->type_name("I");
}

void StageArgs::add_sharing(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const auto sharing = parse_sharing(equals == text.npos ? text : text.substr(equals + 1));
  if (!sharing || equals == 0) {
    throw CLI::ValidationError("--shared-params", "\"" + text +
                                                      "\" is neither replicate nor transmit, nor "
                                                      "of the form NAME=transmit");
  }
  if (equals == text.npos) {
    boundary_.sharing = *sharing;
  } else {
    boundary_.sharing_of.emplace_back(text.substr(0, equals), *sharing);
  }
}

void StageArgs::add_device(std::size_t stage, std::string device) {
  const auto same = std::find_if(devices_.begin(), devices_.end(),
                                 [&](const auto& known) { return known.first == stage; });
  if (same != devices_.end()) {
    throw CLI::ValidationError("--device-map", "stage " + std::to_string(stage) + " is given \"" +
                                                   same->second + "\" and \"" + device +
                                                   "\": name one device for each stage");
  }
  devices_.emplace_back(stage, std::move(device));
}

void StageArgs::add_devices(const std::string& text) {
  std::string_view rest = text;
  while (true) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    std::size_t stage = 0;
    const char* const end = entry.data() + entry.size();
    const auto [at, error] = std::from_chars(entry.data(), end, stage);
    if (error != std::errc() || at + 1 >= end || *at != '=') {
      throw CLI::ValidationError("--device-map",
                                 "\"" + std::string(entry) + "\" is not of the form 0=cuda:0");
    }
    add_device(stage, std::string(at + 1, end));
    if (entry.size() == rest.size()) return;
    rest.remove_prefix(entry.size() + 1);
  }
}

Result<std::vector<std::string>> StageArgs::devices(std::size_t stage_count) const {
  std::vector<std::string> devices(devices_.empty() ? 0 : stage_count);
  for (const auto& [stage, device] : devices_) {
    if (stage >= stage_count) {
      return Error{"--device-map names stage " + std::to_string(stage) + ", but there are " +
                   std::to_string(stage_count) + ", counted from 0"};
    }
    devices[stage] = device;
  }
  return devices;
}

namespace {

constexpr const char* kGroup = "Balanced stages";

double flops_rate_of(const std::string& text) {
  const auto rate = parse_flops_rate(text);
  if (!rate) {
    refuse_option(
        "--device-flops",
        in_quotes(text) + (is_bare_number(text)
                               ? " has no unit: write " + text + "TFLOP/s or " + text + "GFLOP/s"
                               : " is not a rate: give FLOPs per second, such as 10TFLOP/s"));
  }
  return *rate;
}

Link bandwidth_of(const std::string& option, const std::string& text) {
  auto link = parse_link(text);
  if (!link) refuse_option(option, in_quotes(text) + bandwidth_refusal(text));
  return *std::move(link);
}

}  // namespace

void BalanceArgs::add_to(CLI::App& app) {
  app_ = &app;
  add_list_options(app, request.lists, Lists::optional, Targets::several);
  for (const char* const option : {"--support", "--deny", "--verdicts", "--all-of"}) {
    app.get_option(option)->group(kGroup);
  }
  add_choice(app, "--comm", request.options.comm,
             {{"serial", CommModel::serial},
              {"overlap", CommModel::overlap},
              {"duplex", CommModel::duplex},
              {"none", CommModel::none}},
             "what transfers add to a stage's time: serial (compute + in + out), overlap (the "
             "longer of compute and in + out), duplex (the longest of the three), none")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--memory", [this](const std::string& text) { set_memory(text); },
         "memory of a device, such as 24GiB (a bare number is bytes): parameters and the peak of "
         "live activations; or none")
      ->type_name("BYTES")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--max-parameters", [this](const std::string& text) { set_most_parameters(text); },
         "no stage has more bytes of parameters than this, such as 1GiB: with --stages as many "
         "stages as asked for, else the fewest")
      ->type_name("BYTES")
      ->group(kGroup)
      ->excludes("--memory");
  app.add_option("--optimizer-factor", request.costs.optimizer_factor,
                 "bytes held for each byte of a parameter: 1 for inference, 4 for Adam")
      ->capture_default_str()
      ->check(finite_number(1, 1e6))
      ->type_name("TIMES")
      ->group(kGroup);
  app.add_flag("--exact-stages", request.options.exact_stages,
               "use exactly this many stages, even if fewer are as good")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--target-latency", [this](const std::string& text) { set_target(text); },
         "use the fewest stages that each take at most this time, such as 5ms; when balancing "
         "something other than time, that each hold at most this number")
      ->type_name("TIME")
      ->group(kGroup);
  set_file_role(
      app.add_option_function<std::vector<std::string>>(
             "--costs",
             [this](const std::vector<std::string>& texts) {
               for (const std::string& text : texts) add_costs(text);
             },
             "measured times of nodes: a profile of ONNX Runtime, OpenVINO or TensorRT, or CSV "
             "node,time_us; with NAME=, of a target; repeatable")
          ->type_name("[NAME=]FILE")
          ->allow_extra_args(false)
          ->group(kGroup),
      FileRole::input);
  app.add_option_function<std::string>(
         "--device-flops",
         [this](const std::string& text) { request.costs.device_flops = flops_rate_of(text); },
         "speed of a device, for nodes that were not measured (default 10TFLOP/s)")
      ->type_name("RATE")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--device-bandwidth",
         [this](const std::string& text) {
           request.device_bandwidth = bandwidth_of("--device-bandwidth", text);
         },
         "memory bandwidth of a device, for nodes that were not measured (default 100GB/s)")
      ->type_name("RATE")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--link,--pcie-bw",
         [this](const std::string& text) { request.link = bandwidth_of("--link", text); },
         "link bandwidth between devices without a link of their own: 100GiB/s (default), 16GB/s, "
         "or a link's name such as gen4x16")
      ->type_name("BANDWIDTH")
      ->group(kGroup);
  add_input_option(app, "--devices", request.devices_path,
                   "the devices in the order of stages: CSV name,target,memory,speed,link")
      ->group(kGroup);
  app.add_option_function<std::vector<std::string>>(
         "--target",
         [this](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_target(text);
         },
         "rates of the devices of a target, and the memory and link of those that have none of "
         "their own, such as npu:flops=4TFLOP/s,bandwidth=50GB/s; cpu is the host; repeatable")
      ->type_name("NAME:NUMBERS")
      ->allow_extra_args(false)
      ->group(kGroup);
  add_choice(app, "--effort", request.options.effort,
             {{"low", Effort::low}, {"normal", Effort::normal}, {"high", Effort::high}},
             "how long to search, counted in moves")
      ->group(kGroup);
  app.add_option("--seed", request.options.seed, "seed of the search's random numbers")
      ->check(whole_number())
      ->capture_default_str()
      ->type_name("N")
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--time-limit", [this](const std::string& text) { set_time_limit(text); },
         "stop searching after this many seconds; the result may then differ from run to run")
      ->type_name("SECONDS")
      ->group(kGroup);
}

std::string BalanceArgs::first_given() const {
  for (const CLI::Option* const option : std::as_const(*app_).get_options()) {
    if (option->get_group() == kGroup && option->count() > 0) return option->get_name();
  }
  return {};
}

std::string BalanceArgs::first_not_for_schedule() const {
  for (const char* const option :
       {"--support", "--deny", "--verdicts", "--all-of", "--target", "--comm", "--exact-stages",
        "--target-latency", "--devices", "--effort", "--seed", "--time-limit"}) {
    if (app_->count(option) > 0) return option;
  }
  return {};
}

std::optional<Error> BalanceArgs::idle_option(StagePolicy policy) const {
  if (policy != StagePolicy::time) {
    for (const char* const option : {"--support", "--verdicts", "--target", "--comm", "--link",
                                     "--costs", "--device-flops", "--device-bandwidth"}) {
      if (app_->count(option) == 0) continue;
      return Error{std::string(option) + " only has an effect when times are balanced"};
    }
  }
  const bool has_lists = !request.lists.accepts_nothing();
  if (has_lists && request.devices_path.empty()) {
    return Error{"--support has no effect without --devices",
                 std::nullopt,
                 {"give the devices with the column \"target\": name,target,memory"}};
  }
  if (!has_lists && (!request.targets.empty() || !request.lists.deny.empty())) {
    return Error{std::string(request.targets.empty() ? "--deny" : "--target") +
                 " has no effect without a support list: give -s NAME=LIST"};
  }
  if (request.link && request.options.comm == CommModel::none) {
    return Error{"--link has no effect with --comm none, where transfers are free"};
  }
  return std::nullopt;
}

void BalanceArgs::add_costs(const std::string& text) {
  const bool has_lists = !request.lists.accepts_nothing();
  request.costs_files.push_back(has_lists ? cost_source_of(text, request.lists.targets())
                                          : cost_source_of(text));
  if (has_lists || request.costs_files.back().target == CostTarget::cpu) return;
  refuse_option("--costs", in_quotes(text) +
                               " is for an accelerator: all stages use one kind of device, so give "
                               "the times without a target");
}

void BalanceArgs::add_target(const std::string& text) {
  const auto target = parse_target(text);
  if (!target) refuse_option("--target", target.error().message);
  const char* idle = nullptr;
  if (target->node_us) idle = "node";
  if (target->launch_us) idle = "launch";
  if (target->energy) idle = "energy";
  if (target->max_subgraphs) idle = "max-subgraphs";
  if (target->duplex) idle = "duplex";
  if (idle != nullptr) {
    refuse_option("--target",
                  in_quotes(text) + ": " + idle +
                      " does not count in stages: give flops, bandwidth, memory or link");
  }
  request.targets.push_back(*target);
}

void BalanceArgs::set_memory(const std::string& text) {
  if (text == "none") {
    request.memory = BalanceRequest::Memory::none;
    return;
  }
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0) {
    refuse_option("--memory", in_quotes(text) + " is not a memory: give bytes (24GiB), or none");
  }
  request.memory = BalanceRequest::Memory::bytes;
  request.memory_bytes = *bytes;
}

void BalanceArgs::set_most_parameters(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0) {
    refuse_option("--max-parameters", in_quotes(text) + " is not a size: give bytes, such as 1GiB");
  }
  request.memory = BalanceRequest::Memory::parameters;
  request.memory_bytes = *bytes;
}

void BalanceArgs::set_target(const std::string& text) {
  request.target_seconds = parse_duration(text);
  const auto number = parse_quantity(text);
  if (number && number->unit.empty()) request.target_number = number->value;
  const bool is_positive =
      request.target_seconds.value_or(0) > 0 || request.target_number.value_or(0) > 0;
  if (is_positive) return;
  refuse_option("--target-latency",
                in_quotes(text) + " is not a time: give one above 0, such as 5ms");
}

void BalanceArgs::set_time_limit(const std::string& text) {
  auto seconds = parse_duration(text);
  const auto number = parse_quantity(text);
  if (!seconds && number && number->unit.empty()) seconds = number->value;
  if (!seconds) refuse_option("--time-limit", in_quotes(text) + " is not a time: give seconds");
  request.options.time_limit_seconds = *seconds;
}

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
        .notes = {"give --stages, --devices, --max-parameters or --target-latency"}};
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
                                 "--max-parameters",   "--support",       "--deny",
                                 "--verdicts",         "--all-of",        "--target",
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

void ScheduleArgs::add_to(CLI::App& app) {
  app_ = &app;
  add_choice(app, "--schedule", request_.kind,
             {{"gpipe", ScheduleKind::gpipe},
              {"1f1b", ScheduleKind::one_f_one_b},
              {"interleaved", ScheduleKind::interleaved},
              {"zero-bubble", ScheduleKind::zero_bubble}},
             "in which order ranks train microbatches: bubble, throughput and memory of this and "
             "the other schedules; -o writes schedule.csv, which torch's pipeline runtime loads, "
             "and schedule.html");
  auto* const schedule = app.get_option("--schedule");
  app.add_option("--microbatches", request_.microbatches, "into how many parts a batch is divided")
      ->check(whole_number())
      ->check(CLI::Range(1U, 10'000U).description(""))
      ->type_name("M")
      ->needs(schedule);
  app.add_option("--ranks", request_.ranks,
                 "processes that the stages are dealt to in turn (default: one for each stage; "
                 "interleaved: one for two)")
      ->check(whole_number())
      ->check(CLI::Range(1U, 10'000U).description(""))
      ->type_name("R")
      ->needs(schedule);
  app.add_option("--backward-factor", request_.backward_factor,
                 "a backward pass takes this many times as long as a forward pass")
      ->check(finite_number(0, 1000))
      ->type_name("X")
      ->capture_default_str()
      ->needs(schedule);
  schedule->needs("--microbatches");
}

std::optional<ScheduleRequest> ScheduleArgs::request() const {
  if (app_->count("--schedule") == 0) return std::nullopt;
  return request_;
}

}  // namespace cleave
