#include "formats/report/drawings/dot_parts.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/cost/cost.h"
#include "formats/report/drawings/dot.h"
#include "formats/report/drawings/dot_nodes.h"
#include "formats/report/drawings/dot_style.h"
#include "formats/report/drawings/flow_graph.h"
#include "formats/report/words/report_values.h"
#include "formats/report/words/value_text.h"

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

std::string head_lines(const Report& report, PartRange range) {
  const Partition& partition = report.split.partition;
  const std::size_t nodes = nodes_of(partition, range).size();
  const std::string first = dot_text(partition.names[range.first], 60);
  if (range.count() == 1) {
    return first + "\\n" + device_text(report, id_at<PartId>(range.first)) + ", " +
           counted(nodes, "node");
  }
  const auto devices = std::span(partition.devices).subspan(range.first, range.count());
  const auto acc = std::count(devices.begin(), devices.end(), Device::acc);
  return first + " to " + dot_text(partition.names[range.last - 1], 60) + "\\n" +
         counted(range.count(), "partition") + ", " + count_text(static_cast<std::uint64_t>(acc)) +
         (report.targets.empty() ? " on the accelerator\\n" : " on accelerators\\n") +
         counted(nodes, "node");
}

// The target of all parts of a box; kNone if there are several.
TargetId box_colour(const Report& report, PartRange range) {
  const TargetId first = colour_of(report, id_at<PartId>(range.first));
  for (std::size_t i = range.first; i < range.last; ++i) {
    if (colour_of(report, id_at<PartId>(i)) != first) return kNone<TargetId>;
  }
  return first;
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

// Parameters and the rate that the link allows, where somebody chose one: only for single parts, since
// these numbers do not add up.
std::string single_part_lines(const Report& report, PartId part) {
  const PartNumbers& numbers = report.preview.parts[part];
  std::string lines;
  if (numbers.parameter_bytes > 0) {
    lines += ", " + bytes_text(numbers.parameter_bytes) + " of parameters";
  }
  const std::optional<double> qps = known_qps(numbers);
  if (!qps || report.preview.link.is_assumed) return lines;
  const auto& bound = report.preview.bound;
  lines += "\\nlink allows " + rate_text(*qps) + " QPS";
  return lines + (bound && bound->bottleneck == part ? ": the bottleneck" : "");
}

}  // namespace

std::string part_line(const Report& report, PartId part) {
  const Partition& partition = report.split.partition;
  return dot_text(partition.name(part), 60) + ": " + device_text(report, part) + ", " +
         counted(partition.nodes(part).size(), "node");
}

DotAttributes part_box(const Report& report, PartRange range, PartColours colours,
                       const HeatMap* heat) {
  const Partition& partition = report.split.partition;
  const std::span<const NodeId> nodes = nodes_of(partition, range);
  const std::vector<OpCount> ops = count_ops(report.graph, nodes);
  const std::string head = head_lines(report, range);
  std::string label = head + "\\n" + ops_line(report.graph, ops, kMostOps);
  if (colours == PartColours::by_support) {
    const std::string support = support_line(count_roles(report, nodes));
    if (!support.empty()) label += "\\n" + support;
  }
  label += "\\n" + flops_line(report, range);
  if (range.count() == 1) label += single_part_lines(report, id_at<PartId>(range.first));
  DotAttributes attributes =
      with_role(box_role(report, range, colours), box_colour(report, range), {});
  if (heat != nullptr) {
    const double amount = heat_of(*heat, nodes);
    attributes = heat_attributes(heat_class(*heat, amount));
    label += "\\n" + heat_text(*heat, nodes);
  }
  attributes.push_back({"label", label});
  attributes.push_back({"tooltip", head + "\\n" + ops_line(report.graph, ops, kMostTooltipOps)});
  return attributes;
}

namespace {

constexpr std::size_t kMostEllipses = 30;  // of inputs, and of outputs
constexpr std::size_t kMostValues = 12;    // in a tooltip

// Everything drawn has a number: first boxes, then inputs, then outputs of the graph.
class Numbering {
 public:
  // At most `most_boxes` boxes, all but the last with the same number of parts.
  Numbering(const Report& report, std::size_t most_boxes)
      : parts_(report.split.partition.count()),
        inputs_(ellipses(report.graph.inputs().size())),
        outputs_(ellipses(report.graph.outputs().size())) {
    most_boxes = std::max<std::size_t>(most_boxes, 1);
    parts_a_box_ = std::max<std::size_t>((parts_ + most_boxes - 1) / most_boxes, 1);
  }
  std::size_t boxes() const { return (parts_ + parts_a_box_ - 1) / parts_a_box_; }
  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }
  PartRange parts_of(std::size_t box) const {
    return {box * parts_a_box_, std::min((box + 1) * parts_a_box_, parts_)};
  }
  std::uint32_t of_part(PartId part) const { return number(index(part) / parts_a_box_); }
  std::uint32_t of_input(std::size_t i) const { return number(boxes() + std::min(i, inputs_ - 1)); }
  std::uint32_t of_output(std::size_t i) const {
    return number(boxes() + inputs_ + std::min(i, outputs_ - 1));
  }

