#include "formats/models/onnx/write/annotations.h"

#include <algorithm>
#include <utility>

#include "formats/models/onnx/index/fields.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {
namespace {

struct FileAnnotation {
  std::string_view tensor;
  std::vector<std::string_view> parameters;
};

FileAnnotation read_annotation(std::string_view payload) {
  FileAnnotation out;
  OnnxWalk walk;
  for (OnnxFields field(payload, "a quantization annotation", walk); field.next();) {
    if (field.key() == bytes_field(annotation_field::kTensorName)) {
      out.tensor = field.text();
    } else if (field.key() == bytes_field(annotation_field::kQuantParameters)) {
      out.parameters.push_back(index_onnx_key_value(field.text(), walk).value);
    } else {
      field.skip();
    }
  }
  return walk.is_refused() ? FileAnnotation{} : out;  // a damaged one annotates no tensor
}

std::unordered_map<std::string_view, ValueId> values_by_name(const Graph& graph) {
  std::unordered_map<std::string_view, ValueId> out;
  for (const ValueId value : IdRange<ValueId>(0, graph.value_count())) {
    if (graph.value(value).kind != ValueKind::body_local)
      out.emplace(graph.value(value).name, value);
  }
  return out;
}

}  // namespace

OnnxAnnotations::OnnxAnnotations(const LoadedModel& model) {
  const OnnxMainGraph& file = model.onnx()->graph;
  if (file.quantization_annotations.empty()) return;
  const auto values = values_by_name(model.graph);
  std::unordered_map<std::string_view, std::uint32_t> initializers;
  for (std::uint32_t i = 0; i < file.initializers.size(); ++i) {
    initializers.emplace(file.initializers[i].name, i);
  }
  for (const OnnxRecord& record : file.quantization_annotations) {
    const FileAnnotation stated = read_annotation(record.payload);
    const auto value = values.find(stated.tensor);
    if (value == values.end()) continue;
    OnnxAnnotation annotation{.field = record.field, .parameters = {}};
    for (const std::string_view name : stated.parameters) {
      const auto at = initializers.find(name);
      if (at != initializers.end()) annotation.parameters.push_back(at->second);
    }
    by_value_.emplace(index(value->second), static_cast<std::uint32_t>(annotations_.size()));
    annotations_.push_back(std::move(annotation));
  }
}

std::vector<const OnnxAnnotation*> OnnxAnnotations::about(
    const std::vector<ValueId>& values) const {
  std::vector<const OnnxAnnotation*> out;
  if (empty()) return out;
  for (const ValueId value : values) {
    const std::size_t first = out.size();
    const auto [begin, end] = by_value_.equal_range(index(value));
    for (auto at = begin; at != end; ++at) out.push_back(&annotations_[at->second]);
    // In file order, independent of the table's.
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
  }
  return out;
}

}  // namespace cleave
