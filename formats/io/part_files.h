// The names of the files that parts are written to: P.onnx or P.json, and P.dot, for a part P.
//
//   part     file
//   a_b      a_b        kept where it can be
//   a/b      a_b_2      no file is called so, and a_b is taken
//   A_B      A_B_3      one file with a_b where a file system does not tell cases apart
//   root     root_2     root.onnx and root.json are files of the split's own
#pragma once

#include <span>
#include <string>
#include <vector>

namespace cleave {

// By part: its files' names before the extension. Each is one harmless path component of at most
// 220 bytes, and no two are equal but for the case of ASCII letters. A part keeps its own name
// where it can, whatever the parts before it are called; the same names give the same stems.
// Linear.
std::vector<std::string> file_stems(std::span<const std::string> part_names);

}  // namespace cleave
