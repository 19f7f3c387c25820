#include "formats/report/drawings/dot_style.h"

#include <algorithm>
#include <array>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "core/cost/cost.h"
#include "formats/report/words/reason_text.h"
#include "formats/report/words/value_text.h"

namespace cleave {
namespace {

constexpr const char* kFont = "Helvetica,Arial,sans-serif";
constexpr std::size_t kLongestId = 200;

// Prefixes that dot_id() uses: no other id may begin with one.
constexpr std::array<std::string_view, 6> kOwnIds = {
    "node:", "part:", "input:", "output:", "legend:", "parameter:"};

bool is_fit_for_id(std::string_view name) {
  // cgraph treats a name that begins with '%' as one that it generated itself.
  if (name.empty() || name.size() > kLongestId || name.starts_with('%')) return false;
  if (name.find('"') != name.npos || dot_text(name, kLongestId) != name) return false;
  return std::none_of(kOwnIds.begin(), kOwnIds.end(),
                      [&](std::string_view own) { return name.starts_with(own); });
}

}  // namespace

DotAttributes role_attributes(DotRole role) {
  switch (role) {
    case DotRole::acc:
      return {{"fillcolor", "#c4ecd9"}, {"color", "#0b7a5c"}};
    case DotRole::kept_on_cpu:
      return {{"fillcolor", "#ffe8a0"}, {"color", "#8a6000"}, {"style", "rounded,filled,dashed"}};
    case DotRole::unsupported:
      return {{"fillcolor", "#ef9d86"}, {"color", "#9c2f12"}, {"penwidth", "2"}};
    case DotRole::cpu:
      return {{"fillcolor", "#ececec"}, {"color", "#666666"}};
    case DotRole::terminal:
      return {{"fillcolor", "#f2f2f2"},
              {"color", "#777777"},
              {"shape", "ellipse"},
              {"style", "filled"}};
    case DotRole::parameter:
      return {{"fillcolor", "#fafafa"},
              {"color", "#b0b0b0"},
              {"style", "filled"},
              {"fontsize", "8"},
              {"fontcolor", "#444444"}};
  }
  return {};
}

DotAttributes with_role(DotRole role, DotAttributes more) {
  DotAttributes all = role_attributes(role);
  for (DotAttribute& attribute : more) all.push_back(std::move(attribute));
  return all;
}

TargetColours target_colours(TargetId target) {
  // Light forms of colours by Okabe and Ito, which readers with any colour vision tell apart.
  static constexpr std::array<TargetColours, kTargetColours> kColours = {{{"#c4ecd9", "#0b7a5c"},
                                                                          {"#cfe4f7", "#0b5c99"},
                                                                          {"#f3d3e6", "#93306c"},
                                                                          {"#fbdcb4", "#a35a00"},
                                                                          {"#e3dcf5", "#4b3a8f"},
                                                                          {"#f7f3b0", "#6b6500"}}};
  return kColours[index(target) % kTargetColours];
}

DotAttributes with_role(DotRole role, TargetId target, DotAttributes more) {
  if (role != DotRole::acc || target == kNone<TargetId>) return with_role(role, std::move(more));
  const auto [fill, border] = target_colours(target);
  DotAttributes all = {{"fillcolor", std::string(fill)}, {"color", std::string(border)}};
  for (DotAttribute& attribute : more) all.push_back(std::move(attribute));
  return all;
}

DotAttributes cluster_attributes(const Report& report, PartId part, const std::string& label) {
  const bool is_acc = report.split.partition.is_acc(part);
  if (is_acc && !report.targets.empty()) {
    const std::string border(target_colours(report.split.partition.target(part)).border);
    return {{"label", label},         {"tooltip", label}, {"style", "rounded,filled"},
            {"fillcolor", "#fbfbfb"}, {"color", border},  {"fontsize", "11"}};
  }
  return {{"label", label},
          {"tooltip", label},
          {"style", "rounded,filled"},
          {"fillcolor", is_acc ? "#eef5fb" : "#f8f8f8"},
          {"color", is_acc ? "#5b8db8" : "#a0a0a0"},
          {"fontsize", "11"}};
}

DotGraph start_drawing(std::string_view name, const std::string& title) {
  DotGraph drawing(is_fit_for_id(name) ? name : "model");
  drawing.set_graph(
      {{"label", title + "\\l "},
       {"labelloc", "t"},
       {"labeljust", "l"},
       {"fontname", kFont},
       {"fontsize", "14"},
       {"rankdir", "TB"},
       {"nodesep", "0.25"},
       {"ranksep", "0.35"},
       {"newrank", "true"},  // else Graphviz cannot place the boxes of many partitions
       {"bgcolor", "white"},
       {"tooltip", title}});
  drawing.set_node_defaults({{"label", "\\N"},
                             {"shape", "box"},
                             {"style", "rounded,filled"},
                             {"fillcolor", "white"},
                             {"color", "#777777"},
                             {"penwidth", "1.2"},
                             {"fontname", kFont},
                             {"fontsize", "10"},
                             {"fontcolor", "#111111"},
                             {"margin", "0.12,0.06"},
                             {"height", "0.3"},
                             {"tooltip", ""}});
  drawing.set_edge_defaults({{"color", "#8a8a8a"},
                             {"penwidth", "0.8"},
                             {"arrowsize", "0.6"},
                             {"fontname", kFont},
                             {"fontsize", "9"},
                             {"fontcolor", "#333333"},
                             {"label", ""},
                             {"style", "solid"},
                             {"tooltip", ""}});
  return drawing;
}

TargetId colour_of(const Report& report, PartId part) {
  return report.targets.empty() ? kNone<TargetId> : report.split.partition.target(part);
}

void add_legend(DotGraph& drawing, const Report& report,
                const std::vector<std::pair<DotRole, const char*>>& entries) {
  std::vector<std::string> members;
  const auto add = [&](DotRole role, TargetId target, const std::string& meaning) {
    members.push_back("legend:" + std::to_string(members.size()));
    drawing.add_node(members.back(),
                     with_role(role, target, {{"label", meaning}, {"tooltip", meaning}}));
  };
  for (const auto& [role, meaning] : entries) {
    const bool is_several = role == DotRole::acc && !report.targets.empty();
    if (!is_several) add(role, kNone<TargetId>, meaning);
    for (std::size_t i = 0; is_several && i < report.targets.size(); ++i) {
      add(role, id_at<TargetId>(i), "on " + report.targets[i].name);
    }
  }
  add_legend_box(drawing, members);
}

void add_legend_box(DotGraph& drawing, const std::vector<std::string>& ids) {
  arrange_in_columns(drawing, ids, 1);
  drawing.add_cluster({{"label", "legend"},
                       {"tooltip", "legend"},
                       {"style", "rounded"},
                       {"color", "#a0a0a0"},
                       {"fontsize", "11"}},
                      ids);
}

void arrange_in_columns(DotGraph& drawing, const std::vector<std::string>& ids,
                        std::size_t columns) {
  for (std::size_t i = columns; i < ids.size(); ++i) {
    drawing.add_edge(ids[i - columns], ids[i], {{"style", "invis"}});
  }
}

std::string dot_id(std::string_view name, std::string_view kind, std::uint32_t number) {
  if (is_fit_for_id(name)) return std::string(name);
  return std::string(kind) + ":" + std::to_string(number);
}

std::string_view short_op(std::string_view op) {
  if (op.starts_with("torch.ops.")) {
    op.remove_prefix(std::string_view("torch.ops.").size());
  } else if (op.starts_with("torch.") || op.starts_with("_operator.")) {
    const std::string_view last = op.substr(op.rfind('.') + 1);
    if (!last.empty()) op = last;
  }
  return op;
}

std::string op_label(std::string_view op) { return dot_text(short_op(op), 40); }

std::string value_line(const Graph& graph, ValueId value) {
  std::string line =
      dot_text(graph.value(value).name, 80) + ": " + dot_text(type_text(graph, value), 80);
  if (const auto bytes = value_bytes(graph, value)) line += ", " + bytes_text(*bytes);
  return line;
}

std::string device_text(const Report& report, PartId part) {
  const bool is_one = report.targets.empty() && report.split.partition.is_acc(part);
  return is_one ? "accelerator" : device_name(report, part);
}

std::string left_out_text(std::size_t edges) {
  return counted(edges, "edge is", "edges are") + " left out: they span the most boxes";
}

std::vector<OpCount> count_ops(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<NameId> names;
  names.reserve(nodes.size());
  for (const NodeId node : nodes) names.push_back(graph.node(node).op);
  std::sort(names.begin(), names.end());
  std::vector<OpCount> ops;
  for (const NameId name : names) {
    if (ops.empty() || ops.back().op != name) ops.push_back({name, 0});
    ++ops.back().count;
  }
  std::sort(ops.begin(), ops.end(), [&](const OpCount& a, const OpCount& b) {
    return a.count != b.count ? a.count > b.count : graph.text(a.op) < graph.text(b.op);
  });
  return ops;
}

std::string ops_line(const Graph& graph, const std::vector<OpCount>& ops, std::size_t most) {
  CappedList list(most);
  std::string line;
  for (const OpCount& op : ops) {
    if (!list.shows_next()) continue;
    line += (line.empty() ? "" : ", ") + count_text(op.count) + " " + op_label(graph.text(op.op));
  }
  return line + list.rest(", # other op type", ", # other op types");
}

}  // namespace cleave
