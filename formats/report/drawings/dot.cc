// Makes .dot files.

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- dot nodes ----

namespace {

constexpr std::size_t kLongestName = 40;  // in a label; tooltips hold more
constexpr std::size_t kMostOutputs = 8;   // in a tooltip

std::string bytes_label(const Graph& graph, ValueId value) {
  if (!graph.value(value).is_tensor()) return dot_text(type_text(graph, value), kLongestName);
  const auto bytes = value_bytes(graph, value);
  return bytes ? bytes_text(*bytes) : "size unknown";
}

std::string terminal_label(const Graph& graph, ValueId value) {
  return dot_text(graph.value(value).name, kLongestName) + "\\n" +
         dot_text(type_text(graph, value), kLongestName);
}

// Edges that enter a part are what the link carries: they are emphasised.
DotAttributes crossing_attributes() { return {{"color", "#333333"}, {"penwidth", "1.6"}}; }

// Green, amber or red, depending on the support verdict and the partition of the node.
DotRole node_role(const Report& report, NodeId node) {
  if (!report.split.support.supported.contains(node)) return DotRole::unsupported;
  const Partition& partition = report.split.partition;
  return partition.is_acc(partition.part_of[node]) ? DotRole::acc : DotRole::kept_on_cpu;
}

}  // namespace

NodeCard node_card(const Report& report, NodeId node) {
  const Graph& graph = report.graph;
  const Partition& partition = report.split.partition;
  const PartId part = partition.part_of[node];
  const bool is_acc = partition.is_acc(part);
  NodeCard card{.name = graph.node(node).name,
                .op = graph.op(node),
                .part = part,
                .partition = partition.name(part),
                .is_acc = is_acc,
                .device = device_text(report, part)};
  for (std::size_t i = 0; i < report.targets.size(); ++i) {
    const Reason& of_target = report.split.targets[i].reasons[node];
    if (of_target.code == ReasonCode::none) continue;
    card.why_not.emplace_back(
        report.targets[i].name,
        reason_text(reason_context(report, id_at<TargetId>(i)), node, of_target));
  }
  const Reason& reason = report.split.reasons[node];
  if (reason.code == ReasonCode::none) return card;
  card.code = reason_code_name(reason.code);
  card.why = reason_text(reason_context(report), node, reason);
  return card;
}

namespace {

// The id of the node in a drawing.
std::string node_id(const Graph& graph, NodeId node) {
  return dot_id(graph.node(node).name, "node", index(node));
}

// Op type, name and first output's type, one per line.
std::string node_label(const Graph& graph, NodeId node) {
  std::string label =
      op_label(graph.op(node)) + "\\n" + dot_text(graph.node(node).name, kLongestName);
  const auto type = [&](ValueId output) {
    return "\\n" + dot_text(type_text(graph, output), kLongestName);
  };
  return label + capped_list(graph.outputs(node), 1, type);
}

// Adds the legend of the roles that node_role() returns.
void add_node_legend(DotGraph& drawing, const Report& report) {
  add_legend(drawing, report,
             {{DotRole::acc, "supported, on the accelerator"},
              {DotRole::kept_on_cpu, "supported, kept on the CPU"},
              {DotRole::unsupported, "unsupported"},
              {DotRole::terminal, "input, output or parameter"}});
}

class NodeDrawing {
 public:
  // Draws nodes of `only` alone, or of every part; coloured by `heat` unless it is null.
  NodeDrawing(DotGraph& drawing, const Report& report, std::optional<PartId> only = std::nullopt,
              const HeatMap* heat = nullptr)
      : drawing_(drawing),
        report_(report),
        graph_(report.graph),
        only_(only),
        heat_(heat),
        labelled_(only ? 1 : report.split.partition.count(), kNone<ValueId>) {}

