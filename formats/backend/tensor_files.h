// Tensor files for programs that run a piece: the TensorProto files that cleave keeps, in the format
// that the backend reads and writes.
#pragma once

#include <string>

#include "core/base/result.h"
#include "formats/backend/backend.h"
#include "formats/backend/tensor.h"

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

  // `prefix`: of the paths of files that are made.
  TensorFiles(TensorFormat format, std::string prefix)
      : format_(format), prefix_(std::move(prefix)) {}

  // The TensorProto file as the backend's input number `at`.
  Result<Given, Error> give(const std::string& file, std::size_t at) const;
  // Where the backend writes its output number `at`.
  std::string output_path(std::size_t at) const;
  // Makes the TensorProto file of an output of what the backend wrote.
  Status<Error> take(const std::string& path, const NamedFile& output) const;

 private:
  TensorFormat format_;
  std::string prefix_;
};

}  // namespace cleave
