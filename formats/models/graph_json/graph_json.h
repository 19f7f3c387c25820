// Native graph JSON (cleave.graph version 1): read by streaming, without a document tree; written
// node by node, copying nodes verbatim from the source they were read from.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/progress.h"
#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/limits.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

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

}  // namespace cleave
