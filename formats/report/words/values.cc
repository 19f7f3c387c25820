// Values and costs as words.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/models/models.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- value text ----

namespace {

constexpr std::size_t kMostDims = 16;
constexpr std::size_t kMostItems = 8;
constexpr std::size_t kLongestString = 60;

std::string dim_text(const Graph& graph, Dim dim) {
  if (dim.is_fixed()) return std::to_string(dim.size());
  return dim.is_symbol() ? escaped(graph.text(dim.name())) : "?";
}

std::string shape_text(const Graph& graph, Shape shape) {
  const auto text = [&](Dim dim) { return dim_text(graph, dim); };
  return "[" + capped_list(shape, kMostDims, text, ", ...") + "]";
}

std::string item_text(std::int64_t item) { return std::to_string(item); }

std::string item_text(double item) { return shortest_text(item); }

std::string item_text(std::string_view item) {
  return '"' + fitted(escaped(item.substr(0, 4 * kLongestString)), kLongestString) + '"';
}

template <class Item>
std::string list_text(std::span<const Item> items) {
  const auto text = [](const Item& item) { return item_text(item); };
  return "[" +
         capped_list(items, kMostItems, text, ", ... " + count_text(items.size()) + " items") + "]";
}

}  // namespace

std::string type_text(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (!value.is_tensor()) return std::string(value_type_name(value.type));
  const bool has_dtype = value.dtype != DType::unknown;
  if (!has_dtype && !graph.has_rank(id)) return "tensor";
  const std::string shape = graph.has_rank(id) ? shape_text(graph, graph.shape(id)) : "[...]";
  return (has_dtype ? std::string(dtype_name(value.dtype)) : "tensor") + shape;
}

std::string signature_text(const Signature& signature) {
  std::string text;
  const auto add = [&](const std::string& name, DType dtype) {
    text += (text.empty() ? "" : ", ") + name;
    text += dtype == DType::unknown ? "-" : dtype_name(dtype);
  };
  for (const DType dtype : signature.args) add("", dtype);
  for (const auto& [name, dtype] : signature.kwargs) add(escaped(name) + "=", dtype);
  return "(" + text + ")";
}

std::string attribute_text(const AttributePools& pools, const Attribute& attribute) {
  switch (attribute.type) {
    case AttributeType::integer:
      return item_text(pools.integers_of(attribute).front());
    case AttributeType::boolean:
      return pools.integers_of(attribute).front() != 0 ? "true" : "false";
    case AttributeType::real:
      return item_text(pools.reals_of(attribute).front());
    case AttributeType::string:
      return item_text(pools.strings_of(attribute).front());
    case AttributeType::integers:
      return list_text(pools.integers_of(attribute));
    case AttributeType::reals:
      return list_text(pools.reals_of(attribute));
    case AttributeType::strings:
      return list_text(pools.strings_of(attribute));
    case AttributeType::opaque:
      return "...";
  }
  return {};
}

std::string hazard_text(const Graph& graph, const Hazard& hazard) {
  const std::string name = escaped_in_quotes(graph.value(hazard.value).name);
  const std::string type = type_text(graph, hazard.value);
  switch (hazard.kind) {
    case Hazard::Kind::non_tensor_input:
      return "input " + name + " (" + type + ") is not a tensor: lowering may fail on it";
    case Hazard::Kind::non_tensor_output:
      return "output " + name + " (" + type + ") is not a tensor: lowering may fail on it";
    case Hazard::Kind::unknown_bytes:
      return "the bytes of " + name + " " + type +
             " are not known: " + size_mend(graph, hazard.value);
  }
  return {};
}

std::string size_mend(const Graph& graph, ValueId value) {
  if (!graph.has_rank(value)) return "its rank is not known";
  std::string options;
  const auto add = [&](std::string_view name) {
    const std::string option = "--dim " + shell_word(escaped(name) + "=SIZE");
    if (options.find(option) == std::string::npos) options += (options.empty() ? "" : " ") + option;
  };
  for (const Dim dim : graph.shape(value)) {
    if (!dim.is_symbol() || dim.counted_size() >= 0) continue;
    const std::string_view name = graph.text(dim.name());
    const auto computed = SizeExpression::parse(name);
    if (!computed) add(name);
    for (const std::string_view of : computed ? computed->names() : std::vector<std::string_view>())
      add(of);
  }
  if (!options.empty()) return "give " + options;
  return dtype_bits(graph.value(value).dtype) == 0 ? "its elements have no fixed size"
                                                   : "a dim without a name is not known";
}

