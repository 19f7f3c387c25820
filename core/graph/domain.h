// Operator domains. The default domain has two names in files, "" and "ai.onnx"; cleave uses "". It
// also is the domain of the operators of TensorFlow Lite, "tflite", whose names differ from ONNX's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cleave {

class Graph;

// "" for "ai.onnx" and "tflite"; any other domain unchanged.
std::string_view plain_domain(std::string_view domain);

// The version of the domain that the model imports; nullopt when the model does not import it.
std::optional<std::int64_t> imported_opset(const Graph& graph, std::string_view domain);

}  // namespace cleave
