// ONNX files: the index of the protobuf, and the graph made from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/progress.h"
#include "core/condition/op_facts.h"
#include "core/graph/attribute.h"
#include "core/graph/graph.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/limits.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

struct OnnxLoaded {
  std::unique_ptr<OnnxModel, DeleteOnnxModel> model;
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
  std::size_t misfits = 0;  // nodes and values whose shapes contradict each other
};

// What becomes of calls of the model's own functions: see formats/models/onnx/fold/inline_functions.h.
enum class OnnxCalls : std::uint8_t { kept, inlined };

// Reads index, shapes and graph. Linear in the records of the file; does not read weights. Errors
// name the node: `m.onnx: node "x": reads "y", which nothing produces`.
Loaded<OnnxLoaded> read_onnx(const SourceFile& source, const ShapeBindings& bindings,
                             const ModelLimits& limits = {}, const Progress& progress = {},
                             OnnxCalls calls = OnnxCalls::kept);

// A model's own functions: which of them a set of nodes calls, directly or through others.

// Functions that call each other in a cycle, by index: each calls the next, and the last the first.
// Empty when there is no cycle. Linear.
std::vector<std::uint32_t> cycle_of_functions(const OnnxModel& model);

class OnnxFunctionCalls {
 public:
  // `model` must outlive this.
  explicit OnnxFunctionCalls(const OnnxModel& model);

  // Indices of the functions that the nodes (indices into the main graph's) need, in file order.
  // Linear in the nodes, their bodies, and the functions found.
  std::vector<std::uint32_t> needed_by(const std::vector<std::uint32_t>& nodes) const;

 private:
  void add_calls(const OnnxNode& node, std::vector<std::uint32_t>& found) const;

  const OnnxModel& model_;
  // By domain and name; overloads of one name count as one.
  std::unordered_map<std::string, std::vector<std::uint32_t>> functions_;
};

// The elements of an ONNX model's constants, for rules that ask what a constant is.
inline constexpr std::size_t kMostElementsRead = 65'536;  // of one constant

// The elements of an initializer in the file or of a Constant node's output, in row-major order;
// booleans are 0 and 1. nullopt for external data, for constants that other nodes compute, for
// dtypes other than booleans, integers and reals of 8 to 64 bits, and above kMostElementsRead.
// Linear in the elements.
std::optional<std::vector<Literal>> onnx_constant_elements(const OnnxModel& model,
                                                           const Graph& graph, ValueId parameter);

// How the QuantizeLinear and DequantizeLinear nodes around a tensor quantise it: those that make
// it, or else that read it, all of them. Kind `none` where it has neither. nullopt where scales are
// no constants of the file. Linear in the scales.
std::optional<Quantization> onnx_quantization(const OnnxModel& model, const Graph& graph,
                                              ValueId tensor);

}  // namespace cleave
