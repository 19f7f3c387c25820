// Tensor files for programs that run a piece: converts cleave's TensorProto files to and from the
// format of the backend.
#pragma once

#include <string>

#include "core/base/result.h"
#include "formats/run/backend/backend.h"
#include "formats/run/backend/tensor.h"

namespace cleave {

struct NamedFile;

// The tensor in a TensorProto file; the error names the file.
Result<Tensor, Error> read_tensor_file(const std::string& path);

class TensorFiles {
 public:
  struct Given {
    std::string path;
    std::string shape;  // "2x3"; "" for a scalar
  };

  // `prefix` is the start of the paths of new files.
  TensorFiles(TensorFormat format, std::string prefix)
      : format_(format), prefix_(std::move(prefix)) {}

  // Converts the TensorProto file for the backend's input number `at`.
  Result<Given, Error> give(const std::string& file, std::size_t at) const;
  // Where the backend writes its output number `at`.
  std::string output_path(std::size_t at) const;
  // Makes the TensorProto file of an output from the file that the backend wrote.
  Status<Error> take(const std::string& path, const NamedFile& output) const;

 private:
  TensorFormat format_;
  std::string prefix_;
};

}  // namespace cleave