namespace {

constexpr std::size_t kMostInputShapes = 3;

using LikelySize = std::function<std::optional<std::int64_t>(ValueId, std::size_t)>;

// `--input-shape x=1,3,224,224` for each input with a dim that has no name, which --dim cannot give.
std::vector<std::string> input_shape_options(const Graph& graph, const LikelySize& likely) {
  std::vector<std::string> options;
  for (const ValueId input : graph.inputs()) {
    if (!graph.has_rank(input) || options.size() == kMostInputShapes) continue;
    const Shape shape = graph.shape(input);
    std::string sizes;
    bool is_unnamed = false;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const Dim dim = shape[axis];
      is_unnamed |= dim.is_unknown();
      const auto size = dim.is_unknown() ? likely(input, axis) : std::nullopt;
      sizes += (axis == 0 ? "" : ",") + (dim.is_fixed()     ? std::to_string(dim.size())
                                         : size             ? std::to_string(*size)
                                         : dim.is_unknown() ? "SIZE"
                                                            : "?");
    }
    if (!is_unnamed) continue;
    options.push_back("--input-shape " +
                      shell_word(escaped(graph.value(input).name) + "=" + sizes));
  }
  return options;
}

}  // namespace

std::string dim_options(const Graph& graph, const LikelySize& likely) {
  std::vector<NameId> names;
  const std::set<std::string_view> computed = computed_dims(graph);
  for (const ValueId input : graph.inputs()) {
    for (const Dim dim : graph.shape(input)) {
      if (dim.counted_size() >= 0 || !dim.is_symbol()) continue;
      if (computed.contains(graph.text(dim.name()))) continue;
      if (!contains(names, dim.name())) {
        names.push_back(dim.name());
      }
    }
  }
  const auto option = [&](NameId name) {
    return "--dim " + shell_word(escaped(graph.text(name)) + "=SIZE");
  };
  std::string options = capped_list(names, 5, option, "", " ");
  for (const std::string& shape : input_shape_options(graph, likely)) {
    options += (options.empty() ? "" : " ") + shape;
  }
  return options;
}

// ---- cost words ----

std::string link_text(const Link& link) {
  std::string name = escaped(link.name);
  if (!name.starts_with("gen") && !name.starts_with("Gen")) return name;
  return name + " (" + rounded_text(link.bytes_per_second / 1e9, 3) + " GB/s)";
}

namespace {

std::string_view duplex_name(Duplex duplex) { return duplex == Duplex::full ? "full" : "half"; }

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
  compare("launch of a CPU partition", duration_text(before.cpu_launch_us),
          duration_text(now.cpu_launch_us));
  compare("duplex", std::string(duplex_name(before.duplex)), std::string(duplex_name(now.duplex)));
  return changes;
}

namespace {

std::string rules_text(const CostMatch& match) {
  std::string text;
  for (std::size_t i = 0; i < kMatchRules; ++i) {
    if (match.us_by_rule[i] <= 0) continue;
    text += (text.empty() ? "" : ", ") + percent_text(match.us_by_rule[i] / match.total_us) +
            " by " + std::string(match_rule_name(static_cast<MatchRule>(i)));
  }
  return text.empty() ? text : " (" + text + ")";
}

// "batch=1, height=320"
std::string dims_text(const std::vector<InputDim>& dims) {
  return joined(dims, ", ", [&](const InputDim& dim) {
    return escaped(dim.name) + "=" + std::to_string(dim.size);
  });
}

}  // namespace

