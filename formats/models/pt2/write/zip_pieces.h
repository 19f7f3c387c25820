// A zip archive in torch's layout, laid out before a byte is written: records are stored, their
// data at multiples of 64 bytes, so that readers can map it. Sizes and checksums are known
// beforehand; those of copied records come from the archive that they are copied from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/io/byte_pieces.h"
#include "formats/models/pt2/archive.h"

namespace cleave {

class ZipPieces {
 public:
  // `root` is the folder of all records.
  explicit ZipPieces(std::string root) : root_(std::move(root)) {}

  // Adds a record with this data.
  void add(std::string_view name, std::string_view data);
  // Adds a record copied from source 0 of the list that the pieces are written with.
  void add_copy(std::string_view name, const Pt2Record& record);

  // The archive with its directory; zip64 if a number needs it. The same records give the same
  // bytes.
  BytePieces finish() &&;

 private:
  struct Entry {
    std::string name;
    std::uint64_t header, size;
    std::uint32_t crc;
  };
  void add_header(std::string_view name, std::uint64_t size, std::uint32_t crc);
  std::string directory() const;

  std::string root_;
  BytePieces pieces_;
  std::vector<Entry> entries_;
};

}  // namespace cleave
