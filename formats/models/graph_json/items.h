// The items of a native graph file as text, each on one line: declarations of values, and nodes.
// Items read from JSON are copied; others are made from the graph.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

// Finds exact offsets in the text of a native graph; the graph itself stores only rough ones.

// The offset of the name at fault inside the node or declaration `where`; the start of `where` when
// the name is not found. Pass fault.where, or fault.first for the first use of the name. `text` is
// the whole source.
std::uint64_t place_of_fault(std::string_view text, const GraphFault& fault, SourceSpan where);

// The offset of the string `wanted` in the field of the object `where`; the start of `where` when
// it is not found.
std::uint64_t place_in_field(std::string_view text, SourceSpan where, std::string_view field,
                             std::string_view wanted);

// The declaration of the node's output number `slot`; an empty span when it has none.
SourceSpan span_of_output(std::string_view text, SourceSpan node, std::uint32_t slot);

// Items of a native graph file for a model that was not read from one: made from the graph.
// Attributes that rules cannot ask about, and bodies, are left out.

// `{"name": "y", "type": "tensor", "dtype": "float32", "shape": [1, "N", null]}`; a parameter also
// has `location`, `offset`, `bytes` if its raw data is in a file.
std::string make_value_json(const LoadedModel& model, ValueId id);

// `[1, "N", null]`; only for a tensor of known rank.
std::string make_shape_json(const Graph& graph, ValueId id);

// The node; captures of its bodies follow its other inputs.
std::string make_node_json(const LoadedModel& model, NodeId id);

class GraphJsonItems {
 public:
  explicit GraphJsonItems(const LoadedModel& model);

  std::string node(NodeId id) const;
  // The declaration of a graph input, a node's output, or a parameter that is passed like an input:
  // for use as an input of a graph or an output of a node.
  std::string value(ValueId id) const;
  // The declarations of one file's parameters, in the given order. A parameter that is an alias of
  // one outside the list becomes an alias of the first of its other names in the list.
  std::vector<std::string> parameters(std::span<const ValueId> ids) const;

 private:
  std::string_view source_of(SourceSpan span) const;

  const LoadedModel& model_;
  const Graph& graph_;
};

// Moves nodes to another device. Nodes of traced code may name the device of their output
// (torch.zeros with device="cpu").

// The node, as JSON on one line, with its attribute or keyword `device` set to this device;
// unchanged when it has neither.
std::string with_device(std::string node, std::string_view device);

}  // namespace cleave
