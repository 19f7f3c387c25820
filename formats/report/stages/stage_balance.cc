#include "formats/report/stages/stage_balance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/base/capped_list.h"
#include "core/base/decimal.h"
#include "core/base/number_text.h"
#include "core/stages/stages.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/words/cost_words.h"

namespace cleave {

StageBalance stage_balance_of(const BalanceProblem& problem, const BalanceResult& result,
                              BalanceBy by) {
  StageBalance balance{.unit = by == BalanceBy::time ? problem.unit : "count",
                       .by = by,
                       .objective = result.objective,
                       .bound = result.bound,
                       .gap = result.gap,
                       .certificate = result.certificate,
                       .curve = result.curve,
                       .enough_stages = result.enough_stages,
                       .loads = {},
                       .assumptions = {},
                       .measured_share = {},
                       .caveats = {}};
  for (const BalanceStage& stage : result.stages) {
    balance.loads.push_back({.compute = stage.compute,
                             .in = stage.in,
                             .out = stage.out,
                             .load = stage.load,
                             .memory_bytes = stage.parameter_bytes + stage.activation_bytes});
  }
  return balance;
}

std::vector<std::string> device_names(const BalanceProblem& problem, const BalanceResult& result) {
  std::vector<std::string> names;
  if (problem.devices.size() < 2) return names;
  for (const BalanceStage& stage : result.stages) {
    names.push_back(problem.devices[stage.device].name);
  }
  return names;
}

void write_balance(JsonText& json, const std::optional<StageBalance>& balance) {
  if (!balance) {
    for (const char* key : {"objective", "bound", "gap", "certificate", "unit"}) {
      json.key(key);
      json.null();
    }
    json.begin_list("curve");
    return json.end_list();
  }
  json.number("objective", balance->objective);
  json.number("bound", balance->bound > 0 ? std::optional(balance->bound) : std::nullopt);
  json.number("gap", balance->gap);
  json.text("certificate", balance->certificate);
  json.text("unit", balance->unit);
  json.begin_list("curve");
  for (const CurvePoint& point : balance->curve) {
    json.begin_object(JsonText::Layout::one_line);
    json.number("stages", point.stages);
    json.number("objective", point.objective);
    json.end_object();
  }
  json.end_list();
}

void write_load(JsonText& json, const StageLoad& load) {
  json.number("compute", load.compute);
  json.number("in", load.in);
  json.number("out", load.out);
  json.number("load", load.load);
  json.number("memory_bytes", load.memory_bytes);
}

namespace {

constexpr std::size_t kMostDevices = 8;  // listed individually

bool all_have(const std::vector<DeviceSpec>& devices, bool (*has)(const DeviceSpec&)) {
  return !devices.empty() && std::all_of(devices.begin(), devices.end(), has);
}
bool has_link(const DeviceSpec& device) { return device.link.has_value(); }
bool has_memory(const DeviceSpec& device) { return device.memory.has_value(); }

// How the times of nodes are known. `rates`: for those that were not measured.
std::string times_known(const Graph& graph, std::size_t measured, bool is_scaled,
                        const std::string& rates) {
  const std::string roofline = "the longer of FLOPs at " + rates;
  if (measured == 0) return "estimated: " + roofline;
  if (measured == graph.node_count()) return "measured";
  return "measured for " + count_text(measured) + " of " + counted(graph.node_count(), "node") +
         ", for the others " + roofline + (is_scaled ? ", scaled to what was measured" : "");
}

std::string times_line(const BalanceFacts& facts) {
  return "times      " + times_known(facts.graph, facts.made.measured, facts.made.scaled > 0,
                                     flops_text(facts.costs.device_flops) + "/s and bytes at " +
                                         link_text(facts.device_bandwidth));
}

std::string times_line(const BalanceFacts& facts, const TargetOfStages& target) {
  return "times      " + target.name + " takes " + count_text(target.takes) + " of " +
         counted(facts.graph.node_count(), "node") + ", " +
         times_known(facts.graph, target.measured, target.is_scaled,
                     flops_text(target.flops_per_second) + "/s and bytes at " +
                         rounded_text(target.bytes_per_second / 1e9, 3) + " GB/s");
}

std::string transfers_line(const BalanceFacts& facts) {
  if (facts.comm == CommModel::none) return "transfers  " + comm_text(facts.comm);
  std::string link = link_text(facts.link);
  const auto& devices = facts.devices;
  if (all_have(devices, has_link)) {
    link = "by each device's link";
  } else if (std::any_of(devices.begin(), devices.end(), has_link)) {
    link = "by each device's link, else " + link;
  }
  return "transfers  " + link + ", each tensor once a stage; " + comm_text(facts.comm);
}

// The memory of devices that do not state their own; "" if there is no limit.
std::string common_memory(const BalanceFacts& facts) {
  return facts.memory ? bytes_text(*facts.memory) : "";
}

// Empty when no memory is limited.
std::string memory_line(const BalanceFacts& facts) {
  std::string memory = common_memory(facts);
  const auto& devices = facts.devices;
  if (all_have(devices, has_memory)) {
    memory = "of each device";
  } else if (std::any_of(devices.begin(), devices.end(), has_memory)) {
    memory = "of each device" + (memory.empty() ? "" : ", else " + memory);
  } else if (!memory.empty()) {
    memory += " a device";
  }
  if (memory.empty()) return {};
  std::string line = "memory     " + memory + ", for parameters";
  if (facts.costs.optimizer_factor != 1) {
    line += " (times " + rate_text(facts.costs.optimizer_factor) + ")";
  }
  return line + " and the peak of live activations";
}

std::string device_text(const BalanceFacts& facts, const DeviceSpec& device) {
  const std::string memory = device.memory ? bytes_text(*device.memory) : common_memory(facts);
  std::string text = escaped(device.name);
  if (device.target && *device.target != device.name) text += " (" + escaped(*device.target) + ")";
  if (device.target == "cpu") return text + ": the host";
  text +=
      ": " + (memory.empty() ? "no memory limit" : memory) + ", speed " + rate_text(device.speed);
  if (facts.costs.by != BalanceBy::time || facts.comm == CommModel::none) return text;
  return text + ", " + link_text(device.link.value_or(facts.link));
}

std::string devices_line(const BalanceFacts& facts) {
  if (facts.devices.empty()) return {};
  const auto text = [&](const DeviceSpec& device) { return device_text(facts, device); };
  return "devices    " + capped_list(facts.devices, kMostDevices, text,
                                     "; # more in " + escaped(facts.devices_path), "; ");
}

std::string remedy(BalanceBy by) {
  return std::string("give shapes with --input-shape or --dim") +
         (by == BalanceBy::time ? ", measured times with --costs FILE," : "") +
         " or --balance nodes";
}

}  // namespace

std::string comm_text(CommModel comm) {
  switch (comm) {
    case CommModel::serial:
      return "a stage takes compute + in + out (serial)";
    case CommModel::overlap:
      return "a stage takes the longer of compute and in + out (overlap)";
    case CommModel::duplex:
      return "a stage takes the longest of compute, in and out (duplex)";
    case CommModel::none:
      break;
  }
  return "free (none)";
}

std::vector<std::string> assumptions_of(const BalanceFacts& facts) {
  std::vector<std::string> lines;
  if (facts.costs.by == BalanceBy::time) {
    if (facts.targets.empty()) lines = {times_line(facts)};
    for (const TargetOfStages& target : facts.targets) lines.push_back(times_line(facts, target));
    if (facts.measured != nullptr) {
      for (const ModelCosts& costs : facts.measured->cpu) {
        lines.push_back("costs      " + costs_text(costs));
        const std::string left = unmatched_text(costs);
        if (!left.empty()) lines.push_back("unmatched  " + left);
      }
    }
    lines.push_back(transfers_line(facts));
  } else {
    lines = {"balanced   by " + facts.unit + " alone: transfers do not count"};
  }
  for (std::string line : {devices_line(facts), memory_line(facts)}) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> caveats_of(const BalanceFacts& facts) {
  const std::size_t unknown = facts.made.unknown_costs;
  if (unknown == 0) return {};
  const std::string what = facts.costs.by == BalanceBy::time ? "the time of " : "the cost of ";
  const auto nodes = facts.graph.nodes();
  const auto all =
      static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [&](NodeId node) {
        return !is_stage_marker(facts.graph, node);
      }));
  return {what + count_text(unknown) + " of " + counted(all, "node") +
          " is not known and counts as 0: " + remedy(facts.costs.by)};
}

