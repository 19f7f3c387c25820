#include "formats/report/drawings/dot_nodes.h"

#include <algorithm>
#include <utility>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/cost/cost.h"
#include "formats/report/words/reason_text.h"
#include "formats/report/words/value_text.h"

namespace cleave {
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

}  // namespace

DotRole node_role(const Report& report, NodeId node) {
  if (!report.split.support.supported.contains(node)) return DotRole::unsupported;
  const Partition& partition = report.split.partition;
  return partition.is_acc(partition.part_of[node]) ? DotRole::acc : DotRole::kept_on_cpu;
}

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

std::string node_id(const Graph& graph, NodeId node) {
  return dot_id(graph.node(node).name, "node", index(node));
}

std::string node_label(const Graph& graph, NodeId node) {
  std::string label =
      op_label(graph.op(node)) + "\\n" + dot_text(graph.node(node).name, kLongestName);
  const auto type = [&](ValueId output) {
    return "\\n" + dot_text(type_text(graph, output), kLongestName);
  };
  return label + capped_list(graph.outputs(node), 1, type);
}

void add_node_legend(DotGraph& drawing, const Report& report) {
  add_legend(drawing, report,
             {{DotRole::acc, "supported, on the accelerator"},
              {DotRole::kept_on_cpu, "supported, kept on the CPU"},
              {DotRole::unsupported, "unsupported"},
              {DotRole::terminal, "input, output or parameter"}});
}

NodeDrawing::NodeDrawing(DotGraph& drawing, const Report& report, std::optional<PartId> only,
                         const HeatMap* heat)
    : drawing_(drawing),
      report_(report),
      graph_(report.graph),
      only_(only),
      heat_(heat),
      labelled_(only ? 1 : report.split.partition.count(), kNone<ValueId>) {}

void NodeDrawing::add_node(NodeId node) {
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
      with_role(node_role(report_, node), colour_of(report_, report_.split.partition.part_of[node]),
                {{"label", node_label(graph_, node)}, {"tooltip", node_tooltip(node)}}));
}

void NodeDrawing::add_source(ValueId value) {
  const DotRole role = graph_.is_parameter(value) ? DotRole::parameter : DotRole::terminal;
  drawing_.add_node(source_id(value), with_role(role, {{"label", terminal_label(graph_, value)},
                                                       {"tooltip", value_line(graph_, value)}}));
}

void NodeDrawing::add_edges(ValueId value) {
  for (const NodeId user : graph_.users(value)) {
    if (is_drawn(user)) add_edge(value, user);
  }
}

void NodeDrawing::add_output(ValueId value, std::size_t number) {
  const std::string id = "output:" + std::to_string(number);
  drawing_.add_node(id, with_role(DotRole::terminal, {{"label", terminal_label(graph_, value)},
                                                      {"tooltip", value_line(graph_, value)}}));
  DotAttributes attributes = crossing_attributes();
  attributes.push_back({"label", " " + bytes_label(graph_, value)});
  attributes.push_back({"tooltip", value_line(graph_, value)});
  drawing_.add_edge(source_id(value), id, attributes);
}

bool NodeDrawing::is_drawn(NodeId node) const {
  return !only_ || report_.split.partition.part_of[node] == *only_;
}

std::string NodeDrawing::source_id(ValueId value) const {
  const std::string number = std::to_string(index(value));
  if (graph_.is_parameter(value)) return "parameter:" + number;
  const NodeId producer = graph_.value(value).producer;
  if (producer == kNone<NodeId> || !is_drawn(producer)) return "input:" + number;
  return node_id(graph_, producer);
}

void NodeDrawing::add_edge(ValueId value, NodeId user) {
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

std::string NodeDrawing::node_tooltip(NodeId node) const {
  const NodeCard card = node_card(report_, node);
  std::string text = dot_text(card.op, 120) + "\\n" + dot_text(card.name);
  const auto line = [&](ValueId output) { return "\\noutputs " + value_line(graph_, output); };
  text += capped_list(graph_.outputs(node), kMostOutputs, line, "", "");
  text += "\\non the " + card.device + ", in " + dot_text(card.partition);
  return card.why.empty() ? text : text + ":\\n" + dot_text(card.why, 1000);
}

}  // namespace cleave
