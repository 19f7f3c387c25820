#include "formats/report/drawings/node_heat.h"

#include <algorithm>
#include <utility>

#include "core/base/number_text.h"

namespace cleave {
namespace {

constexpr std::size_t kUnknown = kHeatClasses - 1;
// The least share of each class but the last two.
constexpr std::array<double, kHeatClasses - 2> kLeastShare = {0.1, 0.03, 0.01, 0.003};
constexpr std::array<std::string_view, kHeatClasses - 2> kShareNames = {"over 10%", "3% to 10%",
                                                                        "1% to 3%", "0.3% to 1%"};

std::string_view thing_of(ColorBy by) {
  switch (by) {
    case ColorBy::time:
      return "time";
    case ColorBy::flops:
      return "FLOPs";
    case ColorBy::bytes:
      return "bytes";
    case ColorBy::support:
      break;
  }
  return {};
}

double time_of(const Report& report, NodeId node) {
  if (report.time == nullptr) return -1;
  const TargetTimes& times = report.time->basis.times;
  const Partition& partition = report.split.partition;
  const TargetId target = partition.target(partition.part_of[node]);
  const DeviceTimes& own = target == kNone<TargetId> ? times.cpu : times.on_target(index(target));
  return own.of(node).value_or(-1);
}

std::string amount_text(ColorBy by, double amount) {
  if (by == ColorBy::time) return duration_text(amount);
  if (by == ColorBy::flops) return flops_text(amount);
  return bytes_text(static_cast<std::uint64_t>(std::min(amount, 1e18)));
}

bool has_unknown(const HeatMap& heat, std::span<const NodeId> nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](NodeId node) { return heat.amounts[node] < 0; });
}

}  // namespace

HeatMap make_heat(const Report& report, ColorBy by) {
  const bool needs_costs = by != ColorBy::time;
  return make_heat(report, by, needs_costs ? node_costs(report.graph) : PerNode<NodeCost>());
}

HeatMap make_heat(const Report& report, ColorBy by, const PerNode<NodeCost>& costs) {
  const Graph& graph = report.graph;
  HeatMap heat{.by = by, .amounts = PerNode<double>(graph.node_count(), -1)};
  for (const NodeId node : graph.nodes()) {
    double& amount = heat.amounts[node];
    if (by == ColorBy::time) amount = time_of(report, node);
    if (by == ColorBy::flops) amount = costs[node].flops.value_or(-1);
    if (by == ColorBy::bytes) amount = costs[node].bytes.value_or(-1);
    heat.total += std::max(amount, 0.0);
    heat.has_unknown = heat.has_unknown || amount < 0;
  }
  return heat;
}

std::size_t heat_class(const HeatMap& heat, double amount) {
  if (amount < 0) return kUnknown;
  const double share = heat.total > 0 ? amount / heat.total : 0;
  std::size_t found = 0;
  while (found < kLeastShare.size() && share < kLeastShare.at(found)) ++found;
  return found;
}

double heat_of(const HeatMap& heat, std::span<const NodeId> nodes) {
  double sum = 0;
  for (const NodeId node : nodes) sum += std::max(heat.amounts[node], 0.0);
  return sum > 0 || !has_unknown(heat, nodes) ? sum : -1;
}

std::string heat_text(const HeatMap& heat, double amount) {
  const std::string thing(thing_of(heat.by));
  if (amount < 0) return thing + " not known";
  if (heat.has_unknown) return amount_text(heat.by, amount);
  const double share = heat.total > 0 ? amount / heat.total : 0;
  return amount_text(heat.by, amount) + ", " + percent_text(share) + " of the " + thing;
}

std::string heat_text(const HeatMap& heat, std::span<const NodeId> nodes) {
  const double amount = heat_of(heat, nodes);
  return heat_text(heat, amount) + (amount >= 0 && has_unknown(heat, nodes) ? "+" : "");
}

std::string heat_class_name(const HeatMap& heat, std::size_t heat_class) {
  const std::string thing(thing_of(heat.by));
  if (heat_class == kUnknown) return thing + " not known";
  if (heat_class == kShareNames.size()) return "less";
  return std::string(kShareNames.at(heat_class)) +
         (heat_class == 0 ? (heat.has_unknown ? " of the known " : " of the ") + thing : "");
}

DotAttributes heat_attributes(std::size_t heat_class) {
  switch (heat_class) {
    case 0:
      return {{"fillcolor", "#b2182b"}, {"color", "#67000d"}, {"fontcolor", "#ffffff"}};
    case 1:
      return {{"fillcolor", "#ef6a4c"}, {"color", "#8f1d14"}};
    case 2:
      return {{"fillcolor", "#fdb27f"}, {"color", "#a0522d"}};
    case 3:
      return {{"fillcolor", "#fde3c4"}, {"color", "#a08060"}};
    case kUnknown:
      return {{"fillcolor", "#ffffff"}, {"color", "#777777"}, {"style", "rounded,filled,dashed"}};
    default:
      return {{"fillcolor", "#f7f4f0"}, {"color", "#a0a0a0"}};
  }
}

void add_heat_legend(DotGraph& drawing, const HeatMap& heat) {
  std::vector<std::string> members;
  for (std::size_t i = 0; i < kHeatClasses; ++i) {
    members.push_back("legend:" + std::to_string(i));
    DotAttributes attributes = heat_attributes(i);
    const std::string name = heat_class_name(heat, i);
    attributes.push_back({"label", name});
    attributes.push_back({"tooltip", name});
    drawing.add_node(members.back(), attributes);
  }
  add_legend_box(drawing, members);
}

}  // namespace cleave
