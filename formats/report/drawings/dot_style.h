// The style of drawings: colours and shapes, ids, titles and the legend.
//
// Colours are light fills with dark borders that also differ in lightness and line style, so that
// readers who do not distinguish red and green can tell them apart, also on paper.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "formats/report/drawings/dot_graph.h"
#include "formats/report/words/report.h"

namespace cleave {

// The role of a node in a drawing.
enum class DotRole {
  acc,          // supported, and on the accelerator: green
  kept_on_cpu,  // supported, but on the CPU: amber, dashed
  unsupported,  // red, thick
  cpu,          // a partition on the CPU: grey
  terminal,     // an input or output: a neutral ellipse
  parameter,    // neutral, small
};

DotAttributes role_attributes(DotRole role);
// The attributes of the role followed by `more`.
DotAttributes with_role(DotRole role, DotAttributes more);

// The same, where what is on the accelerator has the colour of that target. kNone: the role's colour.
DotAttributes with_role(DotRole role, TargetId target, DotAttributes more);

// The colours of a target as "#rrggbb": a light fill and a dark border. They differ in lightness, too,
// and repeat after six.
struct TargetColours {
  std::string_view fill, border;
};
TargetColours target_colours(TargetId target);
inline constexpr std::size_t kTargetColours = 6;

// Attributes of a box around the nodes of a partition.
DotAttributes cluster_attributes(const Report& report, PartId part, const std::string& label);

// An empty drawing, top to bottom, with a title above.
DotGraph start_drawing(std::string_view name, const std::string& title);

// A box in the corner with an entry for each role; of several targets one for each in place of
// DotRole::acc.
void add_legend(DotGraph& drawing, const Report& report,
                const std::vector<std::pair<DotRole, const char*>>& entries);

// The target whose colour a part has: kNone where there is one accelerator, and on the CPU.
TargetId colour_of(const Report& report, PartId part);

// Puts the legend's nodes into one column in a box of their own.
void add_legend_box(DotGraph& drawing, const std::vector<std::string>& ids);

// Puts nodes that no edge orders into rows of `columns`; otherwise all would be in one row.
void arrange_in_columns(DotGraph& drawing, const std::vector<std::string>& ids,
                        std::size_t columns);

// The name, if it is a valid id and not one of ours; else `<kind>:<number>`, which no name equals.
std::string dot_id(std::string_view name, std::string_view kind, std::uint32_t number);

// An op type without the modules of its host language: `Conv2d` of `torch.nn.modules.conv.Conv2d`.
std::string_view short_op(std::string_view op);
// The short op type as a label.
std::string op_label(std::string_view op);

// Name, type and bytes of a value, on one line.
std::string value_line(const Graph& graph, ValueId value);

// "CPU" or "accelerator", or the name of one of several targets.
std::string device_text(const Report& report, PartId part);

// "12 edges are left out: they span the most boxes"
std::string left_out_text(std::size_t edges);

// An op type of many nodes, for drawings that do not show single nodes.
struct OpCount {
  NameId op;
  std::size_t count;
};

// The most frequent first, then by name. O(n log n).
std::vector<OpCount> count_ops(const Graph& graph, std::span<const NodeId> nodes);

// "19 Conv2d, 16 ReLU, 4 other op types": names at most `most` of them.
std::string ops_line(const Graph& graph, const std::vector<OpCount>& ops, std::size_t most);

}  // namespace cleave
