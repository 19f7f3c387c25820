#include "formats/report/drawings/dot_part_box.h"

#include <algorithm>
#include <span>

#include "formats/base/text/number_text.h"
#include "formats/report/drawings/dot_nodes.h"
#include "formats/report/drawings/dot_ops.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

constexpr std::size_t kMostOps = 3;          // in the label
constexpr std::size_t kMostTooltipOps = 40;  // in the tooltip

std::span<const NodeId> nodes_of(const Partition& partition, PartRange range) {
  const std::uint32_t first = partition.member_begin[range.first];
  return std::span(partition.members).subspan(first, partition.member_begin[range.last] - first);
}

struct RoleCounts {
  std::size_t acc = 0, kept = 0, unsupported = 0;
};

RoleCounts count_roles(const Report& report, std::span<const NodeId> nodes) {
  RoleCounts counts;
  for (const NodeId node : nodes) {
    const DotRole role = node_role(report, node);
    ++(role == DotRole::acc           ? counts.acc
       : role == DotRole::kept_on_cpu ? counts.kept
                                      : counts.unsupported);
  }
  return counts;
}

DotRole box_role(const Report& report, PartRange range, PartColours colours) {
  const Partition& partition = report.split.partition;
  if (colours == PartColours::by_support) {
    const RoleCounts counts = count_roles(report, nodes_of(partition, range));
    if (counts.unsupported > 0) return DotRole::unsupported;
    return counts.kept > 0 ? DotRole::kept_on_cpu : DotRole::acc;
  }
  const auto devices = std::span(partition.devices).subspan(range.first, range.count());
  const bool all_acc = std::all_of(devices.begin(), devices.end(),
                                   [](Device device) { return device == Device::acc; });
  return all_acc ? DotRole::acc : DotRole::cpu;
}

std::string head_lines(const Partition& partition, PartRange range) {
  const std::size_t nodes = nodes_of(partition, range).size();
  const std::string first = dot_text(partition.names[range.first], 60);
  if (range.count() == 1) {
    return first + "\\n" + std::string(device_text(partition.devices[range.first])) + ", " +
           counted(nodes, "node");
  }
  const auto devices = std::span(partition.devices).subspan(range.first, range.count());
  const auto acc = std::count(devices.begin(), devices.end(), Device::acc);
  return first + " to " + dot_text(partition.names[range.last - 1], 60) + "\\n" +
         counted(range.count(), "partition") + ", " + count_text(static_cast<std::uint64_t>(acc)) +
         " on the accelerator\\n" + counted(nodes, "node");
}

// The line about support, for a box that is not entirely on the accelerator.
std::string support_line(const RoleCounts& counts) {
  std::string line;
  if (counts.unsupported > 0) line = count_text(counts.unsupported) + " unsupported";
  if (counts.kept == 0) return line;
  return line + (line.empty() ? "" : ", ") + count_text(counts.kept) + " supported but kept";
}

std::string flops_line(const Report& report, PartRange range) {
  double flops = 0;
  std::size_t unknown = 0;
  for (std::size_t i = range.first; i < range.last; ++i) {
    const PartNumbers& numbers = report.preview.parts[id_at<PartId>(i)];
    flops += numbers.flops;
    unknown += numbers.unknown_flops;
  }
  if (flops == 0 && unknown > 0) return "FLOPs unknown";
  return (unknown > 0 ? "at least " : "") + flops_text(flops);
}

// Parameters and the rate that the link allows: only for single parts, since these numbers do not
// add up.
std::string single_part_lines(const Report& report, PartId part) {
  const PartNumbers& numbers = report.preview.parts[part];
  std::string lines;
  if (numbers.parameter_bytes > 0) {
    lines += ", " + bytes_text(numbers.parameter_bytes) + " of parameters";
  }
  const std::optional<double> qps = known_qps(numbers);
  if (!qps) return lines;
  const auto& bound = report.preview.bound;
  lines += "\\nlink allows " + rate_text(*qps) + " QPS";
  return lines + (bound && bound->bottleneck == part ? ": the bottleneck" : "");
}

}  // namespace

std::string part_line(const Partition& partition, PartId part) {
  return dot_text(partition.name(part), 60) + ": " +
         std::string(device_text(partition.devices[index(part)])) + ", " +
         counted(partition.nodes(part).size(), "node");
}

DotAttributes part_box(const Report& report, PartRange range, PartColours colours,
                       const HeatMap* heat) {
  const Partition& partition = report.split.partition;
  const std::span<const NodeId> nodes = nodes_of(partition, range);
  const std::vector<OpCount> ops = count_ops(report.model.graph, nodes);
  const std::string head = head_lines(partition, range);
  std::string label = head + "\\n" + ops_line(report.model.graph, ops, kMostOps);
  if (colours == PartColours::by_support) {
    const std::string support = support_line(count_roles(report, nodes));
    if (!support.empty()) label += "\\n" + support;
  }
  label += "\\n" + flops_line(report, range);
  if (range.count() == 1) label += single_part_lines(report, id_at<PartId>(range.first));
  DotAttributes attributes = role_attributes(box_role(report, range, colours));
  if (heat != nullptr) {
    const double amount = heat_of(*heat, nodes);
    attributes = heat_attributes(heat_class(*heat, amount));
    label += "\\n" + heat_text(*heat, nodes);
  }
  attributes.push_back({"label", label});
  attributes.push_back(
      {"tooltip", head + "\\n" + ops_line(report.model.graph, ops, kMostTooltipOps)});
  return attributes;
}

}  // namespace cleave
