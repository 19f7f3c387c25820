// External data of an ONNX model: finds and checks the slice of a file next to the model that holds
// a tensor's elements, before it is copied.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/weight_files.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

// Bytes [offset, offset + length) of a file, which is an index into a list of sources.
struct ByteRange {
  std::uint32_t source = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

class OnnxExternalFiles {
 public:
  // `folder` is the folder that locations are relative to. New files are appended to `sources`.
  OnnxExternalFiles(std::string folder, std::vector<ByteSource>& sources);

  // The bytes of an external tensor's elements. Refuses a location as WeightFiles does; a slice that
  // extends past the file's end, or whose length does not match dims and type.
  Result<ByteRange, std::string> find(const OnnxTensor& tensor);

 private:
  WeightFiles files_;
};

// Bytes of the tensor's elements, dense, as in raw_data. nullopt when the dtype has no fixed size
// or a dim is negative.
std::optional<std::uint64_t> onnx_tensor_bytes(const OnnxTensor& tensor);

}  // namespace cleave
