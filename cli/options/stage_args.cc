#include "cli/options/stage_args.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/quantity.h"
#include "core/base/words.h"

namespace cleave {
namespace {

std::optional<Sharing> parse_sharing(std::string_view text) {
  if (text == "replicate") return Sharing::replicate;
  if (text == "transmit") return Sharing::transmit;
  return std::nullopt;
}

void add_sharing(StageBoundaryOptions& options, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const auto sharing = parse_sharing(equals == text.npos ? text : text.substr(equals + 1));
  if (!sharing || equals == 0) {
    refuse_option(
        "--shared-params",
        in_quotes(text) + " is neither replicate nor transmit, nor of the form NAME=transmit");
  }
  if (equals == text.npos) {
    options.sharing = *sharing;
  } else {
    options.sharing_of.emplace_back(text.substr(0, equals), *sharing);
  }
}

using StageDevices = std::vector<std::pair<std::size_t, std::string>>;

void add_device(StageDevices& devices, std::size_t stage, std::string device) {
  const auto same =
      std::ranges::find_if(devices, [&](const auto& known) { return known.first == stage; });
  if (same != devices.end()) {
    refuse_option("--device-map", "stage " + std::to_string(stage) + " is given \"" + same->second +
                                      "\" and \"" + device + "\": name one device for each stage");
  }
  devices.emplace_back(stage, std::move(device));
}

StageDevices devices_of(const std::string& text) {
  StageDevices devices;
  for (const std::string_view entry : split_names(text)) {
    const std::size_t equals = std::min(entry.find('='), entry.size() - 1);
    const auto stage = parse_number<std::size_t>(entry.substr(0, equals));
    if (!stage || equals + 1 == entry.size()) {
      refuse_option("--device-map", in_quotes(std::string(entry)) + " is not of the form 0=cuda:0");
    }
    add_device(devices, *stage, std::string(entry.substr(equals + 1)));
  }
  if (text.empty() || text.ends_with(',')) {
    refuse_option("--device-map", "\"\" is not of the form 0=cuda:0");
  }
  return devices;
}

// ---- balanced stages ----

void check_target(const TargetSpec& target, const std::string& text) {
  const char* idle = nullptr;
  if (target.node_us) idle = "node";
  if (target.launch_us) idle = "launch";
  if (target.energy) idle = "energy";
  if (target.max_subgraphs) idle = "max-subgraphs";
  if (target.duplex) idle = "duplex";
  if (idle != nullptr) {
    refuse_option("--target",
                  in_quotes(text) + ": " + idle +
                      " does not count in stages: give flops, bandwidth, memory or link");
  }
}

// Without lists all stages use devices of one kind, whose numbers --target states.
void take_numbers(BalanceRequest& request) {
  for (const TargetSpec& target : std::exchange(request.targets, {})) {
    if (target.target == TargetName::cpu) {
      refuse_option("--target", "cpu: has no effect without a support list: give -s NAME=LIST");
    }
    if (target.flops_per_second) request.costs.device_flops = *target.flops_per_second;
    if (target.bytes_per_second) request.costs.device_bandwidth = *target.bytes_per_second;
    if (target.link) request.link = *target.link;
    if (!target.memory) continue;
    request.memory = BalanceRequest::Memory::bytes;
    request.memory_bytes = *target.memory;
  }
}

void set_memory(BalanceRequest& request, const std::string& text) {
  using Memory = BalanceRequest::Memory;
  std::optional<Memory> memory;
  for (const std::string_view entry : split_names(text)) {
    const auto after = [&](std::string_view key) {
      return entry.starts_with(key) ? entry.substr(key.size()) : std::string_view();
    };
    if (const std::string_view times = after("optimizer="); !times.empty()) {
      const auto factor = parse_quantity(times);
      if (!factor || !factor->unit.empty() || factor->value < 1 || factor->value > 1e6) {
        refuse_option("--memory", in_quotes(std::string(times)) +
                                      " is not a number from 1 to 1,000,000: write optimizer=4");
      }
      request.costs.optimizer_factor = factor->value;
      continue;
    }
    if (memory) refuse_option("--memory", in_quotes(text) + " limits memory twice");
    const std::string_view params = after("params=");
    memory = entry == "none" ? Memory::none : params.empty() ? Memory::bytes : Memory::parameters;
    if (entry == "none") continue;
    const auto bytes = parse_bytes(std::string(params.empty() ? entry : params));
    if (!bytes || *bytes == 0) {
      refuse_option("--memory", in_quotes(std::string(entry)) +
                                    " is not a memory: give bytes (24GiB), none, params=1GiB, or " +
                                    "optimizer=4");
    }
    request.memory_bytes = *bytes;
  }
  if (memory) request.memory = *memory;
}

// "4", or "exactly:4".
void set_stages(StagePlanRequest& request, const std::string& text) {
  constexpr std::string_view kExactly = "exactly:";
  request.balance.options.exact_stages = text.starts_with(kExactly);
  request.stages =
      parse_number<std::uint32_t>(
          std::string_view(text).substr(request.balance.options.exact_stages ? kExactly.size() : 0))
          .value_or(0);
  if (request.stages >= 1 && request.stages <= 1'000'000) return;
  refuse_option("--stages", in_quotes(text) + " is not a number of stages from 1 to 1,000,000: " +
                                "write 4, or exactly:4");
}

void set_target(BalanceRequest& request, const std::string& text) {
  request.target_seconds = parse_duration(text);
  const auto number = parse_quantity(text);
  if (number && number->unit.empty()) request.target_number = number->value;
  const bool is_positive =
      request.target_seconds.value_or(0) > 0 || request.target_number.value_or(0) > 0;
  if (is_positive) return;
  refuse_option("--target-latency",
                in_quotes(text) + " is not a time: give one above 0, such as 5ms");
}

BalanceRequest balance_request(const Given& given) {
  BalanceRequest request;
  request.lists = given.split.lists;
  request.targets = given.split.targets;
  request.link = given.split.link;
  const std::vector<std::string> texts = given.texts("--target");
  for (std::size_t i = 0; i < texts.size(); ++i) check_target(request.targets[i], texts[i]);
  const bool has_lists = !request.lists.accepts_nothing();
  if (!has_lists) take_numbers(request);
  for (const std::string& text : given.texts("--costs")) {
    request.costs_files.push_back(has_lists ? cost_source_of(text, request.lists.targets())
                                            : cost_source_of(text));
    if (has_lists || request.costs_files.back().target == CostTarget::cpu) continue;
    refuse_option("--costs", in_quotes(text) +
                                 " is for an accelerator: all stages use one kind of device, so "
                                 "give the times without a target");
  }
  request.options.comm = given.word<CommModel>("--comm");
  request.options.effort = given.word<Effort>("--effort");
  request.options.seed = given.if_count("--seed").value_or(request.options.seed);
  set_memory(request, given.text("--memory"));
  if (given.has("--target-latency")) set_target(request, given.text("--target-latency"));
  if (const auto seconds = given.limit("time")) request.options.time_limit_seconds = *seconds;
  request.devices_path = given.text("--devices");
  request.costs.keeps_blocks = given.text("--cut-at") == "scopes";
  return request;
}

constexpr std::string_view kNotForSchedule[] = {
    "--support",        "--deny",    "--verdicts", "--combine", "--as",        "--comm",
    "--target-latency", "--devices", "--effort",   "--seed",    "--limit time"};
constexpr std::string_view kForTimes[] = {"--support", "--verdicts", "--target",
                                          "--comm",    "--pcie-bw",  "--costs"};
constexpr std::string_view kOfModels[] = {
    "--split-at",    "--cut-at",  "--map",           "--balance",     "--costs",
    "--support",     "--deny",    "--verdicts",      "--combine",     "--target",
    "--pcie-bw",     "--devices", "--dim",           "--input-shape", "--set-input",
    "--infer",       "--fold",    "--shared-params", "--relay",       "--device-map",
    "--loss-output", "--stage",   "--weights",       "--annotate",    "--schedule"};

// The first given option of balanced stages; "": none.
std::string first_of_balance(const Given& given) {
  for (const GivenOption& one : given.options()) {
    const OptionGroup group = one.option->group;
    if (group != OptionGroup::list && group != OptionGroup::devices) continue;
    return std::string(one.option->name());
  }
  return given.limit("time") ? "--limit time" : "";
}

std::optional<Error> idle_balance_option(const Given& given, const BalanceRequest& request,
                                         StagePolicy policy) {
  if (policy != StagePolicy::time) {
    const std::string idle = given.first_of(kForTimes);
    if (!idle.empty()) return Error{idle + " only has an effect when times are balanced"};
  }
  const bool has_lists = !request.lists.accepts_nothing();
  if (has_lists && request.devices_path.empty()) {
    return Error{"--support has no effect without --devices",
                 std::nullopt,
                 {"give the devices with the column \"target\": name,target,memory"}};
  }
  if (!has_lists && !request.lists.deny.empty()) {
    return Error{"--deny has no effect without a support list: give -s NAME=LIST"};
  }
  if (request.link && request.options.comm == CommModel::none) {
    return Error{"--pcie-bw has no effect with --comm none, where transfers are free"};
  }
  return std::nullopt;
}

// ---- where a pipeline is cut ----

// ONNX names are paths: /encoder/layer.0 is the scope encoder.layer.0, and . the model itself.
std::string scope_of_text(std::string text) {
  if (text == "." || text == "/") return {};
  if (!text.empty() && text.front() == '/') text.erase(0, 1);
  if (!text.empty() && text.back() == '/') text.pop_back();
  std::ranges::replace(text, '/', '.');
  return text;
}

void add_split_at(CutOptions& cuts, const std::string& text) {
  constexpr std::string_view kNode = "node:";
  const std::size_t equals = text.rfind('=');
  const std::string place = equals == text.npos ? "" : text.substr(equals + 1);
  const std::size_t at = place.find('@');
  const std::string side = place.substr(0, at);
  const std::string call = at == place.npos ? "" : place.substr(at);
  const bool is_call = call.empty() || call == "@first" || call == "@last";
  if (equals != 0 && place == "each") {
    if (cuts.between) refuse_option("--split-at", "only one module can be cut with =each");
    cuts.between = scope_of_text(text.substr(0, equals));
    return;
  }
  if (equals == 0 || (side != "begin" && side != "end") || !is_call) {
    refuse_option("--split-at", in_quotes(text) +
                                    " is not of the form layers.3=begin, layers.3=end, "
                                    "layers.3=end@last, layers=each or node:NAME=end");
  }
  const auto where = side == "begin" ? ScopeCut::Side::begin : ScopeCut::Side::end;
  if (text.starts_with(kNode)) {
    if (!call.empty()) refuse_option("--split-at", in_quotes(text) + ": a node has no calls");
    cuts.at_nodes.push_back({text.substr(kNode.size(), equals - kNode.size()), where});
    return;
  }
  cuts.at.push_back({.scope = scope_of_text(text.substr(0, equals)),
                     .side = where,
                     .calls = call.empty()       ? ScopeCut::Calls::every
                              : call == "@first" ? ScopeCut::Calls::first
                                                 : ScopeCut::Calls::last});
}

}  // namespace

StageBoundaryOptions stage_boundary_options(const Given& given) {
  StageBoundaryOptions options;
  for (const std::string& text : given.texts("--shared-params")) add_sharing(options, text);
  options.relay = given.flag("--relay");
  return options;
}

Result<std::vector<std::string>> stage_devices(const Given& given, std::size_t stage_count) {
  if (!given.has("--device-map")) return std::vector<std::string>();
  std::vector<std::string> devices(stage_count);
  for (const auto& [stage, device] : devices_of(given.text("--device-map"))) {
    if (stage >= stage_count) {
      return Error{"--device-map names stage " + std::to_string(stage) + ", but there are " +
                   std::to_string(stage_count) + ", counted from 0"};
    }
    devices[stage] = device;
  }
  return devices;
}

StagePlanRequest stage_plan_request(const Given& given) {
  StagePlanRequest request;
  for (const std::string& text : given.texts("--split-at")) add_split_at(request.cuts, text);
  request.map_path = given.text("--map");
  constexpr std::string_view kOfMap[] = {"default"};
  for (auto& [key, text] : named_texts(given, "--map-option", kOfMap)) {
    request.map.fallback = std::move(text);
  }
  request.policy = given.word<StagePolicy>("--balance");
  request.balance = balance_request(given);
  if (given.has("--stages")) set_stages(request, given.text("--stages"));
  return request;
}

std::optional<Error> idle_stage_option(const Given& given, const StagePlanRequest& asked) {
  const bool has_schedule = given.has("--schedule");
  std::string idle = has_schedule ? given.first_of(kNotForSchedule) : first_of_balance(given);
  const bool is_exact = asked.balance.options.exact_stages;
  const bool is_greedy = asked.policy == StagePolicy::params_greedy;
  if (idle.empty() && is_exact && (has_schedule || is_greedy)) idle = "--stages exactly:N";
  if (!asked.has_policy()) {
    const std::string_view own = given.has("--cut-at") ? "--cut-at" : "--balance";
    if (idle.empty() && !given.has(own)) return std::nullopt;
    return Error{
        .message = (idle.empty() ? std::string(own) : idle) + " only applies to balanced stages",
        .notes = {"give --stages, --devices, --memory params=BYTES or --target-latency"}};
  }
  const bool is_cut = !asked.cuts.at.empty() || !asked.cuts.at_nodes.empty() ||
                      asked.cuts.between || !asked.map_path.empty();
  if (is_cut) return std::nullopt;  // the plan refuses that
  if (is_greedy) {
    if (idle.empty() && !given.has("--cut-at")) return std::nullopt;
    return Error{(idle.empty() ? "--cut-at" : idle) +
                 " cannot be used with --balance params-greedy"};
  }
  return idle_balance_option(given, asked.balance, has_schedule ? StagePolicy::time : asked.policy);
}

std::string first_not_for_workload(const Given& given) {
  const std::string memory = given.text("--memory");
  return memory.find('=') == memory.npos ? given.first_of(kOfModels) : "--memory " + memory;
}

std::optional<ScheduleRequest> schedule_request(const Given& given) {
  if (!given.has("--schedule")) return std::nullopt;
  const std::string text = given.text("--schedule");
  const auto refuse = [&](const std::string& why) {
    refuse_option("--schedule", in_quotes(text) + why +
                                    ": write 1f1b:microbatches=8, perhaps with " +
                                    ",ranks=4 and ,backward=2");
  };
  ScheduleRequest request{.microbatches = 0};
  const std::string_view kind = std::string_view(text).substr(0, text.find(':'));
  constexpr ScheduleKind kKinds[] = {ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                                     ScheduleKind::interleaved, ScheduleKind::zero_bubble};
  const auto* const found = std::ranges::find(kKinds, kind, schedule_name);
  if (found == std::end(kKinds)) {
    refuse(" is none of gpipe, 1f1b, interleaved and zero-bubble");
  }
  request.kind = *found;
  const std::string numbers = text.substr(std::min(kind.size() + 1, text.size()));
  for (const std::string_view entry : split_names(numbers)) {
    const std::size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = entry.substr(0, equals);
    const auto number = parse_quantity(entry.substr(std::min(equals + 1, entry.size())));
    const double value = number && number->unit.empty() ? number->value : 0;
    const bool is_count = value >= 1 && value <= 10'000 && value == std::floor(value);
    if (name == "microbatches" && is_count) {
      request.microbatches = static_cast<std::uint32_t>(value);
    } else if (name == "ranks" && is_count) {
      request.ranks = static_cast<std::uint32_t>(value);
    } else if (name == "backward" && value > 0 && value <= 1000) {
      request.backward_factor = value;
    } else {
      refuse(": " + in_quotes(std::string(entry)) + " is none of its numbers");
    }
  }
  if (request.microbatches == 0) refuse(" does not say how many microbatches there are");
  return request;
}

}  // namespace cleave