std::vector<std::string> notes_of(const BalanceFacts& facts) {
  if (facts.made.unknown_sizes == 0) return {};
  return {"the size of " + counted(facts.made.unknown_sizes, "tensor") +
          " is not known: moving and keeping them counts as 0; give shapes with --dim"};
}

namespace {

constexpr std::size_t kMostCurveRows = 20;
constexpr std::size_t kCurveBar = 30;
constexpr double kAsGood = 1.001;  // as for BalanceResult::enough_stages

std::string bytes_or_more(double bytes) {
  constexpr double kMost = 1.8e19;
  return bytes < kMost ? bytes_text(static_cast<std::uint64_t>(bytes)) : "more than 15 EiB";
}

double microseconds(const StageBalance& balance, double amount) {
  return balance.unit == "ms" ? amount * 1e3 : amount;
}

// "0.4%", "0.02%": the gap rounded up, with at most two digits.
std::string gap_text(double gap) {
  double percent = gap * 100;
  double unit = 0.01;
  while (percent / unit > 99) unit *= 10;
  percent = std::ceil(percent / unit - 1e-9) * unit;
  const int decimals = unit < 0.05 ? 2 : unit < 0.5 ? 1 : 0;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*f%%", decimals, percent);
  return text.data();
}

std::string certificate_text(const std::string& certificate) {
  if (certificate == "ideals") return "by exact search";
  if (certificate == "path-mincut") return "by minimum cuts";
  if (certificate == "single-node") return "by its heaviest node alone";
  return "by the sum of all work";
}

// The unit of bare numbers.
std::string_view counted_thing(BalanceBy by) {
  return by == BalanceBy::params ? " parameters" : by == BalanceBy::nodes ? " nodes" : "";
}

// The times that a proof refers to: " for these times (measured 95%)"; empty when node times were
// not balanced.
std::string times_text(const StageBalance& balance) {
  if (!balance.measured_share) return {};
  if (*balance.measured_share <= 0) return " for these times (estimated)";
  return " for these times (measured " + percent_text(*balance.measured_share) + ")";
}

std::string proof_text(const StageBalance& balance) {
  const std::string by = (balance.measured_share ? ", " : " (") +
                         certificate_text(balance.certificate) +
                         (balance.measured_share ? "" : ")");
  const std::string of_what = times_text(balance);
  if (balance.gap <= 0) return "proved optimal" + of_what + by;
  if (balance.gap < 10) {
    return "proved within " + gap_text(balance.gap) + " of the optimum" + of_what + by;
  }
  return "no assignment is proved to need more than " + amount_text(balance, balance.bound) + by;
}

std::size_t slowest_stage(const StageBalance& balance) {
  const auto slower = [](const StageLoad& a, const StageLoad& b) { return a.load < b.load; };
  return static_cast<std::size_t>(
      std::max_element(balance.loads.begin(), balance.loads.end(), slower) - balance.loads.begin());
}

double efficiency(const StageBalance& balance) {
  double compute = 0;
  for (const StageLoad& load : balance.loads) compute += load.compute;
  return compute / (balance.objective * static_cast<double>(balance.loads.size()));
}

std::string rate_line(const StageBalance& balance) {
  const std::string efficient = percent_text(std::min(efficiency(balance), 1.0));
  if (balance.is_partly_known) {
    return balance.by == BalanceBy::time ? "throughput and pipeline efficiency not known"
                                         : "mean load not known";
  }
  if (balance.by != BalanceBy::time) return "mean load " + efficient + " of the bottleneck's";
  return "throughput at most " + rate_text(1e6 / microseconds(balance, balance.objective)) +
         " a second; pipeline efficiency " + efficient;
}

// The points shown as rows: all if few; else the first ones, powers of two with points in between,
// and the last.
std::vector<CurvePoint> thinned(const StageBalance& balance) {
  std::vector<CurvePoint> points;
  for (const CurvePoint& point : balance.curve) {
    const std::uint32_t k = point.stages;
    const bool is_round = (k & (k - 1)) == 0 || (k % 3 == 0 && ((k / 3) & (k / 3 - 1)) == 0);
    const bool is_end =
        k == balance.curve.back().stages || k == balance.enough_stages || k == balance.loads.size();
    if (balance.curve.size() <= kMostCurveRows || is_round || is_end) points.push_back(point);
  }
  return points;
}

}  // namespace

