// Everything drawn has a number: first boxes, then inputs, then outputs of the graph. Flows are
// collected as (from, to, value), sorted, and those with the same ends drawn as one edge.
#include "formats/report/drawings/dot_parts.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/cost/cost.h"
#include "formats/base/text/capped_list.h"
#include "formats/base/text/number_text.h"
#include "formats/report/drawings/dot.h"
#include "formats/report/drawings/dot_style.h"
#include "formats/report/words/value_text.h"

namespace cleave {
namespace {

constexpr std::size_t kMostEllipses = 30;  // of inputs, and of outputs
constexpr std::size_t kMostValues = 12;    // in a tooltip

class Numbering {
 public:
  // At most `most_boxes` boxes, all but the last with the same number of parts.
  Numbering(const Report& report, std::size_t most_boxes)
      : parts_(report.split.partition.count()),
        inputs_(ellipses(report.model.graph.inputs().size())),
        outputs_(ellipses(report.model.graph.outputs().size())) {
    most_boxes = std::max<std::size_t>(most_boxes, 1);
    parts_a_box_ = std::max<std::size_t>((parts_ + most_boxes - 1) / most_boxes, 1);
  }
  std::size_t boxes() const { return (parts_ + parts_a_box_ - 1) / parts_a_box_; }
  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }
  PartRange parts_of(std::size_t box) const {
    return {box * parts_a_box_, std::min((box + 1) * parts_a_box_, parts_)};
  }
  std::size_t of_part(PartId part) const { return index(part) / parts_a_box_; }
  std::size_t of_input(std::size_t i) const { return boxes() + std::min(i, inputs_ - 1); }
  std::size_t of_output(std::size_t i) const {
    return boxes() + inputs_ + std::min(i, outputs_ - 1);
  }

 private:
  // One ellipse represents all when there are too many.
  static std::size_t ellipses(std::size_t count) { return count > kMostEllipses ? 1 : count; }
  std::size_t parts_, inputs_, outputs_;
  std::size_t parts_a_box_ = 1;
};

struct Flow {
  std::size_t from, to;
  ValueId value;
  auto operator<=>(const Flow&) const = default;
};

// The number of the value's source; nullopt for a parameter.
std::optional<std::size_t> source_of(const Report& report, const Numbering& numbering,
                                     ValueId value) {
  const Graph& graph = report.model.graph;
  if (graph.is_parameter(value)) return std::nullopt;
  const NodeId producer = graph.value(value).producer;
  if (producer == kNone<NodeId>) return numbering.of_input(index(value));
  return numbering.of_part(report.split.partition.part_of[producer]);
}

// Sorted by both ends; flows inside a box are left out.
std::vector<Flow> find_flows(const Report& report, const Numbering& numbering) {
  std::vector<Flow> flows;
  const auto add = [&](ValueId value, std::size_t to) {
    const auto from = source_of(report, numbering, value);
    if (from && *from != to) flows.push_back({*from, to, value});
  };
  for (const PartId part : report.split.partition.parts()) {
    for (const ValueId value : report.split.boundaries.inputs[part]) {
      add(value, numbering.of_part(part));
    }
  }
  const std::span<const ValueId> outputs = report.model.graph.outputs();
  for (std::size_t i = 0; i < outputs.size(); ++i) add(outputs[i], numbering.of_output(i));
  std::sort(flows.begin(), flows.end());
  flows.erase(std::unique(flows.begin(), flows.end()), flows.end());
  return flows;
}

// The number of edges that the flows are drawn as.
std::size_t edge_count(const std::vector<Flow>& flows) {
  std::size_t edges = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const bool is_new =
        i == 0 || flows[i].from != flows[i - 1].from || flows[i].to != flows[i - 1].to;
    edges += is_new ? 1 : 0;
  }
  return edges;
}

// Halves the boxes until there are no more edges than a reader, and Graphviz, can follow.
std::size_t fitting_boxes(const Report& report, std::size_t most_boxes) {
  for (std::size_t boxes = most_boxes; boxes > 1; boxes /= 2) {
    const Numbering numbering(report, boxes);
    if (edge_count(find_flows(report, numbering)) <= kMostEdgesABox * most_boxes) return boxes;
  }
  return 1;
}

// "3.06 MiB", "3 values, 9.19 MiB", "tuple", "2 values, at least 588 KiB"
std::string flows_label(const Graph& graph, std::span<const Flow> flows) {
  std::uint64_t sum = 0;
  bool all_known = true;
  for (const Flow& flow : flows) {
    const auto bytes = value_bytes(graph, flow.value);
    all_known = all_known && bytes && !__builtin_add_overflow(sum, *bytes, &sum);
  }
  if (flows.size() == 1 && !graph.value(flows[0].value).is_tensor()) {
    return dot_text(type_text(graph, flows[0].value), 40);
  }
  const std::string values = flows.size() == 1 ? "" : counted(flows.size(), "value") + ", ";
  if (!all_known && sum == 0) return values + "size unknown";
  return values + (all_known ? "" : "at least ") + bytes_text(sum);
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
  const Graph& graph = report.model.graph;
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
  const Graph& graph = report.model.graph;
  const Numbering numbering(report, fitting_boxes(report, options.most_boxes));
  const std::vector<std::string> ids = add_boxes(drawing, report, numbering, options);
  const std::vector<Flow> flows = find_flows(report, numbering);
  for (std::size_t first = 0; first < flows.size();) {
    std::size_t last = first + 1;
    const auto same_ends = [&](const Flow& flow) {
      return flow.from == flows[first].from && flow.to == flows[first].to;
    };
    while (last < flows.size() && same_ends(flows[last])) ++last;
    const auto together = std::span(flows).subspan(first, last - first);
    drawing.add_edge(ids[flows[first].from], ids[flows[first].to],
                     {{"label", " " + flows_label(graph, together)},
                      {"tooltip", flows_tooltip(graph, together)},
                      {"penwidth", "1.2"},
                      {"color", "#444444"}});
    first = last;
  }
}

}  // namespace cleave
