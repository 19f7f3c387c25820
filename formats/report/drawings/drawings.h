// Drawings: the graph of boxes, its layout, .dot files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/measures/measures.h"
#include "formats/base/faults.h"
#include "formats/report/words/report.h"

namespace cleave {

// ---- flow graph ----
//
// What flows between the boxes of a drawing: values from box to box, and those with the same ends as one
// edge.

// The drawing says what its boxes and their numbers are.
struct Flow {
  std::uint32_t from, to;
  ValueId value;
  bool crosses = true;  // from one part into another, or in or out of the graph

  auto ends() const { return std::tie(from, to); }
  auto key() const { return std::tie(from, to, value); }
};

// All that flows along one edge.
struct FlowSum {
  std::size_t values = 0;
  std::uint64_t bytes = 0;
  bool is_known = true;  // false: the bytes are at least these

  // "3.06 MiB", "at least 588 KiB", "size unknown"
  std::string bytes_words() const;
};
FlowSum sum_of(const Graph& graph, std::span<const Flow> flows);

class FlowGraph {
 public:
  void add(const Flow& flow) { flows_.push_back(flow); }

  // Puts the flows in the order of their ends, then of their values, each once.
  void arrange();

  // For arranged flows: visits those of each edge, as a span.
  template <class Visit>
  void each_edge(const Visit& visit) const {
    for (std::size_t begin = 0; begin < flows_.size();) {
      std::size_t end = begin;
      while (end < flows_.size() && flows_[end].ends() == flows_[begin].ends()) ++end;
      visit(std::span(flows_).subspan(begin, end - begin));
      begin = end;
    }
  }
  std::size_t edge_count() const;

  std::vector<Flow>& flows() { return flows_; }

 private:
  std::vector<Flow> flows_;
};

// ---- dot graph ----
//
// DotGraph: builds a drawing and writes it in Graphviz's language, byte for byte as Graphviz's own
// library (cgraph) would; a test compares the two. The library takes several times as long, and a
// split may have a drawing for each of 30,000 partitions.
//
// Every node and edge is at the top level with its attributes, and a cluster only lists ids: some
// readers of the format (Netron) drop statements inside a subgraph. So clusters come last.

struct DotAttribute {
  const char* name;   // a literal
  std::string value;  // as Graphviz reads it: foreign text must have passed dot_text()
};
using DotAttributes = std::vector<DotAttribute>;

class DotGraph {
 public:
  explicit DotGraph(std::string_view name);

  void set_graph(DotAttributes attributes);
  // Default attributes of nodes and edges. Call before adding the first one.
  void set_node_defaults(DotAttributes attributes);
  void set_edge_defaults(DotAttributes attributes);

  // Adds the node with this id; the same id again changes the same node.
  void add_node(const std::string& id, DotAttributes attributes);
  void add_edge(const std::string& from, const std::string& to, DotAttributes attributes);
  // A box around existing nodes; a node belongs to the first of its clusters.
  void add_cluster(const DotAttributes& attributes, std::vector<std::string> members);

  // What leave_out_long_edges() may leave for a layout that takes a second or two.
  static constexpr std::size_t kMostRanksSpanned = 4000;

  // Leaves out the edges that span the most ranks, so that all others together span at most `most`; the
  // shortest edge out of each node stays. Returns how many are left out. A layout takes more than linear
  // time in the ranks that edges span, and a drawing of dense edges shows nothing. Linear.
  std::size_t leave_out_long_edges(std::size_t most);

  // Depends only on the calls above and their order. Linear, plus sorting each node's edges.
  std::string text() const;

 private:
  static constexpr std::uint32_t kNone = NameTable::kAbsent;
  struct Node {
    std::string id;
    DotAttributes attributes;
    // Its outgoing edges, in the order of adding.
    std::uint32_t first_edge = kNone, last_edge = kNone;
    std::uint32_t first_maker = kNone;  // of the nodes with an edge to it, the first added
  };
  struct Edge {
    std::uint32_t to;
    std::uint32_t next;  // the next edge out of the same node
    DotAttributes attributes;
    bool is_left_out = false;
  };
  struct Cluster {
    DotAttributes attributes;
    std::vector<std::string> members;
  };

  std::uint32_t find(const std::string& id) const;
  std::vector<std::uint32_t> ranks() const;
  void append_node(std::uint32_t node, std::string& out) const;
  void list_edges(std::uint32_t node, std::vector<std::uint32_t>& edges) const;
  void append_from(std::uint32_t node, std::vector<std::uint32_t>& edges, std::string& out) const;
  void append_clusters(std::string& out) const;

