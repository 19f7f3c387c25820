// Files beside the model: lists, maps, tables, baselines. They are small. A limit on their size
// makes reading end even when the path is a device without an end.
#pragma once

#include "formats/base/io/source_file.h"

namespace cleave {

inline constexpr std::uint64_t kMostSideBytes = std::uint64_t{256} << 20U;

// Opens the file as SourceFile::open() does; refuses one of more than kMostSideBytes.
inline Loaded<SourceFile> open_side_file(const std::string& path) {
  return SourceFile::open(path, kMostSideBytes);
}

}  // namespace cleave