  void add_node(NodeId node) {
    if (heat_ != nullptr) {
      const double amount = heat_->amounts[node];
      const std::string text = heat_text(*heat_, amount);
      DotAttributes attributes = heat_attributes(heat_class(*heat_, amount));
      attributes.push_back({"label", node_label(graph_, node) + "\\n" + text});
      attributes.push_back({"tooltip", node_tooltip(node) + "\\n" + text});
      drawing_.add_node(node_id(graph_, node), attributes);
      return;
    }
    drawing_.add_node(
        node_id(graph_, node),
        with_role(node_role(report_, node),
                  colour_of(report_, report_.split.partition.part_of[node]),
                  {{"label", node_label(graph_, node)}, {"tooltip", node_tooltip(node)}}));
  }

  // A box with op type, name and type, coloured by role; its tooltip says where the node runs, and
  // why not elsewhere.

  // An ellipse for a value that no drawn node makes; a small box for a parameter.
  void add_source(ValueId value) {
    const DotRole role = graph_.is_parameter(value) ? DotRole::parameter : DotRole::terminal;
    drawing_.add_node(source_id(value), with_role(role, {{"label", terminal_label(graph_, value)},
                                                         {"tooltip", value_line(graph_, value)}}));
  }

  // Edges from the value's source to each drawn node that reads it. Thick if it enters a part; the
  // first one into each part is labelled with the bytes. Call after adding the boxes at both ends.
  void add_edges(ValueId value) {
    for (const NodeId user : graph_.users(value)) {
      if (is_drawn(user)) add_edge(value, user);
    }
  }

  // An ellipse for a graph output; `number` makes its id unique.
  void add_output(ValueId value, std::size_t number) {
    const std::string id = "output:" + std::to_string(number);
    drawing_.add_node(id, with_role(DotRole::terminal, {{"label", terminal_label(graph_, value)},
                                                        {"tooltip", value_line(graph_, value)}}));
    DotAttributes attributes = crossing_attributes();
    attributes.push_back({"label", " " + bytes_label(graph_, value)});
    attributes.push_back({"tooltip", value_line(graph_, value)});
    drawing_.add_edge(source_id(value), id, attributes);
  }

 private:
  bool is_drawn(NodeId node) const {
    return !only_ || report_.split.partition.part_of[node] == *only_;
  }

  std::string source_id(ValueId value) const {
    const std::string number = std::to_string(index(value));
    if (graph_.is_parameter(value)) return "parameter:" + number;
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNone<NodeId> || !is_drawn(producer)) return "input:" + number;
    return node_id(graph_, producer);
  }

  void add_edge(ValueId value, NodeId user) {
    const PerNode<PartId>& part_of = report_.split.partition.part_of;
    const PartId part = part_of[user];
    const NodeId producer = graph_.value(value).producer;
    const bool crosses =
        !graph_.is_parameter(value) && (producer == kNone<NodeId> || part_of[producer] != part);
    DotAttributes attributes;
    if (crosses) attributes = crossing_attributes();
    ValueId& labelled = labelled_[only_ ? 0 : index(part)];
    if (crosses && labelled != value) {
      attributes.push_back({"label", " " + bytes_label(graph_, value)});
      labelled = value;
    }
    attributes.push_back({"tooltip", value_line(graph_, value)});
    drawing_.add_edge(source_id(value), node_id(graph_, user), attributes);
  }

  std::string node_tooltip(NodeId node) const {
    const NodeCard card = node_card(report_, node);
    std::string text = dot_text(card.op, 120) + "\\n" + dot_text(card.name);
    const auto line = [&](ValueId output) { return "\\noutputs " + value_line(graph_, output); };
    text += capped_list(graph_.outputs(node), kMostOutputs, line, "", "");
    text += "\\non the " + card.device + ", in " + dot_text(card.partition);
    return card.why.empty() ? text : text + ":\\n" + dot_text(card.why, 1000);
  }

