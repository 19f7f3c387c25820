#include "formats/report/drawings/dot.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/number_text.h"
#include "formats/report/drawings/dot_nodes.h"
#include "formats/report/drawings/dot_parts.h"
#include "formats/report/drawings/dot_style.h"
#include "formats/report/words/report_values.h"

namespace cleave {
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
  const std::string title = model_line(report) + "\\l" + what_is_too_many(graph, most_boxes) +
                            " too many to draw singly; partitions are drawn instead: raise "
                            "--collapse-above";
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
  DotGraph drawing = start_drawing(
      partition.name(part), title_of(report, part) +
                                "\\ltoo many nodes or edges to draw singly; op types are drawn "
                                "instead: raise --collapse-above");
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
