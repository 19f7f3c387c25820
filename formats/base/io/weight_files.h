// Files beside a model that hold its weights: found by the names that the model has for them, and
// checked before bytes of them are copied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/byte_pieces.h"

namespace cleave {

class WeightFiles {
 public:
  struct File {
    std::uint32_t source;  // in the list of sources
    std::uint64_t size;
  };
  // `folder` is the folder that locations are relative to. New files are appended to `sources`.
  WeightFiles(std::string folder, std::vector<ByteSource>& sources);

  // Refuses a location that is absolute, contains "..", or leads out of the folder through a link;
  // and a file that is not regular.
  Result<File, std::string> find(std::string_view location);

 private:
  Result<File, std::string> add(std::string_view location);

  std::string folder_;
  std::vector<ByteSource>& sources_;
  std::unordered_map<std::string, File> files_;
};

// What is wrong with bytes [offset, offset + length) of the file; empty: they are there.
std::string fault_of_range(const WeightFiles::File& file, std::uint64_t offset,
                           std::uint64_t length);

}  // namespace cleave