 private:
  static std::uint32_t number(std::size_t i) { return static_cast<std::uint32_t>(i); }
  // One ellipse represents all when there are too many.
  static std::size_t ellipses(std::size_t count) { return count > kMostEllipses ? 1 : count; }
  std::size_t parts_, inputs_, outputs_;
  std::size_t parts_a_box_ = 1;
};

// The number of the value's source; nullopt for a parameter.
std::optional<std::uint32_t> source_of(const Report& report, const Numbering& numbering,
                                       ValueId value) {
  const Graph& graph = report.graph;
  if (graph.is_parameter(value)) return std::nullopt;
  const NodeId producer = graph.value(value).producer;
  if (producer == kNone<NodeId>) return numbering.of_input(index(value));
  return numbering.of_part(report.split.partition.part_of[producer]);
}

// Flows inside a box are left out.
FlowGraph find_flows(const Report& report, const Numbering& numbering) {
  FlowGraph flows;
  const auto add = [&](ValueId value, std::uint32_t to) {
    const auto from = source_of(report, numbering, value);
    if (from && *from != to) flows.add({*from, to, value});
  };
  for (const PartId part : report.split.partition.parts()) {
    for (const ValueId value : report.split.boundaries.inputs[part]) {
      add(value, numbering.of_part(part));
    }
  }
  const std::span<const ValueId> outputs = report.graph.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) add(outputs[i], numbering.of_output(i));
  flows.arrange();
  return flows;
}

// Halves the number of boxes until the edges are readable.
std::size_t fitting_boxes(const Report& report, std::size_t most_boxes) {
  for (std::size_t boxes = most_boxes; boxes > 1; boxes /= 2) {
    const Numbering numbering(report, boxes);
    if (find_flows(report, numbering).edge_count() <= kMostEdgesABox * most_boxes) return boxes;
  }
  return 1;
}

// "3.06 MiB", "3 values, 9.19 MiB", "tuple", "2 values, at least 588 KiB"
std::string flows_label(const Graph& graph, std::span<const Flow> flows) {
  const FlowSum sum = sum_of(graph, flows);
  if (flows.size() == 1 && !graph.value(flows[0].value).is_tensor()) {
    return dot_text(type_text(graph, flows[0].value), 40);
  }
  return (flows.size() == 1 ? "" : counted(flows.size(), "value") + ", ") + sum.bytes_words();
}

std::string flows_tooltip(const Graph& graph, std::span<const Flow> flows) {
  const auto line = [&](const Flow& flow) { return value_line(graph, flow.value); };
  return capped_list(flows, kMostValues, line, "\\nand # more", "\\n");
}

DotAttributes ellipse(const Graph& graph, ValueId value) {
  return with_role(DotRole::terminal, {{"label", dot_text(graph.value(value).name, 40) + "\\n" +
                                                     dot_text(type_text(graph, value), 40)},
                                       {"tooltip", value_line(graph, value)}});
}

DotAttributes ellipse_of_all(std::size_t count, std::string_view thing) {
  const std::string label = counted(count, thing);
  return with_role(DotRole::terminal, {{"label", label}, {"tooltip", label}});
}

// Adds the ellipses of inputs or outputs and returns their ids.
template <class Values>
std::vector<std::string> add_ellipses(DotGraph& drawing, const Graph& graph, const Values& values,
                                      const std::string& kind) {
  std::vector<std::string> ids;
  const bool one = values.size() > kMostEllipses;
  for (std::size_t i = 0; i < (one ? 1 : values.size()); ++i) {
    ids.push_back(kind + ":" + std::to_string(i));
    drawing.add_node(ids.back(),
                     one ? ellipse_of_all(values.size(), kind) : ellipse(graph, values[i]));
  }
  return ids;
}

// Adds the boxes and returns all ids by number.
std::vector<std::string> add_boxes(DotGraph& drawing, const Report& report,
                                   const Numbering& numbering, const PartDrawingOptions& options) {
  const Graph& graph = report.graph;
  std::vector<std::string> inputs = add_ellipses(drawing, graph, graph.inputs(), "input");
  std::vector<std::string> ids;
  for (std::size_t box = 0; box < numbering.boxes(); ++box) {
    const PartRange parts = numbering.parts_of(box);
    ids.push_back(dot_id(report.split.partition.names[parts.first], "part",
                         static_cast<std::uint32_t>(parts.first)));
    drawing.add_node(ids.back(), part_box(report, parts, options.colours, options.heat));
  }
  const std::vector<std::string> outputs = add_ellipses(drawing, graph, graph.outputs(), "output");
  ids.insert(ids.end(), inputs.begin(), inputs.end());
  ids.insert(ids.end(), outputs.begin(), outputs.end());
  return ids;
}

}  // namespace

void draw_parts(DotGraph& drawing, const Report& report, const PartDrawingOptions& options) {
  const Graph& graph = report.graph;
  const Numbering numbering(report, fitting_boxes(report, options.most_boxes));
  const std::vector<std::string> ids = add_boxes(drawing, report, numbering, options);
  find_flows(report, numbering).each_edge([&](std::span<const Flow> together) {
    drawing.add_edge(ids[together.front().from], ids[together.front().to],
                     {{"label", " " + flows_label(graph, together)},
                      {"tooltip", flows_tooltip(graph, together)},
                      {"penwidth", "1.2"},
                      {"color", "#444444"}});
  });
}

}  // namespace cleave
