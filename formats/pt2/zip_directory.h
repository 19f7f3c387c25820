// The directory of a zip archive: which records it holds and where their bytes lie. Nothing of a
// record is read but its local header, so an archive of any size is listed at once.
//
// Archives come from anywhere. What lies about itself is refused: ranges outside of the file or
// over one another, names that leave a folder or are there twice, counts that the directory has no
// room for, and what cannot be copied byte for byte: compressed or encrypted records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace cleave {

struct ZipRecord {
  std::string_view name;     // in the bytes that were read
  std::uint64_t offset = 0;  // of the data, from the begin of the archive
  std::uint64_t size = 0;
  std::uint32_t crc = 0;  // CRC-32 of the data, as the directory says
};

// True of what begins as a zip archive does.
bool looks_like_zip(std::string_view bytes);

// The records in order of the directory; folders, whose names end in '/', are left out. Or what is
// wrong with the archive, in words that go on after its name. O(n log n) in records.
Result<std::vector<ZipRecord>, std::string> read_zip_directory(std::string_view bytes);

// Whether the data of the record has the CRC-32 that the directory says. Reads all of it.
bool has_its_crc(std::string_view bytes, const ZipRecord& record);

// CRC-32 as zip has it.
std::uint32_t zip_crc(std::string_view data);

}  // namespace cleave