  DotGraph& drawing_;
  const Report& report_;
  const Graph& graph_;
  std::optional<PartId> only_;
  const HeatMap* heat_;
  // The value whose edge into the part was the last to get a label; one entry when drawing one
  // part.
  std::vector<ValueId> labelled_;
};

}  // namespace

// ---- dot parts ----

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
  const bool all_acc =
      std::ranges::all_of(devices, [](Device device) { return device == Device::acc; });
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
  const auto acc = std::ranges::count(devices, Device::acc);
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

// "_run_on_acc_1: accelerator, 12 nodes"
std::string part_line(const Report& report, PartId part) {
  const Partition& partition = report.split.partition;
  return dot_text(partition.name(part), 60) + ": " + device_text(report, part) + ", " +
         counted(partition.nodes(part).size(), "node");
}

// Colour, label and tooltip: device, nodes, op types, FLOPs, parameters, what the link allows.
// Coloured by `heat` unless it is null.
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

// Boxes, see part_box(); the graph's inputs and outputs as ellipses, one for all if there are many;
// edges with the bytes that flow. O(n log^2 n) in nodes + boundaries.
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

}  // namespace

// ---- dot view ----

namespace {

constexpr std::uint32_t kOutside = kNone<std::uint32_t>;
constexpr std::size_t kMostPorts = 24;  // on either side; more are drawn as one
constexpr std::size_t kLongestTitle = 48;
constexpr std::size_t kManyReaders = 6;  // edges to as many boxes are one up to a junction

enum class Side : std::uint8_t { inside, in, out };

class ViewDrawing {
 public:
  ViewDrawing(const Report& report, const Views& views, ViewId view,
              const PerNode<std::uint32_t>& box_of, std::size_t most_ranks)
      : report_(report),
        graph_(report.graph),
        partition_(report.split.partition),
        views_(views),
        id_(view),
        box_of_(box_of),
        most_ranks_(most_ranks),
        drawing_(start_drawing("view", "")) {}

  std::string draw() {
    gather();
    for (const ViewBox box : view().boxes)
      box.view == kNone<ViewId> ? add_node(box.node) : add_group(box.view);
    add_part_boxes();
    add_junctions();
    add_flows(inside_, Side::inside);
    add_flows(in_, Side::in);
    add_flows(out_, Side::out);
    left_out_ = drawing_.leave_out_long_edges(most_ranks_);
    if (left_out_ > 0) {
      drawing_.set_graph({{"label", left_out_text(left_out_)}});
    }
    return drawing_.text();
  }

  std::size_t left_out() const { return left_out_; }

 private:
  const View& view() const { return views_[id_]; }

  // ---- what flows ----

  void gather() {
    for (const NodeId node : views_.nodes(id_)) {
      for (const Operand& operand : graph_.operands(node)) gather_read(operand.value, node);
      for (const ValueId value : graph_.outputs(node)) gather_made(value, node);
    }
    inside_.arrange();
    bundle_ports(in_, &Flow::from);
    bundle_ports(out_, &Flow::to);
  }

  void gather_read(ValueId value, NodeId reader) {
    if (graph_.is_parameter(value)) return;
    const NodeId maker = graph_.value(value).producer;
    const std::uint32_t to = box_of_[reader];
    const std::uint32_t from = maker == kNone<NodeId> ? kOutside : box_of_[maker];
    const bool crosses =
        maker == kNone<NodeId> || partition_.part_of[maker] != partition_.part_of[reader];
    if (from == kOutside) {
      in_.add({index(value), to, value, crosses});
    } else if (from != to) {
      inside_.add({from, to, value, crosses});
    }
  }

  void gather_made(ValueId value, NodeId maker) {
    const auto users = graph_.users(value);
    const auto outside =
        std::ranges::find_if(users, [&](NodeId user) { return box_of_[user] == kOutside; });
    const bool leaves = graph_.is_graph_output(value);
    if (outside == users.end() && !leaves) return;
    const bool crosses = leaves || std::any_of(outside, users.end(), [&](NodeId user) {
                           return partition_.part_of[user] != partition_.part_of[maker];
                         });
    out_.add({box_of_[maker], index(value), value, crosses});
  }

