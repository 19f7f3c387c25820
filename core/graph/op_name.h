// Names of operators: their domains, one text for domain and name, and how people write those of torch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/ids.h"

namespace cleave {

class Graph;

// The name of an operator as people write it, which is that of its domain, "::" and its own:
//
//   com.microsoft::Gelu   domain com.microsoft, op Gelu
//   Gelu, ai.onnx::Gelu   the default domain
//   com.microsoft::*      where globs may stand: every operator of that domain
//   *::*                  every operator of every domain
//
// Files of models have the two apart. What a rule, an option or a table of times names is read by
// parse_op() alone.
struct ParsedOp {
  std::string_view domain;  // as plain_domain() has it
  std::string_view op;
  bool has_domain = false;  // "::" is in the text
};
ParsedOp parse_op(std::string_view text);

// The other way: "com.microsoft::Gelu"; "Gelu" for the domain "".
std::string op_text(std::string_view domain, std::string_view op);

// Operator domains. The default domain has two names in files, "" and "ai.onnx"; cleave uses "". It
// also is the domain of the operators of TensorFlow Lite, "tflite", whose names differ from ONNX's.

// "" for "ai.onnx" and "tflite"; any other domain unchanged.
std::string_view plain_domain(std::string_view domain);

// The version of the domain that the model imports; nullopt when the model does not import it.
std::optional<std::int64_t> imported_opset(const Graph& graph, std::string_view domain);

// What a node does to numbers: makes whole ones of floats by a scale, or floats of these.
enum class QuantRole : std::uint8_t { none, quantize, dequantize };

// By the op's name, of ONNX, TensorFlow Lite and torch.
QuantRole quant_role(const Graph& graph, NodeId node);

// One key for an operator under all its spellings: ONNX writes `LogSoftmax`, torch.fx
// `torch.log_softmax`, `torch.nn.modules.activation.LogSoftmax`, `torch.ops.aten.log_softmax.int`.
// Tables about operators are looked up by this key.

// The last part of the name that is not an overload, in lower case and without underscores:
// "torch.nn.modules.conv.Conv2d" -> "conv2d"; "aten.add.Tensor" -> "add"; "relu_" -> "relu". Empty
// for names of packages other than torch's and Python's own, whose ops may be anything.
std::string op_key(std::string_view op);

// The names of torch's operators that people use: `torch.ops.aten.conv2d.default` in a graph is
// also `aten.conv2d.default` and, for every overload, `aten.conv2d`, `torch.ops.aten.conv2d` or
// `aten::conv2d`, which is op `conv2d` of the domain `aten`. Globs may leave out `torch.ops.`, too.

// The names, besides the op itself, that a rule for it may have beside a domain or without one. All
// are empty for an op that is not in torch.ops.
std::array<std::string, 5> torch_spellings(std::string_view op);

// True when `domain` and `name`, as a rule writes them, mean the operator `op` of a graph: "aten"
// and "conv2d", or "" and "aten.conv2d".
bool is_torch_spelling(std::string_view domain, std::string_view name, std::string_view op);

// "aten.conv2d.default" of "torch.ops.aten.conv2d.default"; "" for other ops.
std::string_view torch_path(std::string_view op);

}  // namespace cleave
