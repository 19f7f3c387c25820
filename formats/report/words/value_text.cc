#include "formats/report/words/value_text.h"

#include <algorithm>

#include "formats/text/diagnostic.h"

namespace cleave {
namespace {

constexpr std::size_t kMostDims = 16;

std::string dim_text(const Graph& graph, Dim dim) {
  if (dim.is_fixed()) return std::to_string(dim.size());
  return dim.is_symbol() ? escaped(graph.text(dim.name())) : "?";
}

std::string shape_text(const Graph& graph, Shape shape) {
  std::string text = "[";
  for (const Dim dim : shape.first(std::min(shape.size(), kMostDims))) {
    if (text.size() > 1) text += ", ";
    text += dim_text(graph, dim);
  }
  if (shape.size() > kMostDims) text += ", ...";
  return text + "]";
}

}  // namespace

std::string type_text(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  if (!value.is_tensor()) return std::string(value_type_name(value.type));
  const bool has_dtype = value.dtype != DType::unknown;
  if (!has_dtype && !graph.has_rank(id)) return "tensor";
  const std::string shape = graph.has_rank(id) ? shape_text(graph, graph.shape(id)) : "[...]";
  return (has_dtype ? std::string(dtype_name(value.dtype)) : "tensor") + shape;
}

std::string signature_text(const Signature& signature) {
  std::string text;
  const auto add = [&](const std::string& name, DType dtype) {
    text += (text.empty() ? "" : ", ") + name;
    text += dtype == DType::unknown ? "-" : dtype_name(dtype);
  };
  for (const DType dtype : signature.args) add("", dtype);
  for (const auto& [name, dtype] : signature.kwargs) add(escaped(name) + "=", dtype);
  return "(" + text + ")";
}

std::string op_text(std::string_view domain, std::string_view op) {
  return domain.empty() ? std::string(op) : std::string(domain) + "::" + std::string(op);
}

}  // namespace cleave