  // Many ports are merged into one, which has no number.
  static void bundle_ports(FlowGraph& graph, std::uint32_t Flow::*port) {
    std::vector<std::uint32_t> ports;
    for (const Flow& flow : graph.flows()) ports.push_back(flow.*port);
    sort_unique(ports);
    if (ports.size() > kMostPorts) {
      for (Flow& flow : graph.flows()) flow.*port = kOutside;
    }
    graph.arrange();
  }

  // ---- boxes ----

  void add_node(NodeId node) {
    const char* role = "unsupported";
    if (node_role(report_, node) == DotRole::acc) role = "acc";
    if (node_role(report_, node) == DotRole::kept_on_cpu) role = "kept";
    add_box("n" + std::to_string(index(node)), role, node_role(report_, node),
            cleave::colour_of(report_, partition_.part_of[node]), node_label(graph_, node));
  }

  // A box around the nodes of each part, if there are several parts.
  void add_part_boxes() {
    std::map<PartId, std::vector<std::string>> members;
    for (const ViewBox box : view().boxes) {
      if (box.view == kNone<ViewId>) {
        members[partition_.part_of[box.node]].push_back("n" + std::to_string(index(box.node)));
      }
    }
    if (members.size() < 2) return;
    for (auto& [part, ids] : members) {
      drawing_.add_cluster(cluster_attributes(report_, part, part_line(report_, part)),
                           std::move(ids));
    }
  }

  void add_group(ViewId group) {
    const auto nodes = views_.nodes(group);
    const auto cpu = static_cast<std::size_t>(std::ranges::count_if(
        nodes, [&](NodeId node) { return !partition_.is_acc(partition_.part_of[node]); }));
    std::string label = "\u25b8 " + dot_text(views_[group].title, kLongestTitle) + "\\n" +
                        counted(nodes.size(), "node");
    const char* role = cpu == 0 ? "acc" : "mixed";
    if (cpu == nodes.size()) role = "cpu";
    if (cpu > 0 && cpu < nodes.size()) label += ", " + count_text(cpu) + " on the CPU";
    if (cpu == nodes.size()) label += " on the CPU";
    add_box("g" + std::to_string(index(group)), std::string("group ") + role,
            cpu == 0 ? DotRole::acc : DotRole::cpu, colour_of(nodes), label);
  }

  // The target of all of the nodes; kNone if there are several.
  TargetId colour_of(std::span<const NodeId> nodes) const {
    const auto target = [&](NodeId node) {
      return cleave::colour_of(report_, partition_.part_of[node]);
    };
    const TargetId first = target(nodes.front());
    const bool is_same =
        std::ranges::all_of(nodes, [&](NodeId node) { return target(node) == first; });
    return is_same ? first : kNone<TargetId>;
  }

  void add_box(const std::string& id, std::string kind, DotRole role, TargetId target,
               std::string label) {
    const bool has_colour = role == DotRole::acc && target != kNone<TargetId>;
    if (has_colour) kind += " target" + std::to_string(index(target) % kTargetColours);
    drawing_.add_node(
        id, with_role(role, target,
                      {{"id", id}, {"class", std::move(kind)}, {"label", std::move(label)}}));
  }

  std::string box_id(std::uint32_t box) const {
    const ViewBox& of = view().boxes[box];
    return of.view == kNone<ViewId> ? "n" + std::to_string(index(of.node))
                                    : "g" + std::to_string(index(of.view));
  }

  // ---- flows ----

