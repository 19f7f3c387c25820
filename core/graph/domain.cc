#include "core/graph/domain.h"

#include "core/graph/graph.h"

namespace cleave {

std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" || domain == "tflite" ? std::string_view{} : domain;
}

std::optional<std::int64_t> imported_opset(const Graph& graph, std::string_view domain) {
  for (const OpsetImport& import : graph.opsets()) {
    if (plain_domain(import.domain) == plain_domain(domain)) return import.version;
  }
  return std::nullopt;
}

}  // namespace cleave
