// draw_part: the drawing of one partition.
#include <algorithm>
#include <utility>
#include <vector>

#include "formats/base/text/number_text.h"
#include "formats/report/drawings/dot.h"
#include "formats/report/drawings/dot_nodes.h"
#include "formats/report/drawings/dot_ops.h"
#include "formats/report/drawings/dot_part_box.h"
#include "formats/report/drawings/dot_style.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

constexpr std::size_t kOpColumns = 4;

std::string title_of(const Report& report, PartId part) {
  const PartNumbers& numbers = report.preview.parts[part];
  const Graph& graph = report.model.graph;
  const Boundaries& boundaries = report.split.boundaries;
  return part_line(report.split.partition, part) + "\\ltakes in " +
         crossing_words(graph, boundaries.inputs[part], numbers.input_bytes) + ", gives out " +
         crossing_words(graph, boundaries.outputs[part], numbers.output_bytes);
}

std::string draw_part_nodes(const Report& report, PartId part, const HeatMap* heat) {
  const Graph& graph = report.model.graph;
  const Boundaries& boundaries = report.split.boundaries;
  const Partition& partition = report.split.partition;
  DotGraph drawing = start_drawing(partition.name(part), title_of(report, part));
  if (heat != nullptr) {
    add_heat_legend(drawing, *heat);
  } else if (!partition.is_acc(part)) {
    add_node_legend(drawing);
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
  return drawing.text();
}

std::string draw_part_ops(const Report& report, PartId part, std::size_t most_boxes) {
  const Graph& graph = report.model.graph;
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
    drawing.add_node(
        ids.back(),
        with_role(role, {{"label", count_text(op.count) + " " + op_label(graph.text(op.op))},
                         {"tooltip", dot_text(graph.text(op.op))}}));
  }
  if (ids.size() < ops.size()) {
    ids.emplace_back("node:rest");
    drawing.add_node(
        ids.back(),
        with_role(role, {{"label", counted(ops.size() - ids.size() + 1, "other op type")}}));
  }
  arrange_in_columns(drawing, ids, kOpColumns);
  return drawing.text();
}

}  // namespace

std::string draw_part(const Report& report, PartId part, std::size_t collapse_above,
                      const HeatMap* heat) {
  const Boundaries& boundaries = report.split.boundaries;
  const std::size_t boxes = report.split.partition.nodes(part).size() +
                            boundaries.inputs[part].size() + boundaries.outputs[part].size();
  std::size_t edges = boundaries.outputs[part].size();
  for (const NodeId node : report.split.partition.nodes(part)) {
    edges += report.model.graph.operands(node).size();
  }
  if (boxes > collapse_above || edges / kMostEdgesABox > collapse_above)
    return draw_part_ops(report, part, collapse_above);
  return draw_part_nodes(report, part, heat);
}

}  // namespace cleave