  // Draws a value with many readers as one edge to a junction, and from there one to each reader.
  // Its flows are taken out of `inside_`.
  void add_junctions() {
    std::vector<Flow> by_value = std::exchange(inside_.flows(), {});
    std::ranges::stable_sort(by_value,
                             [](const Flow& a, const Flow& b) { return a.value < b.value; });
    for (std::size_t begin = 0; begin < by_value.size();) {
      std::size_t end = begin;
      while (end < by_value.size() && by_value[end].value == by_value[begin].value) ++end;
      const std::span flows = std::span(by_value).subspan(begin, end - begin);
      if (flows.size() < kManyReaders) {
        for (const Flow& flow : flows) inside_.add(flow);
      } else {
        add_junction(flows);
      }
      begin = end;
    }
    inside_.arrange();
  }

  void add_junction(std::span<const Flow> flows) {
    const ValueId value = flows.front().value;
    const std::string id = "j" + std::to_string(index(value)) + "_" +
                           std::to_string(index(graph_.value(value).producer));
    drawing_.add_node(id, {{"id", id},
                           {"class", "junction"},
                           {"label", ""},
                           {"shape", "point"},
                           {"width", "0.06"},
                           {"fillcolor", "#8a8a8a"},
                           {"color", "#8a8a8a"},
                           {"tooltip", value_line(graph_, value)}});
    const bool crosses = std::ranges::any_of(flows, [](const Flow& flow) { return flow.crosses; });
    DotAttributes stem = edge_attributes(flows.first(1), crosses);
    stem.push_back({"arrowhead", "none"});
    if (crosses) stem.push_back({"label", " " + bytes_label(flows.first(1))});
    drawing_.add_edge(box_id(flows.front().from), id, stem);
    for (const Flow& flow : flows) {
      drawing_.add_edge(id, box_id(flow.to), edge_attributes({&flow, 1}, flow.crosses));
    }
  }

  void add_flows(const FlowGraph& graph, Side side) {
    graph.each_edge([&](std::span<const Flow> flows) { add_flow(flows, side); });
  }

  void add_flow(std::span<const Flow> flows, Side side) {
    const Flow& flow = flows.front();
    const std::string from = side == Side::in ? port_id(flow, flow.from, side) : box_id(flow.from);
    const std::string to = side == Side::out ? port_id(flow, flow.to, side) : box_id(flow.to);
    const bool crosses = std::ranges::any_of(flows, [](const Flow& one) { return one.crosses; });
    DotAttributes attributes = edge_attributes(flows, crosses);
    if (crosses && side == Side::inside) {
      attributes.push_back({"label", " " + bytes_label(flows)});
    }
    drawing_.add_edge(from, to, attributes);
  }

  DotAttributes edge_attributes(std::span<const Flow> flows, bool crosses) const {
    DotAttributes attributes = {{"tooltip", flow_line(flows)}};
    if (crosses) attributes.insert(attributes.end(), {{"class", "crossing"}, {"penwidth", "1.6"}});
    return attributes;
  }

  // The ellipse at the drawing's edge for a value; the same value always has the same one.
  std::string port_id(const Flow& flow, std::uint32_t port, Side side) {
    std::string id = side == Side::in ? "s" : "t";
    std::string label;
    if (port == kOutside) {
      id += "_";
      label = side == Side::in ? "values from outside" : "values for outside";
    } else {
      id += std::to_string(port) + "_";
      const NodeId other =
          side == Side::in ? graph_.value(flow.value).producer : outer_user(flow.value);
      if (other != kNone<NodeId>) id += std::to_string(index(other));
      label = dot_text(graph_.value(flow.value).name, kLongestTitle);
    }
    drawing_.add_node(
        id, with_role(DotRole::terminal, {{"id", id}, {"class", "port"}, {"label", label}}));
    return id;
  }

  NodeId outer_user(ValueId value) const {
    for (const NodeId user : graph_.users(value)) {
      if (box_of_[user] == kOutside) return user;
    }
    return kNone<NodeId>;
  }

