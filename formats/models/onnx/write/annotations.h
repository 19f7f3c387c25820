// Quantization annotations: which initializers hold the scale and zero point of a value. Tools that
// quantize use them, runtimes do not; each written file keeps those of its values.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/graph.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

struct OnnxAnnotation {
  std::string_view field;                 // the whole record, a field of GraphProto
  std::vector<std::uint32_t> parameters;  // indices of initializers
};

class OnnxAnnotations {
 public:
  explicit OnnxAnnotations(const LoadedModel& model);

  bool empty() const { return annotations_.empty(); }
  // The annotations about the values, in the values' order.
  std::vector<const OnnxAnnotation*> about(const std::vector<ValueId>& values) const;

 private:
  std::vector<OnnxAnnotation> annotations_;
  std::unordered_multimap<std::uint32_t, std::uint32_t> by_value_;
};

}  // namespace cleave
