// The native format: reading it, and writing any model as it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/model.h"

namespace cleave {

// ---- graph json ----
//
// Native graph JSON (cleave.graph version 1): read by streaming, without a document tree; written
// node by node, copying nodes verbatim from the source they were read from.

// True when the text may be native JSON: its first character other than white space is '{'.
bool looks_like_json(std::string_view bytes);

struct GraphJson {
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
  SourceSpan output_tree;  // if the file has one
};

// Linear; the graph's names are views into `source`. Besides the graph, needs about 4 bytes for
// each bracket, comma, colon, string and number of the text. `bindings` sets symbolic dims and the
// shapes of inputs; shapes of other values stay as in the file, with bound dims replaced.
Loaded<GraphJson> read_graph_json(const SourceFile& source, const ShapeBindings& bindings,
                                  const ModelLimits& limits = {}, const Progress& progress = {});

// The whole graph as native JSON, one node a line. From JSON: nodes, inputs and parameters are
// copied verbatim. From ONNX: they are made from the graph, constants become parameters, and only
// attributes that rules can ask about are written.
std::string write_graph_json(const LoadedModel& model);

// Part `part` as a graph of its own: its boundary inputs, its parameters, its nodes. If `device` is
// given, nodes that name a device name this one.
std::string write_part_json(const LoadedModel& model, const Partition& partition,
                            const Boundaries& boundaries, PartId part,
                            std::string_view device = {});

// The root: original inputs, one `cleave.call` per part, then `more` nodes, each a JSON object on one
// line, original outputs.
std::string write_root_json(const LoadedModel& model, const Partition& partition,
                            const Boundaries& boundaries, std::span<const std::string> more = {});

// ---- items ----
//
// The items of a native graph file as text, each on one line: declarations of values, and nodes.
// Items read from JSON are copied; others are made from the graph.

// Finds exact offsets in the text of a native graph; the graph itself stores only rough ones.

// The offset of the name at fault inside the node or declaration `where`; the start of `where` when
// the name is not found. Pass fault.where, or fault.first for the first use of the name. `text` is
// the whole source.
std::uint64_t place_of_fault(std::string_view text, const GraphFault& fault, SourceSpan where);

// The offset of the string `wanted` in the field of the object `where`; the start of `where` when
// it is not found.
std::uint64_t place_in_field(std::string_view text, SourceSpan where, std::string_view field,
                             std::string_view wanted);

// Items of a native graph file for a model that was not read from one: made from the graph.
// Attributes that rules cannot ask about, and bodies, are left out.

// `[1, "N", null]`; only for a tensor of known rank.
std::string make_shape_json(const Graph& graph, ValueId id);

// Moves nodes to another device. Nodes of traced code may name the device of their output
// (torch.zeros with device="cpu").

// The node, as JSON on one line, with its attribute or keyword `device` set to this device;
// unchanged when it has neither.
std::string with_device(std::string node, std::string_view device);

}  // namespace cleave