  std::string bytes_label(std::span<const Flow> flows) const {
    const FlowSum sum = sum_of(graph_, flows);
    return sum.is_known ? bytes_text(sum.bytes) : "size unknown";
  }

  std::string flow_line(std::span<const Flow> flows) const {
    if (flows.size() == 1) return value_line(graph_, flows[0].value);
    return counted(flows.size(), "value") + ", " + bytes_label(flows);
  }

  const Report& report_;
  const Graph& graph_;
  const Partition& partition_;
  const Views& views_;
  ViewId id_;
  const PerNode<std::uint32_t>& box_of_;
  std::size_t most_ranks_;
  DotGraph drawing_;
  std::size_t left_out_ = 0;
  FlowGraph inside_;  // from box to box
  // The end at a port is the value itself.
  FlowGraph in_, out_;
};

}  // namespace

ViewDrawings::ViewDrawings(const Report& report, const Views& views, std::size_t most_ranks)
    : report_(report),
      views_(views),
      most_ranks_(most_ranks),
      box_of_(report.graph.node_count(), kOutside) {}

std::string ViewDrawings::draw(ViewId view) {
  const std::vector<ViewBox>& boxes = views_[view].boxes;
  for (std::uint32_t box = 0; box < boxes.size(); ++box) {
    if (boxes[box].view == kNone<ViewId>) {
      box_of_[boxes[box].node] = box;
    } else {
      for (const NodeId node : views_.nodes(boxes[box].view)) box_of_[node] = box;
    }
  }
  ViewDrawing drawing(report_, views_, view, box_of_, most_ranks_);
  std::string text = drawing.draw();
  left_out_ = drawing.left_out();
  for (const NodeId node : views_.nodes(view)) box_of_[node] = kOutside;
  return text;
}

// ---- dot ----

