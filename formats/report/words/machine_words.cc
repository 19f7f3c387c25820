#include "formats/report/words/machine_words.h"

#include <cmath>
#include <string_view>

#include "core/base/decimal.h"
#include "formats/base/text/number_text.h"

namespace cleave {
namespace {

std::string_view duplex_name(Duplex duplex) { return duplex == Duplex::full ? "full" : "half"; }

void write_device(JsonText& json, std::string_view key, const DeviceNumbers& device) {
  json.begin_object(key, JsonText::Layout::one_line);
  json.number("flops", device.flops_per_second);
  json.number("bandwidth", device.bytes_per_second);
  json.number("node_us", device.node_us);
}

// "4 TFLOP/s, 50 GB/s, 2 us a node"
std::string device_text(const DeviceNumbers& device) {
  std::string text = device.flops_per_second ? flops_text(*device.flops_per_second) + "/s"
                                             : std::string("unknown FLOPs");
  text += device.bytes_per_second ? ", " + rounded_text(*device.bytes_per_second / 1e9, 3) + " GB/s"
                                  : std::string(", unknown bandwidth");
  if (device.node_us > 0) text += ", " + duration_text(device.node_us) + " a node";
  return text;
}

std::string launch_text(const Machine& machine) {
  return machine.launch_us ? duration_text(*machine.launch_us) : std::string("unknown");
}

}  // namespace

void write_machine(JsonText& json, const Machine& machine) {
  json.begin_object("machine");
  write_device(json, "cpu", machine.cpu);
  json.end_object();
  write_device(json, "acc", machine.acc);
  json.number("launch_us", machine.launch_us);
  json.number("memory", machine.acc_memory);
  json.number("max_subgraphs", machine.most_acc_parts);
  json.text("duplex", duplex_name(machine.duplex));
  json.end_object();
  json.end_object();
}

std::string changed_times(std::optional<double> was_us, std::optional<double> is_us) {
  constexpr double kRounding = 1e-9;
  if (!was_us || !is_us || std::abs(*was_us - *is_us) <= kRounding * *was_us) return {};
  return "times (--costs, --target): all on the CPU " + duration_text(*is_us) + ", was " +
         duration_text(*was_us);
}

std::vector<std::string> changed_numbers(const Machine& before, const Machine& now) {
  std::vector<std::string> changes;
  const auto compare = [&](std::string_view name, const std::string& was, const std::string& is) {
    if (was != is) changes.push_back(std::string(name) + ": " + is + ", was " + was);
  };
  compare("target cpu", device_text(before.cpu), device_text(now.cpu));
  compare("target acc", device_text(before.acc), device_text(now.acc));
  compare("launch", launch_text(before), launch_text(now));
  compare("duplex", std::string(duplex_name(before.duplex)), std::string(duplex_name(now.duplex)));
  return changes;
}

}  // namespace cleave
