#include "formats/report/drawings/dot_view.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/base/number_text.h"
#include "core/cost/cost.h"
#include "formats/report/drawings/dot_nodes.h"
#include "formats/report/drawings/dot_parts.h"
#include "formats/report/drawings/dot_style.h"
#include "formats/report/drawings/flow_graph.h"

namespace cleave {
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
    const auto outside = std::find_if(users.begin(), users.end(),
                                      [&](NodeId user) { return box_of_[user] == kOutside; });
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
    std::sort(ports.begin(), ports.end());
    ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
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
    const auto cpu =
        static_cast<std::size_t>(std::count_if(nodes.begin(), nodes.end(), [&](NodeId node) {
          return !partition_.is_acc(partition_.part_of[node]);
        }));
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
        std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return target(node) == first; });
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
    std::stable_sort(by_value.begin(), by_value.end(),
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
    const bool crosses =
        std::any_of(flows.begin(), flows.end(), [](const Flow& flow) { return flow.crosses; });
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
    const bool crosses =
        std::any_of(flows.begin(), flows.end(), [](const Flow& one) { return one.crosses; });
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

}  // namespace cleave