  std::string name_;
  DotAttributes graph_, node_defaults_, edge_defaults_;  // sorted
  std::vector<Node> nodes_;
  NameTable node_table_;
  std::vector<Edge> edges_;
  std::vector<Cluster> clusters_;
};

// Text for a label or tooltip that is shown literally: Graphviz's escapes (\N, \l, ...) and
// character entities are neutralised; control characters, direction marks and bytes that are not
// UTF-8 become \xNN; of a longer text than `most` characters the middle becomes "...".
std::string dot_text(std::string_view text, std::size_t most = 400);

// ---- dot style ----
//
// The style of drawings: colours and shapes, ids, titles and the legend.
//
// Colours are light fills with dark borders that also differ in lightness and line style, so that
// readers who do not distinguish red and green can tell them apart, also on paper.

// The role of a node in a drawing.
enum class DotRole {
  acc,          // supported, and on the accelerator: green
  kept_on_cpu,  // supported, but on the CPU: amber, dashed
  unsupported,  // red, thick
  cpu,          // a partition on the CPU: grey
  terminal,     // an input or output: a neutral ellipse
  parameter,    // neutral, small
};

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

// ---- node heat ----
//
// Heat: nodes coloured by how much of a total each one takes: of the time of an inference, of the
// FLOPs, or of the bytes that its nodes read and write.
//
// Five classes from light to dark, and one for nodes whose amount is not known. Darker is more, so
// a print in black and white still shows the order.

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

// ---- layout ----
//
// Lays drawings out with Graphviz in separate processes, within limits: Graphviz crashes on some
// graphs and takes minutes for others.

struct LayoutLimits {
  static constexpr double kSeconds = 20;

  double seconds = kSeconds;                     // of processor time, for all drawings
  double spent = 0;                              // of these seconds, by earlier calls
  std::uint64_t bytes = std::uint64_t{2} << 30;  // of memory, for each process
};

// An SVG in which no edge crosses a node; "" for a drawing that was skipped or given up. Or why there is
// none: "Graphviz took longer than 5 s".
using LaidOut = Result<std::string>;

struct LayoutJob {
  std::size_t count;
  std::function<std::string(std::size_t)> make;  // the i-th drawing, or "" to skip it; in order
  bool needs_first = false;                      // if drawing 0 fails, the others are given up
};

struct LaidOutAll {
  std::vector<LaidOut> drawings;
  double spent;  // seconds of processor time, with those of earlier calls
};

// The drawing as an SVG document. 2,000 nodes take some 2 seconds, if edges span at most
// DotGraph::kMostRanksSpanned ranks.
LaidOut lay_out(const std::string& dot, const LayoutLimits& limits, const Progress& progress = {});

// The same for several drawings, some at a time. Edges are Graphviz's curves in a drawing of few edges. One
// alone may use half of the time with them, one of several a quarter; if that takes too long, and where edges
// are many, they are routed by cleave, in all the time left or, with several drawings, a quarter. The result does not depend on how many are laid out at a time, unless time runs out. A
// process that takes ten times as long by the clock is ended, too.
LaidOutAll lay_out_all(const LayoutJob& job, const LayoutLimits& limits,
                       const Progress& progress = {});

// ---- in a process of its own ----

// Who leads edges round nodes: Graphviz, or with_edges_round_nodes().
enum class EdgeShape : std::uint8_t { curved, routed };

// Lays the drawing out as SVG with Graphviz's `dot` engine, in this process. Graphviz may crash the
// process or take minutes: "layout" above. An error when the layout library is missing. Memory that
// Graphviz takes is not freed. Throws std::bad_alloc when there is less memory than it may take.
// With routed edges, nodes are placed in a bounded number of steps: for some graphs of 400 edges placement
// takes minutes without a bound.
Loaded<std::string> layout_svg(const std::string& dot, EdgeShape shape = EdgeShape::curved);

// ---- edge routes ----
//
// Edges that go round nodes, in a drawing that Graphviz laid out with straight ones. Graphviz's own curves
// take minutes for some graphs of 400 nodes; its straight lines take a tenth of a second, but cross nodes.

// The SVG with its edges led round the nodes. Graphviz places nodes in rows and leaves room in each row
// for the edges that pass it, so an edge is straight within a row, in the gap between two nodes that is
// nearest to its way, and an S between rows; between two nodes of a row it is an arch above them. A loop, and
// what lies beside other nodes in a drawing from left to right, stays as it is. O(edges * rows they pass * log of the nodes in a row).
std::string with_edges_round_nodes(const std::string& svg);

// ---- dot nodes ----
//
// What there is to say of single nodes, and how they are drawn: one box per node, and the values that
// flow between them. For whole models and for partitions.

// What a drawing, a page or a file for another program says of a node.
struct NodeCard {
  std::string_view name, op;  // as in the model
  PartId part;
  std::string_view partition;  // the part's name
  bool is_acc;
  std::string device;          // "accelerator", "CPU", or a target
  std::string_view code = {};  // the code of the reason; "": on the accelerator
  std::string why = {};        // the reason
  // Of several targets: each that has a reason not to run it, and the reason.
  std::vector<std::pair<std::string_view, std::string>> why_not = {};
};
// Linear in the text of the reason.
NodeCard node_card(const Report& report, NodeId node);

// ---- dot parts ----
//
// Draws partitions: one box each, or one for several, and the values that flow between them.

// Consecutive parts: [first, last), at least one.
struct PartRange {
  std::size_t first, last;
  std::size_t count() const { return last - first; }
};

enum class PartColours {
  by_device,
  by_support,  // of the nodes inside
};

struct PartDrawingOptions {
  // With more parts than this, or more than kMostEdgesABox times as many edges between them,
  // consecutive parts share a box. At least 1.
  std::size_t most_boxes = 500;
  PartColours colours = PartColours::by_device;
  const HeatMap* heat = nullptr;  // instead of these
};

// ---- dot view ----
//
// Drawings of views, which an interactive page shows one at a time.

// Draws the views of one report; reuses a table over the nodes.
class ViewDrawings {
 public:
  // In each, edges span at most `most_ranks` ranks: see DotGraph::leave_out_long_edges().
  ViewDrawings(const Report& report, const Views& views,
               std::size_t most_ranks = DotGraph::kMostRanksSpanned);

