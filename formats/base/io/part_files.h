// The names of the files that partitions are written to: P.onnx or P.json, and P.dot, for a
// partition P.
//
//   name     file
//   a_b      a_b        kept when possible
//   a/b      a_b_2      a file name has no '/', and a_b is taken
//   A_B      A_B_3      on a file system that ignores case it is the same file as a_b
//   root     root_2     root.onnx and root.json are the split's own files
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cleave {

// How the partitions of formats that can share weights in one file are written.
enum class PartFiles : std::uint8_t {
  one_a_part,  // a file for each partition, and one for the root
  bundle       // one file for all, which has their weights once
};

// By partition: its file names without extension. Each is one harmless path component of at most
// 220 bytes, and no two are equal when the case of ASCII letters is ignored. A partition keeps its
// own name when possible, whatever the names before it; the same names give the same stems. Linear.
std::vector<std::string> file_stems(std::span<const std::string> part_names);

}  // namespace cleave
