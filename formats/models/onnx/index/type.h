// Types of ONNX values for inference and the reader: read from and written as TypeProto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/graph/dtype.h"
#include "core/graph/graph.h"

namespace cleave {

// One dimension in ONNX: a size, else a name, else unknown.
struct OnnxDim {
  std::int64_t size = -1;
  std::string name;

  bool is_fixed() const { return size >= 0; }
  bool is_unknown() const { return size < 0 && name.empty(); }
  bool operator==(const OnnxDim&) const = default;
};

struct OnnxType {
  // tensor, sequence, map, optional; or unknown.
  ValueType type = ValueType::unknown;
  DType dtype = DType::unknown;  // tensors
  bool has_shape = false;
  std::vector<OnnxDim> dims;
  // Serialized TypeProto of a type that needs more than a dtype and a shape: sequences, maps,
  // optionals, sparse tensors. Empty for a plain tensor.
  std::string full;

  bool is_tensor() const { return type == ValueType::tensor; }
  bool is_known() const { return type != ValueType::unknown || !full.empty(); }
  std::size_t rank() const { return dims.size(); }  // only if has_shape
  // The size of a dim, -1 when unknown.
  std::int64_t size(std::size_t axis) const { return dims[axis].size; }
  void set_shape(std::vector<OnnxDim> shape) {
    dims = std::move(shape);
    has_shape = true;
  }
  bool operator==(const OnnxType&) const = default;
};

// A tensor of unknown rank, or with these dims.
OnnxType onnx_tensor_type(DType dtype);
OnnxType onnx_tensor_type(DType dtype, std::vector<OnnxDim> dims);

// Parses the payload of a TypeProto. A damaged one gives an unknown type, and a dim below 0 an
// unknown dim.
OnnxType parse_onnx_type(std::string_view type_proto);

// The element type of a sequence or optional; unknown when it is not given.
OnnxType onnx_element_type(const OnnxType& type);

// The inferred and the declared type merged. A declared dtype wins, since no runtime accepts a
// model in which it is wrong. A declared shape may be wrong: if shapes disagree, neither is used.
struct OnnxMergedType {
  OnnxType type;
  bool agree = true;
};
OnnxMergedType merged_onnx_type(OnnxType inferred, const OnnxType& declared);

// "float32[N,3,?]", "float32 of unknown rank", "sequence", "unknown".
std::string onnx_type_text(const OnnxType& type);

// A pool of ONNX types, each stored once: a model with a million values has a few hundred types.
class OnnxTypePool {
 public:
  // The unknown type.
  static const OnnxType* unknown();
  // The stored type: equal types have the same address, which stays valid as long as the pool
  // lives, also when it is moved.
  const OnnxType* keep(const OnnxType& type);
  const OnnxType* keep(OnnxType&& type);

 private:
  struct Hash {
    std::size_t operator()(const OnnxType& type) const;
  };
  std::unordered_set<OnnxType, Hash> types_;
};

}  // namespace cleave