std::string amount_text(const StageBalance& balance, double amount) {
  if (!std::isfinite(amount)) return "-";
  switch (balance.by) {
    case BalanceBy::time:
      return duration_text(microseconds(balance, amount));
    case BalanceBy::flops:
      return flops_text(amount);
    case BalanceBy::bytes:
      return bytes_or_more(amount);
    case BalanceBy::params:
    case BalanceBy::nodes:
      break;
  }
  return amount < 1e18 ? count_text(static_cast<std::uint64_t>(std::llround(amount))) : "?";
}

std::vector<std::string> balance_conclusions(const StageBalance& balance,
                                             const std::vector<std::string>& names) {
  if (balance.loads.empty()) return {};
  if (balance.objective <= 0) {
    if (balance.caveats.empty()) return {"no stage costs anything: there is nothing to balance"};
    std::vector<std::string> lines = {"nothing to balance: no cost above 0 is known"};
    lines.insert(lines.end(), balance.caveats.begin(), balance.caveats.end());
    return lines;
  }
  std::vector<std::string> lines = {"bottleneck " + names[slowest_stage(balance)] + ", " +
                                    (balance.is_partly_known ? "at least " : "") +
                                    amount_text(balance, balance.objective) +
                                    std::string(counted_thing(balance.by)) +
                                    (balance.is_partly_known ? "" : ", " + proof_text(balance))};
  lines.push_back(rate_line(balance));
  lines.insert(lines.end(), balance.caveats.begin(), balance.caveats.end());
  const bool is_sure = !balance.is_partly_known && balance.caveats.empty();
  if (balance.curve.empty() || !is_sure) return lines;
  // With a target, more stages may be faster: then these are the fewest that meet it.
  const CurvePoint& most = balance.curve.back();
  const bool is_as_good = balance.objective <= most.objective * kAsGood;
  if (is_as_good && balance.enough_stages < most.stages) {
    lines.push_back(counted(balance.enough_stages, "stage is", "stages are") + " as good as " +
                    count_text(most.stages));
  }
  return lines;
}