std::string costs_text(const ModelCosts& costs) {
  const CostMatch& match = costs.match;
  std::string text = escaped(costs.path) + " (" + std::string(cost_format_name(costs.format));
  if (match.total_us == 0 && !costs.op_times.empty()) {
    return text + "): calibrated times of " + counted(costs.op_times.size(), "op");
  }
  if (costs.runs > 1) text += ", median of " + counted(costs.runs, "run");
  text += "): " + percent_text(match.share()) + " of " + duration_text(match.total_us) +
          " matched" + rules_text(match) + ", " + count_text(match.measured_nodes) + " of " +
          counted(match.us.size(), "node");
  if (match.fused_nodes > 0) text += ", " + count_text(match.fused_nodes) + " of them as fused";
  if (costs.used_nodes < match.measured_nodes) {
    text += ", " + (costs.used_nodes == 0 ? std::string("none") : count_text(costs.used_nodes)) +
            " of them used: files before this one have the others";
  }
  if (!costs.shapes.empty()) {
    text += "; " + counted(costs.shapes.size(), "shape") + " observed";
  }
  if (!costs.dims.empty()) text += "; inputs had " + dims_text(costs.dims);
  if (costs.contradicted > 0) {
    text += "; shapes of " + counted(costs.contradicted, "kernel") +
            " left out, which differ from the model's";
  }
  return text;
}

std::string unmatched_text(const ModelCosts& costs) {
  const auto& largest = costs.match.largest_unmatched;
  CappedList list(largest.size());
  list.leave_out(costs.match.unmatched - largest.size());
  const std::string text = joined(largest, ", ", [&](const UnmatchedCost& kernel) {
    return escaped_in_quotes(kernel.name) + " " + duration_text(kernel.us);
  });
  return text + list.rest(" and # more");
}

namespace {

std::string factor_text(double factor) { return fixed_text(factor, 2) + "x"; }

// The amount per second when one unit takes `us_per` microseconds; "-" when that is 0.
std::string rate_of(double us_per, std::string (*text)(double)) {
  return us_per > 0 ? text(1e6 / us_per) + "/s" : "-";
}

std::string bytes_amount(double bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); }

std::string headline(const Calibration& calibration) {
  std::string line =
      counted(calibration.kernels, "kernel") + " of " + counted(calibration.models, "model") + "; ";
  if (!calibration.error) {
    return line +
           "the error is not known: that takes two models or more, each predicted from the others";
  }
  return line + "typical error of a node " + factor_text(calibration.error->node_factor) +
         ", of a model " + factor_text(calibration.error->model_factor) +
         " (each model predicted from the others)";
}

std::string models_text(const Calibration& calibration,
                        const std::vector<CalibratedModel>& models) {
  TextTable table({"model", "kernels", "unused", "error"});
  for (std::size_t i = 0; i < models.size(); ++i) {
    table.add_row({escaped(models[i].name), count_text(models[i].kernels),
                   count_text(models[i].unused),
                   calibration.error ? factor_text(calibration.error->model_factors[i]) : "-"});
  }
  return table.text();
}

std::string ops_text(const Calibration& calibration) {
  TextTable table({"op", "a node", "computing", "memory"});
  for (const OpTime& time : calibration.times) {
    table.add_row({time.op.empty() ? "all others" : escaped(time.op), duration_text(time.us),
                   rate_of(time.us_per_flop, flops_text), rate_of(time.us_per_byte, bytes_amount)});
  }
  return table.text();
}

}  // namespace

std::string calibration_text(const Calibration& calibration,
                             const std::vector<CalibratedModel>& models) {
  return as_line(headline(calibration)) + '\n' + models_text(calibration, models) + '\n' +
         ops_text(calibration);
}

std::uint64_t total_bytes(const LinkBytes& bytes) { return bytes.in + bytes.out + bytes.direct; }

std::optional<double> shared_qps(const InferenceTime& time, const Latency& latency) {
  if (!time.basis.target_names.empty()) return std::nullopt;  // each has a link of its own
  const LinkBytes& bytes = latency.link_bytes;
  const std::uint64_t most = std::max(bytes.in, bytes.out);
  if (bytes.unknown != kNone<ValueId> || most == 0) return std::nullopt;
  return time.basis.machine.link_bytes_per_second / static_cast<double>(most);
}

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