namespace {

// "resnet18: 66 of 69 nodes on the accelerator, 5 partitions"
std::string model_line(const Report& report) {
  const Coverage& nodes = report.preview.coverage.nodes;
  return dot_text(model_name(report.model), 60) + ": " +
         count_text(static_cast<std::uint64_t>(nodes.acc)) + " of " +
         counted(static_cast<std::size_t>(nodes.total), "node") + " on the accelerator, " +
         counted(report.split.partition.count(), "partition");
}

// The number of boxes when nodes are drawn singly.
std::size_t box_count(const Graph& graph) {
  return graph.node_count() + graph.inputs().size() + graph.outputs().size();
}

// The number of edges of such a drawing, at least.
std::size_t edge_count(const Graph& graph) {
  std::size_t edges = graph.outputs().size();
  for (const NodeId node : graph.nodes()) edges += graph.operands(node).size();
  return edges;
}

// Inputs and parameters: all that are read if there is room for them, else only those that are
// outputs of the graph.
std::vector<ValueId> sources(const Graph& graph, std::size_t most) {
  std::vector<ValueId> read, given;
  for (const ValueId parameter : graph.parameters()) {
    if (graph.is_graph_output(parameter)) given.push_back(parameter);
    if (graph.is_graph_output(parameter) || !graph.users(parameter).empty()) {
      read.push_back(parameter);
    }
  }
  std::vector<ValueId> all(graph.inputs().begin(), graph.inputs().end());
  const std::vector<ValueId>& shown = box_count(graph) + read.size() <= most ? read : given;
  all.insert(all.end(), shown.begin(), shown.end());
  return all;
}

void add_clusters(DotGraph& drawing, const Report& report) {
  const Partition& partition = report.split.partition;
  for (const PartId part : partition.parts()) {
    std::vector<std::string> members;
    for (const NodeId node : partition.nodes(part)) {
      members.push_back(node_id(report.graph, node));
    }
    if (members.empty()) continue;
    drawing.add_cluster(cluster_attributes(report, part, part_line(report, part)),
                        std::move(members));
  }
}

// The text of a drawing with this title, which then also says how many edges are left out.
std::string finished(DotGraph& drawing, const std::string& title, DrawnEdges edges) {
  if (edges == DrawnEdges::shorter) {
    const std::size_t left_out = drawing.leave_out_long_edges(DotGraph::kMostRanksSpanned);
    if (left_out > 0)
      drawing.set_graph({{"label", title + "\\l" + left_out_text(left_out) + "\\l "}});
  }
  return drawing.text();
}

std::string draw_all_nodes(const Report& report, const std::vector<ValueId>& sources,
                           const HeatMap* heat, DrawnEdges edges) {
  const Graph& graph = report.graph;
  DotGraph drawing = start_drawing(graph.name(), model_line(report));
  heat != nullptr ? add_heat_legend(drawing, *heat) : add_node_legend(drawing, report);
  NodeDrawing nodes(drawing, report, std::nullopt, heat);
  for (const ValueId source : sources) nodes.add_source(source);
  for (const NodeId node : graph.nodes()) nodes.add_node(node);
  for (const ValueId source : sources) nodes.add_edges(source);
  for (const NodeId node : graph.nodes()) {
    for (const ValueId value : graph.outputs(node)) nodes.add_edges(value);
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    nodes.add_output(graph.outputs()[i], i);
  }
  add_clusters(drawing, report);
  return finished(drawing, model_line(report), edges);
}

// "69 nodes are", "10 000 edges are"
std::string what_is_too_many(const Graph& graph, std::size_t most_boxes) {
  const bool are_nodes = box_count(graph) > most_boxes;
  const std::size_t count = are_nodes ? graph.node_count() : edge_count(graph);
  return counted(count, are_nodes ? "node" : "edge") + (count == 1 ? " is" : " are");
}

std::string draw_collapsed(const Report& report, std::size_t most_boxes, const HeatMap* heat,
                           DrawnEdges edges) {
  const Graph& graph = report.graph;
  const std::string title =
      model_line(report) + "\\l" + what_is_too_many(graph, most_boxes) +
      " too many to draw singly; partitions are drawn instead: raise --limit drawn-nodes";
  DotGraph drawing = start_drawing(graph.name(), title);
  if (heat != nullptr) {
    add_heat_legend(drawing, *heat);
  } else {
    add_legend(drawing, report,
               {{DotRole::acc, "on the accelerator"},
                {DotRole::kept_on_cpu, "all supported, kept on the CPU"},
                {DotRole::unsupported, "holds unsupported nodes"},
                {DotRole::terminal, "input or output"}});
  }
  draw_parts(drawing, report,
             {.most_boxes = most_boxes, .colours = PartColours::by_support, .heat = heat});
  return finished(drawing, title, edges);
}

}  // namespace

std::string draw_support(const Report& report, std::size_t collapse_above, const HeatMap* heat,
                         DrawnEdges edges) {
  const Graph& graph = report.graph;
  const bool is_too_large =
      box_count(graph) > collapse_above || edge_count(graph) / kMostEdgesABox > collapse_above;
  if (is_too_large) return draw_collapsed(report, collapse_above, heat, edges);
  return draw_all_nodes(report, sources(graph, collapse_above), heat, edges);
}

std::string draw_preview(const Report& report, const HeatMap* heat, DrawnEdges edges) {
  std::string title = model_line(report);
  const auto bound = known_bound(report.preview);
  if (bound && !report.preview.link.is_assumed) {
    title += "\\lthe link (" + dot_text(report.preview.link.name, 40) + ") allows " +
             rate_text(bound->shared_qps) + " QPS";
  }
  DotGraph drawing = start_drawing(report.graph.name(), title);
  if (heat != nullptr) add_heat_legend(drawing, *heat);
  if (heat == nullptr) {
    add_legend(drawing, report,
               {{DotRole::acc, "on the accelerator"}, {DotRole::cpu, "on the CPU"}});
  }
  draw_parts(drawing, report, {.heat = heat});
  return finished(drawing, title, edges);
}

