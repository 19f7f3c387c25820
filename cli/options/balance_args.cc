#include "cli/options/balance_args.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "cli/options/choice.h"
#include "cli/options/file_option.h"
#include "cli/options/refuse_option.h"
#include "cli/options/whole_number.h"
#include "core/base/quantity.h"
#include "core/base/quotes.h"

namespace cleave {
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
             "node,time_us; repeatable")
          ->type_name("FILE")
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
                   "the devices in the order of stages: CSV name,memory,speed,link")
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
  for (const char* const option : {"--comm", "--exact-stages", "--target-latency", "--devices",
                                   "--effort", "--seed", "--time-limit"}) {
    if (app_->count(option) > 0) return option;
  }
  return {};
}

std::optional<Error> BalanceArgs::idle_option(StagePolicy policy) const {
  if (policy != StagePolicy::time) {
    for (const char* const option :
         {"--comm", "--link", "--costs", "--device-flops", "--device-bandwidth"}) {
      if (app_->count(option) == 0) continue;
      return Error{std::string(option) + " only has an effect when times are balanced"};
    }
  }
  if (request.link && request.options.comm == CommModel::none) {
    return Error{"--link has no effect with --comm none, where transfers are free"};
  }
  return std::nullopt;
}

void BalanceArgs::add_costs(const std::string& text) {
  request.costs_files.push_back(cost_source_of(text));
  if (request.costs_files.back().target == CostTarget::cpu) return;
  refuse_option("--costs", in_quotes(text) +
                               " is for an accelerator: all stages use one kind of device, so give "
                               "the times without a target");
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

}  // namespace cleave