// "2.9 npu + 3.4 gpu", of one target "2.9 acc".
std::string targets_text(const InferenceTime& time) {
  const Latency& latency = time.asked();
  const double total = *latency.total_us;
  if (latency.targets.empty()) return in_unit_of(*latency.acc_us, total) + " acc";
  std::string text;
  for (std::size_t i = 0; i < latency.targets.size(); ++i) {
    text += (text.empty() ? "" : " + ") + in_unit_of(*latency.targets[i].compute_us, total) + " " +
            time.basis.target_names[i];
  }
  return text;
}

std::string sum_text(const InferenceTime& time) {
  const Latency& latency = time.asked();
  const double total = *latency.total_us;
  if (latency.launches == 0) return "all of it on the CPU";
  return in_unit_of(*latency.cpu_us, total) + " CPU + " + targets_text(time) + " + " +
         in_unit_of(*latency.link_us, total) + " link + " + in_unit_of(*latency.launch_us, total) +
         " for " + counted(latency.launches, "launch", "launches");
}

bool is_slower_than_cpu(const InferenceTime& time) {
  const Latency& latency = time.asked();
  return latency.all_cpu_us && *latency.total_us > *latency.all_cpu_us &&
         compared_with_cpu(time) == CpuVerdict::slower;
}

// True when the unmatched time of profiles is larger than the difference to the CPU alone.
bool is_open(const InferenceTime& time) {
  const Latency& latency = time.asked();
  return latency.total_us && latency.all_cpu_us && latency.launches > 0 &&
         compared_with_cpu(time) == CpuVerdict::not_known;
}

// A model has some nodes that no profile times (constants, what was fused): the rest would be said
// of every model.
constexpr double kMostlyMeasured = 0.95;

// "3% of it measured" where times of some nodes were measured, but not of most.
std::string share_text(const InferenceTime& time) {
  const double share = time.measured.cpu.value_or(0);
  return share > 0 && share < kMostlyMeasured ? percent_text(share) + " of it measured"
                                              : std::string();
}

std::string cpu_text(const InferenceTime& time) {
  const Latency& latency = time.asked();
  if (!latency.all_cpu_us || latency.launches == 0 || is_slower_than_cpu(time)) return {};
  const std::string share = share_text(time);
  return "; all on the CPU " + duration_text(*latency.all_cpu_us) + " (" +
         (is_open(time) ? std::string("the faster one is not known")
                        : times_as_fast(*latency.all_cpu_us, *latency.total_us)) +
         (share.empty() ? "" : "; ") + share + ")";
}

// "npu then gpu then CPU by order"
std::string asked_in_order(const InferenceTime& time) {
  std::string names;
  for (const std::string& name : time.basis.target_names) names += name + " then ";
  return names + "CPU by order";
}

// "; npu then gpu then CPU by order: 12.6 ms"
std::string order_text(const InferenceTime& time) {
  if (!time.in_order_cost || time.goal != PlaceGoal::latency) return {};
  return "; " + asked_in_order(time) + ": " + duration_text(*time.in_order_cost);
}

// The bound of several targets counts no memory.
std::string bound_basis(const InferenceTime& time) {
  for (std::size_t i = 0; i < time.basis.target_names.size(); ++i) {
    if (time.basis.machine_with(i).acc_memory) return ", which knows no limits of memory";
  }
  return {};
}

// Compares the split with the best placement that a search found.
std::string best_text(const InferenceTime& time) {
  const Latency& latency = time.asked();
  if (!latency.best_us || time.is_proved_best) return {};
  if (*latency.best_us < *latency.total_us * (1 - kWorthSaying)) {
    const bool is_cpu_best =
        latency.all_cpu_us && *latency.best_us >= *latency.all_cpu_us * (1 - 1e-9);
    if (is_cpu_best) return "; no faster placement than the CPU alone was found";
    const std::string best = "; " + duration_text(*latency.best_us) + " is possible (";
    if (time.keeps_for_gain) return best + "--min-gain 0%)";
    return best + (time.is_placed_by_cost
                       ? "as --place cost placed the nodes: other options and limits moved some)"
                       : "--place cost)");
  }
  const double gap = *latency.total_us / *latency.bound_us - 1;
  if (*latency.bound_us <= 0) return {};
  // Above, a bound is less than half of the time, and "within 140%" would sound like praise.
  constexpr double kClose = 1;
  if (gap < kClose) {
    const std::string basis = bound_basis(time);
    return "; within " + percent_text(gap) + " of " +
           (basis.empty() ? std::string("the least possible") : "a lower bound" + basis);
  }
  return "; no placement takes less than " + duration_text(*latency.bound_us);
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
         rounded_text(*device.bytes_per_second / 1e9, 3) + " GB/s)";
}

