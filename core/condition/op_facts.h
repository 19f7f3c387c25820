// What a model's format knows about its operators, about the values of its constants and the memory
// of its tensors, and about nodes that belong together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/condition/tensor_layout.h"
#include "core/graph/attribute.h"
#include "core/graph/graph.h"

namespace cleave {

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
  // Sets of nodes that must be in one partition, since they use memory that some of them write in
  // place (torch.export).
  std::vector<std::vector<NodeId>> whole = {};
};

// Whether the value is known when the model is compiled: a parameter that the model does not write.
bool is_constant(const Graph& graph, ValueId value, const OpFacts& facts);

}  // namespace cleave