namespace {

constexpr std::size_t kOpColumns = 4;

std::string title_of(const Report& report, PartId part) {
  const PartNumbers& numbers = report.preview.parts[part];
  const Graph& graph = report.graph;
  const Boundaries& boundaries = report.split.boundaries;
  return part_line(report, part) + "\\ltakes in " +
         crossing_words(graph, boundaries.inputs[part], numbers.input_bytes) + ", outputs " +
         crossing_words(graph, boundaries.outputs[part], numbers.output_bytes);
}

std::string draw_part_nodes(const Report& report, PartId part, const HeatMap* heat,
                            DrawnEdges edges) {
  const Graph& graph = report.graph;
  const Boundaries& boundaries = report.split.boundaries;
  const Partition& partition = report.split.partition;
  DotGraph drawing = start_drawing(partition.name(part), title_of(report, part));
  if (heat != nullptr) {
    add_heat_legend(drawing, *heat);
  } else if (!partition.is_acc(part)) {
    add_node_legend(drawing, report);
  }
  NodeDrawing nodes(drawing, report, part, heat);
  for (const ValueId input : boundaries.inputs[part]) nodes.add_source(input);
  for (const NodeId node : partition.nodes(part)) nodes.add_node(node);
  for (const ValueId input : boundaries.inputs[part]) nodes.add_edges(input);
  for (const NodeId node : partition.nodes(part)) {
    for (const ValueId value : graph.outputs(node)) nodes.add_edges(value);
  }
  std::size_t number = 0;
  for (const ValueId output : boundaries.outputs[part]) nodes.add_output(output, number++);
  return finished(drawing, title_of(report, part), edges);
}

std::string draw_part_ops(const Report& report, PartId part, std::size_t most_boxes) {
  const Graph& graph = report.graph;
  const Partition& partition = report.split.partition;
  const std::vector<OpCount> ops = count_ops(graph, partition.nodes(part));
  DotGraph drawing =
      start_drawing(partition.name(part), title_of(report, part) +
                                              "\\ltoo many nodes or edges to draw singly; op types "
                                              "are drawn instead: raise --limit drawn-nodes");
  const DotRole role = partition.is_acc(part) ? DotRole::acc : DotRole::cpu;
  std::vector<std::string> ids;
  for (const OpCount& op : ops) {
    if (ids.size() >= std::max<std::size_t>(most_boxes, 1)) break;
    ids.push_back("node:" + std::to_string(ids.size()));
    drawing.add_node(ids.back(),
                     with_role(role, colour_of(report, part),
                               {{"label", count_text(op.count) + " " + op_label(graph.text(op.op))},
                                {"tooltip", dot_text(graph.text(op.op))}}));
  }
  if (ids.size() < ops.size()) {
    ids.emplace_back("node:rest");
    drawing.add_node(ids.back(),
                     with_role(role, colour_of(report, part),
                               {{"label", counted(ops.size() - ids.size() + 1, "other op type")}}));
  }
  arrange_in_columns(drawing, ids, kOpColumns);
  return drawing.text();
}

}  // namespace

std::string draw_part(const Report& report, PartId part, std::size_t collapse_above,
                      const HeatMap* heat, DrawnEdges drawn) {
  const Boundaries& boundaries = report.split.boundaries;
  const std::size_t boxes = report.split.partition.nodes(part).size() +
                            boundaries.inputs[part].size() + boundaries.outputs[part].size();
  std::size_t edges = boundaries.outputs[part].size();
  for (const NodeId node : report.split.partition.nodes(part)) {
    edges += report.graph.operands(node).size();
  }
  if (boxes > collapse_above || edges / kMostEdgesABox > collapse_above)
    return draw_part_ops(report, part, collapse_above);
  return draw_part_nodes(report, part, heat, drawn);
}

}  // namespace cleave