std::string device_text(const Graph& graph, const DeviceTimes& times, const DeviceNumbers& device,
                        const UnmatchedTime& unmatched) {
  const Origins counts = count_origins(graph, times);
  if (counts.unknown == counts.nodes) return "not known";
  std::string text;
  // Below, it would be printed as "<0.1%", which is no news.
  constexpr double kShown = 0.001;
  const std::string left =
      unmatched.share() >= kShown
          ? ", but " + percent_text(unmatched.share()) + " of the profile's time matches no node"
          : std::string();
  if (counts.measured == counts.nodes) return "measured" + left;
  if (counts.measured > 0) {
    text = "measured for " + count_text(counts.measured) + " of " + counted(counts.nodes, "node") +
           ", the others estimated" +
           (counts.calibrated > 0      ? " by calibration"
            : unmatched.profile_us > 0 ? " within what the profile leaves"
                                       : " and scaled to these") +
           left;
  } else if (counts.calibrated > 0) {
    text = "estimated by calibration";
  } else {
    text = "estimated" + rates_text(device);
  }
  if (counts.unknown > 0) text += ", not known for " + count_text(counts.unknown);
  return text;
}

// "flops=4TFLOP/s,bandwidth=50GB/s": the rates that the device lacks, with an example each.
std::string missing_rates(const DeviceNumbers& device, std::string_view flops) {
  std::string text;
  if (!device.flops_per_second) text += "flops=" + std::string(flops);
  if (!device.bytes_per_second) text += (text.empty() ? "" : ",") + std::string("bandwidth=50GB/s");
  return text;
}

// "npu"; of one target "acc".
std::string target_name(const InferenceTime& time, std::size_t target) {
  const std::vector<std::string>& names = time.basis.target_names;
  return names.empty() ? "acc" : names[target];
}

// Names both devices at once when both lack times, and only the numbers that are missing.
std::string missing_times_text(const InferenceTime& time) {
  const std::size_t target = time.asked().missing_target;
  const Machine& machine = time.basis.machine_with(target);
  const std::string name = target_name(time, target);
  const bool lacks_cpu = !has_rates(machine.cpu) && !has_any_time(time.basis.times.cpu);
  const bool lacks_acc =
      !has_rates(machine.acc) && !has_any_time(time.basis.times.on_target(target));
  const bool is_cpu = time.asked().missing == MissingNumber::cpu_times || lacks_cpu;
  const bool is_acc = time.asked().missing == MissingNumber::acc_times || lacks_acc;
  const std::string cpu = "--target cpu:" + missing_rates(machine.cpu, "500GFLOP/s");
  std::string acc = "--target " + name + ":" + missing_rates(machine.acc, "4TFLOP/s");
  if (!machine.launch_us) acc += ",launch=100us";
  if (is_cpu && is_acc) {
    return "give the times of both sides: --costs FILE with a profile of the CPU, and " + acc;
  }
  return is_cpu ? "times of the CPU are missing: give --costs FILE with a profile, or " + cpu
                : "times of " + (name == "acc" ? "the accelerator" : name) + " are missing: give " +
                      acc + ", or --costs " + name + "=FILE";
}

