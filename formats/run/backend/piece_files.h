// PieceFiles: a piece of a model as a backend gets it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cleave {

// A tensor file and the name of its value.
struct NamedFile {
  std::string name, file;
};

// A piece of a model in files. Paths are absolute.
struct PieceFiles {
  std::string model;
  std::string out;                                   // prefix of the result files
  std::vector<NamedFile> inputs = {}, outputs = {};  // for the stage run, TensorProto
  std::uint64_t seed = 0;
  // A worker exports a program of torch anew on `inputs`, so that its shapes are theirs.
  bool pins = false;
  // For the stage compile: a worker may leave what it compiled in files whose names begin as `out`
  // does.
  bool keeps = false;
};

}  // namespace cleave
