// Heat: nodes coloured by how much of a total each one takes: of the time of an inference, of the
// FLOPs, or of the bytes that its nodes read and write.
//
// Five classes from light to dark, and one for nodes whose amount is not known. Darker is more, so
// a print in black and white still shows the order.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/cost/cost.h"
#include "formats/report/drawings/dot_style.h"
#include "formats/report/words/report.h"

namespace cleave {

enum class ColorBy : std::uint8_t { support, time, flops, bytes };

inline constexpr std::size_t kHeatClasses = 6;  // from the hottest on; the last is "not known"

struct HeatMap {
  ColorBy by = ColorBy::time;
  PerNode<double> amounts;   // microseconds on the device where the node is, FLOPs, or bytes; below
                             // 0: not known
  double total = 0;          // of the known ones
  bool has_unknown = false;  // some amounts are not known: then no share of the total is, either
};

// Linear. `by` is not ColorBy::support.
HeatMap make_heat(const Report& report, ColorBy by);
// The same for several maps, with the costs found once: node_costs().
HeatMap make_heat(const Report& report, ColorBy by, const PerNode<NodeCost>& costs);

// The class of an amount of the map.
std::size_t heat_class(const HeatMap& heat, double amount);

// The sum over the nodes, of the amounts that are known; below 0 when one is unknown and the others
// are 0.
double heat_of(const HeatMap& heat, std::span<const NodeId> nodes);

// "1.2 ms, 8.4% of the time"; "1.2 ms" when other nodes' times are not known; "time not known".
std::string heat_text(const HeatMap& heat, double amount);
// The same for the sum over the nodes: "1.2 ms+" when the times of some of them are not known.
std::string heat_text(const HeatMap& heat, std::span<const NodeId> nodes);

// "over 10% of the time", "over 10% of the known time", ..., "time not known".
std::string heat_class_name(const HeatMap& heat, std::size_t heat_class);

DotAttributes heat_attributes(std::size_t heat_class);
void add_heat_legend(DotGraph& drawing, const HeatMap& heat);

}  // namespace cleave
