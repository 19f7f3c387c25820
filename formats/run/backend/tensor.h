// Tensors sent to a backend and received from it: one per file, as ONNX's TensorProto or numpy's
// .npy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/dtype.h"

namespace cleave {

struct Tensor {
  std::string name = {};
  DType dtype = DType::unknown;
  std::vector<std::int64_t> dims = {};
  std::string bytes = {};  // dense, little-endian, as raw_data of a TensorProto

  std::uint64_t count() const;  // of elements; 1 for a scalar; 2^64-1 for all that are more
};

// "float32 (2,3)"
std::string tensor_type_text(const Tensor& tensor);

// A TensorProto with raw_data.
std::string encode_tensor(const Tensor& tensor);
// nullopt unless the bytes are a TensorProto with its elements inside, as numbers of fixed size.
std::optional<Tensor> decode_tensor(std::string_view bytes);

// A .npy file of version 1.0. nullopt for dtypes that numpy does not have.
std::optional<std::string> encode_npy(const Tensor& tensor);
// nullopt unless the bytes are such a file, in C order, little-endian.
std::optional<Tensor> decode_npy(std::string_view bytes);

}  // namespace cleave
