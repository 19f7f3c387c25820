// External data of an ONNX model: finds and checks the slice of a file next to the model that holds
// a tensor's elements, before it is copied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/byte_pieces.h"
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

  // The bytes of an external tensor's elements. Refuses a location that is absolute, contains "..",
  // or leads out of the folder through a link; a file that is not regular; a slice that extends
  // past the file's end, or whose length does not match dims and type.
  Result<ByteRange, std::string> find(const OnnxTensor& tensor);

 private:
  struct File {
    std::uint32_t source;
    std::uint64_t size;
  };
  Result<File, std::string> file_at(std::string_view location);
  Result<File, std::string> add_file(std::string_view location);

  std::string folder_;
  std::vector<ByteSource>& sources_;
  std::unordered_map<std::string, File> files_;
};

// Bytes of the tensor's elements, dense, as in raw_data. nullopt when the dtype has no fixed size
// or a dim is negative.
std::optional<std::uint64_t> onnx_tensor_bytes(const OnnxTensor& tensor);

}  // namespace cleave