std::string share_bar(const StageBalance& balance, const StageLoad& load, std::size_t width) {
  if (balance.objective <= 0) return "-";
  const auto characters = [&](double amount) {
    const double share = std::clamp(amount / balance.objective, 0.0, 1.0);
    return static_cast<std::size_t>(std::llround(share * static_cast<double>(width)));
  };
  const std::size_t all = characters(load.load);
  const std::size_t compute = std::min(all, characters(load.compute));
  const auto percent = std::llround(100 * std::min(load.load / balance.objective, 1.0));
  const std::string number = std::to_string(percent) + "%";
  return std::string(compute, '#') + std::string(all - compute, '=') +
         std::string(width - all, ' ') + std::string(5 - number.size(), ' ') + number;
}

std::string curve_text(const StageBalance& balance, std::string_view what) {
  if (balance.curve.size() < 2 || balance.objective <= 0) return {};
  double most = 0;
  for (const CurvePoint& point : balance.curve) {
    if (std::isfinite(point.objective)) most = std::max(most, point.objective);
  }
  TextTable table({std::string(what), "bottleneck", ""}, {Align::right, Align::right, Align::left});
  for (const CurvePoint& point : thinned(balance)) {
    const bool fits = std::isfinite(point.objective);
    const double share = fits ? point.objective / most : 0;
    const auto bar = static_cast<std::size_t>(std::llround(share * double{kCurveBar}));
    table.add_row({count_text(point.stages), amount_text(balance, point.objective),
                   fits ? std::string(bar, '#') : "none found that fits"});
  }
  return table.text();
}

}  // namespace cleave
