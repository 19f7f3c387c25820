// Types of ONNX values, as inference and reader see them: read from and written as TypeProto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/dtype.h"
#include "core/graph/graph.h"

namespace cleave {

// One dimension as ONNX has it: a size, else a name, else (neither) unknown.
struct OnnxDim {
  std::int64_t size = -1;
  std::string name;

  bool is_fixed() const { return size >= 0; }
  bool is_unknown() const { return size < 0 && name.empty(); }
  bool operator==(const OnnxDim&) const = default;
};

struct OnnxType {
  // tensor, sequence, map, optional; unknown: nothing is known.
  ValueType type = ValueType::unknown;
  DType dtype = DType::unknown;  // tensors
  bool has_shape = false;
  std::vector<OnnxDim> dims;
  // Serialized TypeProto of what a dtype and a shape do not tell: sequences, maps, optionals,
  // sparse tensors. Empty for a plain tensor.
  std::string full;

  bool is_tensor() const { return type == ValueType::tensor; }
  bool is_known() const { return type != ValueType::unknown || !full.empty(); }
  std::size_t rank() const { return dims.size(); }  // only where has_shape
  // Number of elements along a dim, -1 when not known.
  std::int64_t size(std::size_t axis) const { return dims[axis].size; }
  void set_shape(std::vector<OnnxDim> shape) {
    dims = std::move(shape);
    has_shape = true;
  }
  bool operator==(const OnnxType&) const = default;
};

// A tensor of unknown rank; of these dims.
OnnxType onnx_tensor_type(DType dtype);
OnnxType onnx_tensor_type(DType dtype, std::vector<OnnxDim> dims);

// Of a TypeProto's payload. What is damaged is unknown; so is a dim below 0.
OnnxType parse_onnx_type(std::string_view type_proto);
// The TypeProto's payload; empty when nothing is known.
std::string serialize_onnx_type(const OnnxType& type);

// What a sequence or optional holds; unknown when that is not told.
OnnxType onnx_element_type(const OnnxType& type);

// What was inferred and what the file declares, as one. A declared dtype holds: no runtime takes a
// model where it is wrong; a declared shape may be, so where shapes disagree neither is believed.
struct OnnxMergedType {
  OnnxType type;
  bool agree = true;
};
OnnxMergedType merged_onnx_type(OnnxType inferred, const OnnxType& declared);

// "float32[N,3,?]", "float32 of unknown rank", "sequence", "unknown".
std::string onnx_type_text(const OnnxType& type);

}  // namespace cleave
