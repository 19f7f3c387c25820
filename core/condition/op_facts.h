// What a model's format knows about its operators, about the values of its constants and the memory
// of its tensors, and about nodes that belong together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/condition/tensor_layout.h"
#include "core/graph/attribute.h"
#include "core/graph/graph.h"

namespace cleave {

// How the numbers of a tensor stand for reals: real = scale * (number - zero_point).
struct Quantization {
  enum class Kind : std::uint8_t {
    none,    // they stand for themselves
    tensor,  // one scale
    axis,    // a scale for each index of one axis
    other,   // in a way of the format's own: blocks, several axes
  };
  Kind kind = Kind::none;
  DType stored = DType::unknown;          // the type of the numbers
  std::vector<double> scales;             // one, or one for each index of `axis`
  std::vector<std::int64_t> zero_points;  // as many as scales
  std::int64_t axis = 0;                  // of kind `axis`
  bool is_symmetric() const;              // quantised, and all zero points are known to be 0
};

struct FunctionBody;

// Each function may be empty.
struct OpFacts {
  // The default of an attribute that a node does not state.
  std::function<std::optional<AttributeValue>(std::string_view domain, std::string_view op,
                                              std::int64_t opset, std::string_view attribute)>
      default_attribute;
  // The opset in which the op's schema at `opset` was introduced; 0 when it is unknown.
  std::function<std::int64_t(std::string_view domain, std::string_view op, std::int64_t opset)>
      schema_version;
  // The elements of a parameter, in row-major order; booleans are 0 and 1. nullopt when they are
  // not in the file as such, or are too many to look at. Linear in the elements.
  std::function<std::optional<std::vector<Literal>>(const Graph& graph, ValueId parameter)>
      elements;
  // Whether the model writes the parameter, so that it is no constant.
  std::function<bool(ValueId parameter)> is_written = {};
  // How a tensor is laid out in memory; nullopt when it is unknown.
  std::function<std::optional<TensorLayout>(ValueId tensor)> layout = {};
  // Whether an op only runs its body, once: such a node is judged by its body alone.
  std::function<bool(std::string_view op)> is_region = {};
  // How a tensor is quantised; nullopt when it is unknown. Linear in its scales.
  std::function<std::optional<Quantization>(const Graph& graph, ValueId tensor)> quantization = {};
  // The version of a node's operator in formats where each operator states its own, which stands
  // for the opset there; nullopt elsewhere.
  std::function<std::optional<std::int64_t>(NodeId node)> version = {};
  // What a runtime does to the graph before it asks a provider, for lists that are about its graph:
  // the node of which this one becomes a part, or in whose place it stands. kNone: it stays.
  std::function<NodeId(const Graph& graph, NodeId node)> runtime_host = {};
  // The nodes by which a runtime replaces the node when no provider takes it; null: it has no such.
  std::function<std::shared_ptr<const FunctionBody>(const Graph& graph, NodeId node)>
      function_body = {};
  // Sets of nodes that must be in one partition, since they use memory that some of them write in
  // place (torch.export).
  std::vector<std::vector<NodeId>> whole = {};
};

// The body of an operator that is defined by others, with the types of one node's inputs.
struct FunctionBody {
  Graph graph;
  OpFacts facts;
};

// Whether the value is known when the model is compiled: a parameter that the model does not write.
bool is_constant(const Graph& graph, ValueId value, const OpFacts& facts);

// The version of the node's operator, or the opset that the model imports for its domain.
std::optional<std::int64_t> opset_of(const Graph& graph, NodeId node, const OpFacts& facts);

}  // namespace cleave
