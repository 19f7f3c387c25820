// External data of an ONNX model: the slice of a file beside the model that holds a tensor's
// elements, found and checked before anything is copied from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "formats/io/byte_pieces.h"
#include "formats/onnx/index/model.h"

namespace cleave {

// Bytes [offset, offset + length) of a file, given by its index in a list of sources.
struct ByteRange {
  std::uint32_t source = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

class OnnxExternalFiles {
 public:
  // `folder`: the one that locations start from. New files are added to `sources` as they are met.
  OnnxExternalFiles(std::string folder, std::vector<ByteSource>& sources);

  // Where the elements of an external tensor lie. Refuses a location that is absolute, holds "..",
  // or leads out of the folder over a link; what is no regular file; a slice that reaches past the
  // file's end, or is not as long as dims and type ask.
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

// Bytes of the tensor's elements, dense, as raw_data holds them. Nothing where the dtype does not
// tell or a dim is negative.
std::optional<std::uint64_t> onnx_tensor_bytes(const OnnxTensor& tensor);

}  // namespace cleave