// Which device lacks the node's time, why, and the ways out.
std::string missing_node_text(const Graph& graph, const InferenceTime& time) {
  const Latency& latency = time.asked();
  const std::string target = target_name(time, latency.missing_target);
  const std::string device = target == "acc" ? "the accelerator" : target;
  const NodeId node = latency.missing_node;
  const std::string_view name = graph.node(node).name;
  const bool has_bodies = !graph.body_nodes(node).empty();
  std::string text = "node " + escaped_in_quotes(name) + " (" + escaped(graph.op(node)) +
                     ") has no time on " + (latency.is_missing_on_acc ? device : "the CPU") +
                     ", since " +
                     (has_bodies ? "its work depends on which of its bodies runs and how often"
                                 : "its FLOPs or sizes are not known") +
                     ": give ";
  if (!latency.is_missing_on_acc) return text + "a profile that has it (--costs FILE)";
  return text + "a profile made there (--costs " + target + "=FILE)" +
         (has_bodies ? "" : ", or the sizes of its dims (--dim)") +
         ", or leave it on the CPU (--deny " + shell_word(escaped(name)) + ")";
}

}  // namespace

bool has_times(const InferenceTime& time) {
  return has_any_time(time.basis.times.cpu) || has_any_time(time.basis.times.acc);
}

std::string measured_text(const MeasuredShares& shares) {
  const auto text_of = [](double share) {
    return share > 0 ? "measured " + percent_text(share) : std::string("estimated");
  };
  if (!shares.cpu && !shares.acc) return "estimated";
  if (!shares.cpu) return text_of(*shares.acc);
  const std::string cpu = text_of(*shares.cpu);
  if (!shares.acc || text_of(*shares.acc) == cpu) return cpu;
  return "CPU " + cpu + ", accelerator " + text_of(*shares.acc);
}

std::string unmatched_time_text(const InferenceTime& time) {
  constexpr double kWorthNaming = 0.01;
  const UnmatchedTime& cpu = time.basis.cpu_unmatched;
  const UnmatchedTime& acc = time.basis.acc_unmatched;
  const UnmatchedTime& more = cpu.share() >= acc.share() ? cpu : acc;
  if (more.us <= 0 || (more.share() < kWorthNaming && !is_open(time))) return {};
  return percent_text(more.share()) + " of the profile's time (" + duration_text(more.us) +
         ") is of kernels that match no node, and in no figure";
}

std::string missing_number_text(const Graph& graph, const InferenceTime& time) {
  const Latency& latency = time.asked();
  switch (latency.missing) {
    case MissingNumber::none:
      break;
    case MissingNumber::cpu_times:
    case MissingNumber::acc_times:
      return missing_times_text(time);
    case MissingNumber::launch:
      return "the time of a launch is missing: give --target " +
             target_name(time, latency.missing_target) + ":launch=100us";
    case MissingNumber::node_time:
      return missing_node_text(graph, time);
    case MissingNumber::value_bytes:
      return "the size of " + escaped_in_quotes(graph.value(latency.missing_value).name) +
             ", which crosses the link, is not known: " + size_mend(graph, latency.missing_value);
  }
  return {};
}

std::string latency_headline(const Graph& graph, const InferenceTime& time) {
  const Latency& latency = time.asked();
  if (!latency.total_us) {
    std::string line = "latency not known, ";
    if (latency.all_cpu_us) {
      const std::string share = share_text(time);
      line += "all on the CPU " + duration_text(*latency.all_cpu_us) +
              (share.empty() ? "; " : " (" + share + "); ");
    }
    return line + missing_number_text(graph, time);
  }
  std::string line = "latency " + duration_text(*latency.total_us);
  if (is_slower_than_cpu(time)) {
    line += ", slower than the CPU alone (" + duration_text(*latency.all_cpu_us) + ", " +
            times_as_fast(*latency.all_cpu_us, *latency.total_us) + ")";
  }
  if (time.is_proved_best) {
    line += ", proved optimal for these times (" + measured_text(time.measured) + ")";
  }
  const std::string unmatched = unmatched_time_text(time);
  return line + ": " + sum_text(time) + cpu_text(time) + order_text(time) + best_text(time) +
         (unmatched.empty() ? "" : "; ") + unmatched;
}