  // One view as Graphviz text, in time linear in its nodes and their edges: its boxes, and an
  // ellipse for each value that enters or leaves, or one for all if there are many.
  //
  // Boxes and ellipses have `id`s, which SVG keeps: n<node>, g<view>; s<i>_<node> for a value that
  // enters, from the node that makes it (none for an input of the graph); t<i>_<node> for one that
  // leaves, to the first node that reads it. Their `class` gives the role: acc, kept, unsupported;
  // for a group acc, cpu or mixed; port.
  //
  // Of very many edges that span many boxes only the shorter ones are drawn, and the drawing says so: all
  // of them would not be laid out.
  std::string draw(ViewId view);
  // Whether the view that was drawn last shows only some of its edges.
  bool has_left_out_edges() const { return left_out_ > 0; }

 private:
  const Report& report_;
  const Views& views_;
  std::size_t most_ranks_;
  PerNode<std::uint32_t> box_of_;  // in the current view
  std::size_t left_out_ = 0;       // edges of the current view
};

// ---- dot ----
//
// Drawings of models and splits as Graphviz text (written by DotGraph, above).

// Limit on edges per box of a drawing: Graphviz takes longer to lay out edges than boxes.
inline constexpr std::size_t kMostEdgesABox = 4;

// `shorter`: without the longest of very many edges, which make a layout slow; the label says how many
// are left out.
enum class DrawnEdges : std::uint8_t { all, shorter };

// The whole model coloured by support, with partitions as boxes: supported, unsupported, and
// supported but kept on the CPU, with a legend; tooltips carry the reason. Above `collapse_above`
// nodes, or kMostEdgesABox times as many edges, it collapses to partitions and its label says so.
// If `heat` is given, this and the next two colour nodes and partitions by their share of it
// instead.
std::string draw_support(const Report& report, std::size_t collapse_above,
                         const HeatMap* heat = nullptr, DrawnEdges edges = DrawnEdges::all);

// One box a partition: device, nodes, top op types; bytes on each edge.
std::string draw_preview(const Report& report, const HeatMap* heat = nullptr,
                         DrawnEdges edges = DrawnEdges::all);
// One partition with its inputs and outputs; above `collapse_above` nodes, or kMostEdgesABox
// times as many edges, its op types only.
std::string draw_part(const Report& report, PartId part, std::size_t collapse_above,
                      const HeatMap* heat = nullptr, DrawnEdges edges = DrawnEdges::all);

// ---- dot stages ----
//
// Draws stages: columns from left to right in the order of the pipeline, each as tall as its load,
// and the values that flow between them.

struct StageColumn {
  std::string name;
  std::vector<std::string> lines;  // below the name
  double share = 0;                // of the slowest stage's load, 0 to 1
};

// All that flows from one stage to another.
struct StageFlow {
  std::size_t from = 0;  // columns
  std::size_t to = 0;
  std::string label;
  bool is_parameters = false;  // parameters that a stage holds and passes on
};

struct StagesDrawing {
  std::string title;
  std::vector<StageColumn> columns;
  std::vector<StageFlow> flows;
};

// The drawing as Graphviz text: one box per stage, the slowest in amber with a thick border. Flows
// to the next stage are straight, those that skip stages curved and dashed; parameters are amber,
// with a diamond at the end. Linear.
std::string draw_stages(const StagesDrawing& stages);

}  // namespace cleave
