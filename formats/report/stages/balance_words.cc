#include "formats/report/stages/balance_words.h"

#include <algorithm>

#include "core/stages/stages.h"
#include "formats/base/text/capped_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/number_text.h"
#include "formats/report/words/cost_words.h"
#include "formats/report/words/link_text.h"

namespace cleave {
namespace {

constexpr std::size_t kMostDevices = 8;  // listed individually

bool all_have(const std::vector<DeviceSpec>& devices, bool (*has)(const DeviceSpec&)) {
  return !devices.empty() && std::all_of(devices.begin(), devices.end(), has);
}
bool has_link(const DeviceSpec& device) { return device.link.has_value(); }
bool has_memory(const DeviceSpec& device) { return device.memory.has_value(); }

std::string times_line(const BalanceFacts& facts) {
  const std::string roofline = "the longer of FLOPs at " + flops_text(facts.costs.device_flops) +
                               "/s and bytes at " + link_text(facts.device_bandwidth);
  if (facts.made.measured == 0) return "times      estimated: " + roofline;
  if (facts.made.measured == facts.graph.node_count()) return "times      measured";
  return "times      measured for " + count_text(facts.made.measured) + " of " +
         counted(facts.graph.node_count(), "node", "nodes") + ", for the others " + roofline +
         (facts.made.scaled > 0 ? ", scaled to what was measured" : "");
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
  std::string text = escaped(device.name) + ": " + (memory.empty() ? "no memory limit" : memory) +
                     ", speed " + rate_text(device.speed);
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
    lines = {times_line(facts)};
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
  return {what + count_text(unknown) + " of " + counted(all, "node", "nodes") +
          " is not known and counts as 0: " + remedy(facts.costs.by)};
}

std::vector<std::string> notes_of(const BalanceFacts& facts) {
  if (facts.made.unknown_sizes == 0) return {};
  return {"the size of " + counted(facts.made.unknown_sizes, "tensor", "tensors") +
          " is not known: moving and keeping them counts as 0; give shapes with --dim"};
}

}  // namespace cleave
