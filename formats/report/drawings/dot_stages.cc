#include "formats/report/drawings/drawings.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace cleave {

namespace {

// Inches.
constexpr double kLeastHeight = 0.7;
constexpr double kTallest = 3.2;

std::string inches(double length) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", length);
  return text.data();
}

std::string label_of(const StageColumn& column) {
  std::string label = dot_text(column.name, 40);
  for (const std::string& line : column.lines) label += "\\n" + dot_text(line, 60);
  return label;
}

DotAttributes box_of(const StageColumn& column, bool is_slowest) {
  const std::string label = label_of(column);
  const double height = std::max(kLeastHeight, kTallest * std::clamp(column.share, 0.0, 1.0));
  DotAttributes box = {{"label", label}, {"tooltip", label},       {"height", inches(height)},
                       {"width", "1.5"}, {"fillcolor", "#d6e6f5"}, {"color", "#3b6ea5"}};
  if (!is_slowest) return box;
  box[4].value = "#ffe8a0";
  box[5].value = "#8a6000";
  box.push_back({"penwidth", "2.4"});
  return box;
}

DotAttributes edge_of(const StageFlow& flow) {
  DotAttributes edge = {{"label", " " + dot_text(flow.label, 60) + " "},
                        {"tooltip", dot_text(flow.label, 60)},
                        {"penwidth", "1.2"},
                        {"color", "#444444"}};
  if (flow.is_parameters) {
    edge[3].value = "#8a6000";
    edge.push_back({"fontcolor", "#8a6000"});
    edge.push_back({"arrowhead", "odiamond"});
  }
  if (flow.to == flow.from + 1) return edge;
  edge.push_back({"style", "dashed"});
  edge.push_back({"constraint", "false"});
  return edge;
}

}  // namespace

std::string draw_stages(const StagesDrawing& stages) {
  DotGraph drawing = start_drawing("stages", dot_text(stages.title, 200));
  drawing.set_graph({{"rankdir", "LR"}, {"ranksep", "0.9"}, {"nodesep", "0.5"}});
  const auto slower = [](const StageColumn& a, const StageColumn& b) { return a.share < b.share; };
  const auto slowest = std::ranges::max_element(stages.columns, slower);
  std::vector<std::string> ids;
  for (const StageColumn& column : stages.columns) {
    ids.push_back("stage:" + std::to_string(ids.size()));
    drawing.add_node(ids.back(), box_of(column, &column == &*slowest && column.share > 0));
  }
  // Keeps the columns in order when no value flows from one to the next.
  for (std::size_t i = 1; i < ids.size(); ++i) {
    drawing.add_edge(ids[i - 1], ids[i], {{"style", "invis"}, {"weight", "10"}});
  }
  for (const StageFlow& flow : stages.flows) {
    drawing.add_edge(ids[flow.from], ids[flow.to], edge_of(flow));
  }
  return drawing.text();
}

}  // namespace cleave
