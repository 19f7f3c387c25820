#include "formats/report/words/latency_words.h"

#include <algorithm>
#include <optional>

#include "core/base/decimal.h"
#include "core/base/quantity.h"
#include "formats/report/words/hazard_text.h"
#include "formats/report/words/value_text.h"
#include "formats/text/diagnostic.h"
#include "formats/text/number_text.h"

namespace cleave {
namespace {

constexpr double kWorthSaying =
    0.01;  // share of the latency that a better placement saves at least

// Three digits, in the unit in which duration_text() would write `total`.
std::string in_unit_of(double us, double total) {
  const double unit = total >= 1e6 ? 1e6 : total >= 1e3 ? 1e3 : 1;
  const double number = us / unit;
  std::string made = fixed_text(number, number >= 100 ? 0 : number >= 10 ? 1 : 2);
  if (made.find('.') == made.npos) return made;
  while (made.back() == '0') made.pop_back();
  if (made.back() == '.') made.pop_back();
  return made;
}

// "2.2x", "0.89x": how many times as fast.
std::string times_as_fast(double before, double after) {
  const double factor = after > 0 ? before / after : 1;
  const int digits = factor >= 100 ? 0 : factor >= 1.095 ? 1 : 2;
  return fixed_text(factor, digits) + "x";
}

std::string sum_text(const Latency& latency) {
  const double total = *latency.total_us;
  if (latency.launches == 0) return "all of it on the CPU";
  return in_unit_of(*latency.cpu_us, total) + " CPU + " + in_unit_of(*latency.acc_us, total) +
         " acc + " + in_unit_of(*latency.link_us, total) + " link + " +
         in_unit_of(*latency.launch_us, total) + " for " +
         counted(latency.launches, "launch", "launches");
}

bool is_slower_than_cpu(const Latency& latency) {
  return latency.all_cpu_us && *latency.total_us > *latency.all_cpu_us;
}

std::string cpu_text(const Latency& latency) {
  if (!latency.all_cpu_us || latency.launches == 0 || is_slower_than_cpu(latency)) return {};
  return "; all on the CPU " + duration_text(*latency.all_cpu_us) + " (" +
         times_as_fast(*latency.all_cpu_us, *latency.total_us) + ")";
}

// Compares the split with the best placement that a search found.
std::string best_text(const InferenceTime& time) {
  const Latency& latency = time.asked();
  if (!latency.best_us || time.is_proved_best) return {};
  if (*latency.best_us < *latency.total_us * (1 - kWorthSaying)) {
    const bool is_cpu_best =
        latency.all_cpu_us && *latency.best_us >= *latency.all_cpu_us * (1 - 1e-9);
    if (is_cpu_best) return "; no faster placement than the CPU alone was found";
    return "; " + duration_text(*latency.best_us) + " is possible (--place cost)";
  }
  const double gap = *latency.total_us / *latency.bound_us - 1;
  return *latency.bound_us > 0 ? "; within " + percent_text(gap) + " of the bound" : std::string();
}

struct Origins {
  std::size_t nodes = 0, measured = 0, calibrated = 0, unknown = 0;
};

Origins count_origins(const Graph& graph, const DeviceTimes& times) {
  Origins counts;
  for (const NodeId node : graph.nodes()) {
    ++counts.nodes;
    switch (times.origins[node]) {
      case TimeOrigin::measured:
        ++counts.measured;
        break;
      case TimeOrigin::calibrated:
        ++counts.calibrated;
        break;
      case TimeOrigin::unknown:
        ++counts.unknown;
        break;
      case TimeOrigin::estimated:
        break;
    }
  }
  return counts;
}

std::string rates_text(const DeviceNumbers& device) {
  if (!device.flops_per_second || !device.bytes_per_second) return {};
  return " (" + flops_text(*device.flops_per_second) + "/s, " +
         byte_amount(*device.bytes_per_second) + "/s)";
}

std::string device_text(const Graph& graph, const DeviceTimes& times, const DeviceNumbers& device) {
  const Origins counts = count_origins(graph, times);
  if (counts.unknown == counts.nodes) return "not known";
  std::string text;
  if (counts.measured == counts.nodes) return "measured";
  if (counts.measured > 0) {
    text = "measured for " + count_text(counts.measured) + " of " +
           counted(counts.nodes, "node", "nodes") + ", the others estimated" +
           (counts.calibrated > 0 ? " by calibration" : " and scaled to these");
  } else if (counts.calibrated > 0) {
    text = "estimated by calibration";
  } else {
    text = "estimated" + rates_text(device);
  }
  if (counts.unknown > 0) text += ", not known for " + count_text(counts.unknown);
  return text;
}

std::uint64_t total_bytes(const LinkBytes& bytes) { return bytes.in + bytes.out; }

std::optional<double> shared_qps(const InferenceTime& time, const Latency& latency) {
  const LinkBytes& bytes = latency.link_bytes;
  const std::uint64_t most = std::max(bytes.in, bytes.out);
  if (bytes.unknown != kNone<ValueId> || most == 0) return std::nullopt;
  return time.basis.machine.link_bytes_per_second / static_cast<double>(most);
}

}  // namespace

bool has_times(const InferenceTime& time) {
  const auto is_known = [](const DeviceTimes& times) {
    return std::any_of(times.origins.begin(), times.origins.end(),
                       [](TimeOrigin origin) { return origin != TimeOrigin::unknown; });
  };
  return is_known(time.basis.times.cpu) || is_known(time.basis.times.acc);
}

std::string measured_text(const Latency& latency) {
  if (latency.measured_share <= 0) return "estimated";
  return "measured " + percent_text(latency.measured_share);
}

std::string missing_number_text(const Graph& graph, const Latency& latency) {
  switch (latency.missing) {
    case MissingNumber::none:
      break;
    case MissingNumber::cpu_times:
      return "times of the CPU are missing: give --costs FILE with a profile, or --target "
             "cpu:flops=500GFLOP/s,bandwidth=50GB/s";
    case MissingNumber::acc_times:
      return "times of the accelerator are missing: give --target "
             "acc:flops=4TFLOP/s,bandwidth=50GB/s,launch=100us, or --costs acc=FILE";
    case MissingNumber::launch:
      return "the time of a launch is missing: give --target acc:launch=100us";
    case MissingNumber::node_time:
      return "node " + quoted(graph.node(latency.missing_node).name) + " (" +
             escaped(graph.op(latency.missing_node)) +
             ") has no time, since its FLOPs or sizes are not known: give a profile that has it "
             "(--costs)";
    case MissingNumber::value_bytes:
      return "the size of " + quoted(graph.value(latency.missing_value).name) +
             ", which crosses the link, is not known: " + size_mend(graph, latency.missing_value);
  }
  return {};
}

std::string latency_headline(const Graph& graph, const InferenceTime& time) {
  const Latency& latency = time.asked();
  if (!latency.total_us) {
    std::string line = "latency not known, ";
    if (latency.all_cpu_us) {
      line += "all on the CPU " + duration_text(*latency.all_cpu_us) + "; ";
    }
    return line + missing_number_text(graph, latency);
  }
  std::string line = "latency " + duration_text(*latency.total_us);
  if (is_slower_than_cpu(latency)) {
    line += ", slower than the CPU alone (" + duration_text(*latency.all_cpu_us) + ", " +
            times_as_fast(*latency.all_cpu_us, *latency.total_us) + ")";
  }
  if (time.is_proved_best) {
    line += ", proved optimal for these times (" + measured_text(latency) + ")";
  }
  return line + ": " + sum_text(latency) + cpu_text(latency) + best_text(time);
}

std::string times_text(const Graph& graph, const InferenceTime& time) {
  const TimeBasis& basis = time.basis;
  return "CPU: " + device_text(graph, basis.times.cpu, basis.machine.cpu) +
         "; accelerator: " + device_text(graph, basis.times.acc, basis.machine.acc);
}

std::string residency_text(const InferenceTime& time) {
  const LinkBytes& off = time.without.link_bytes;
  const LinkBytes& on = time.with.link_bytes;
  if (off.unknown != kNone<ValueId> || total_bytes(on) >= total_bytes(off)) return {};
  const double saved =
      1 - static_cast<double>(total_bytes(on)) / static_cast<double>(total_bytes(off));
  std::string text = "link " + bytes_text(total_bytes(off)) + ", " + bytes_text(total_bytes(on)) +
                     " (-" + percent_text(saved) + ") if the accelerator keeps what it has (peak " +
                     bytes_text(time.plan.peak_bytes) + ")";
  const auto qps_off = shared_qps(time, time.without);
  const auto qps_on = shared_qps(time, time.with);
  if (qps_off && qps_on && *qps_on > *qps_off) {
    text += "; " + rate_text(*qps_off) + " QPS, " + rate_text(*qps_on) + " with it";
  }
  if (time.without.total_us && time.with.total_us) {
    text += "; latency " + duration_text(*time.without.total_us) + ", " +
            duration_text(*time.with.total_us) + " with it";
  }
  const auto memory = time.basis.machine.acc_memory;
  if (memory && time.plan.peak_bytes > *memory) {
    text += "; its memory is " + bytes_text(*memory) + " only";
  }
  return text;
}

std::string part_time_text(const PartLatency& part) {
  if (!part.compute_us || !part.link_us || !part.launch_us) return "?";
  return duration_text(*part.compute_us + *part.link_us + *part.launch_us);
}

void write_latency(JsonText& json, const Latency& latency) {
  json.begin_object("latency");
  json.number("total_us", latency.total_us);
  json.number("cpu_us", latency.cpu_us);
  json.number("acc_us", latency.acc_us);
  json.number("link_us", latency.link_us);
  json.number("launch_us", latency.launch_us);
  json.number("launches", latency.launches);
  json.number("all_cpu_us", latency.all_cpu_us);
  json.number("best_us", latency.best_us);
  json.number("bound_us", latency.bound_us);
  json.flag("is_measured", latency.is_measured);
  json.end_object();
}

void write_residency(JsonText& json, const InferenceTime& time, const Partition& partition) {
  json.begin_object("residency");
  json.flag("is_on", time.residency == Residency::on);
  for (const bool is_on : {false, true}) {
    const Latency& latency = is_on ? time.with : time.without;
    const bool is_known = latency.link_bytes.unknown == kNone<ValueId>;
    json.begin_object(is_on ? "on" : "off", JsonText::Layout::one_line);
    json.number("link_bytes",
                is_known ? std::optional(total_bytes(latency.link_bytes)) : std::nullopt);
    json.number("shared_qps", shared_qps(time, latency));
    json.number("total_us", latency.total_us);
    json.end_object();
  }
  // The plan counts tensors of known size only.
  const bool is_whole = time.without.link_bytes.unknown == kNone<ValueId>;
  json.number("peak_bytes", is_whole ? std::optional(time.plan.peak_bytes) : std::nullopt);
  json.key("peak_partition");
  time.plan.peak_part == kNone<PartId> ? json.null()
                                       : json.text(partition.name(time.plan.peak_part));
  json.end_object();
}

}  // namespace cleave