std::string times_text(const Graph& graph, const InferenceTime& time) {
  const TimeBasis& basis = time.basis;
  if (!basis.target_names.empty()) {
    std::string text =
        "CPU: " + device_text(graph, basis.times.cpu, basis.machine.cpu, basis.cpu_unmatched);
    for (std::size_t i = 0; i < basis.target_names.size(); ++i) {
      text += "; " + basis.target_names[i] + ": " +
              device_text(graph, basis.times.on_target(i), basis.machine_with(i).acc,
                          i == 0 ? basis.acc_unmatched : UnmatchedTime());
    }
    return text;
  }
  return "CPU: " + device_text(graph, basis.times.cpu, basis.machine.cpu, basis.cpu_unmatched) +
         "; accelerator: " +
         device_text(graph, basis.times.acc, basis.machine.acc, basis.acc_unmatched);
}

std::string residency_text(const InferenceTime& time, bool is_link_given) {
  const LinkBytes& off = time.without.link_bytes;
  const LinkBytes& on = time.with.link_bytes;
  if (off.unknown != kNone<ValueId> || total_bytes(on) >= total_bytes(off)) return {};
  std::string text = bytes_text(total_bytes(on)) + " instead of " + bytes_text(total_bytes(off)) +
                     " cross the link if values stay on the accelerator (peak " +
                     bytes_text(time.plan.peak_bytes) + ")";
  const auto qps_off = shared_qps(time, time.without);
  const auto qps_on = shared_qps(time, time.with);
  if (is_link_given && qps_off && qps_on && *qps_on > *qps_off) {
    text += "; " + rate_text(*qps_off) + " QPS, " + rate_text(*qps_on) + " with it";
  }
  if (time.without.total_us && time.with.total_us) {
    text += "; latency " + duration_text(*time.without.total_us) + ", " +
            duration_text(*time.with.total_us) + " with it";
  }
  const auto memory = time.basis.machine.acc_memory;
  if (memory && time.basis.target_names.empty() && time.plan.peak_bytes > *memory) {
    text += "; its memory is " + bytes_text(*memory) + " only";
  }
  return text;
}

std::string part_time_text(const PartLatency& part) {
  if (!part.compute_us || !part.link_us || !part.launch_us) return "?";
  return duration_text(*part.compute_us + *part.link_us + *part.launch_us);
}

std::string energy_text(const InferenceTime& time) {
  const auto total = time.use ? time.use->total_mj() : std::nullopt;
  if (!total) return {};
  std::string text = joules_text(*total) + ": ";
  const std::vector<double>& of_device = time.use->energy_mj;
  for (std::size_t i = 0; i < of_device.size(); ++i) {
    const bool is_host = i + 1 == of_device.size();
    text += (i == 0 ? "" : " + ") + joules_text(of_device[i]) + " " +
            (is_host ? std::string("CPU") : time.basis.target_names[i]);
  }
  if (time.all_cpu_mj) {
    text += "; all on the CPU " + joules_text(*time.all_cpu_mj) + " (" +
            times_as_fast(*time.all_cpu_mj, *total) + ")";
  }
  if (!time.bound_mj) return text;
  if (time.in_order_cost) {
    text += "; " + asked_in_order(time) + ": " + joules_text(*time.in_order_cost);
  }
  constexpr double kRounding = 1e-9;
  return text + (*total <= *time.bound_mj * (1 + kRounding)
                     ? "; the least possible"
                     : "; no placement takes less than " + joules_text(*time.bound_mj));
}

std::string overlap_text(const InferenceTime& time, const Partition& partition) {
  if (!time.is_overlap_asked || !time.use || !time.asked().total_us) return {};
  constexpr std::size_t kMostNamed = 6;
  const PartSchedule& schedule = time.use->schedule;
  CappedList list(kMostNamed);
  std::string chain;
  for (const std::uint32_t part : schedule.critical) {
    if (!list.shows_next()) continue;
    chain += (chain.empty() ? "" : " > ") + escaped(partition.name(id_at<PartId>(part)));
  }
  return duration_text(schedule.makespan) +
         " where partitions of different devices run at the same " + "time (" +
         times_as_fast(*time.asked().total_us, schedule.makespan) +
         "); each of these waits for the one before it: " + chain + list.rest(" and # more");
}

}  // namespace cleave
