// The directory of a zip archive: its records and where their bytes are. Only the local header of
// each record is read, so an archive of any size is listed quickly.
//
// Archives may come from anywhere. Inconsistent ones are refused: ranges outside the file or
// overlapping, names that leave the folder or are repeated, counts that the directory has no room
// for; and records that cannot be copied byte for byte, since they are compressed or encrypted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace cleave {

// What is wrong with an archive that torch.jit wrote.
inline constexpr std::string_view kTorchScript =
    "is a TorchScript file: export the model with torch.export.save or torch.onnx.export";

struct ZipRecord {
  std::string_view name;     // a view into the bytes
  std::uint64_t offset = 0;  // of the data, from the start of the archive
  std::uint64_t size = 0;
  std::uint32_t crc = 0;  // CRC-32 of the data, from the directory
};

// True for bytes that begin like a zip archive.
bool looks_like_zip(std::string_view bytes);

// The records in the order of the directory, without folders (names ending in '/'). Or what is
// wrong with the archive, as a text that follows its name. O(n log n) in records.
Result<std::vector<ZipRecord>, std::string> read_zip_directory(std::string_view bytes);

// Whether the data of the record has the CRC-32 in the directory. Reads all of it.
bool has_its_crc(std::string_view bytes, const ZipRecord& record);

// The CRC-32 that zip uses.
std::uint32_t zip_crc(std::string_view data);

}  // namespace cleave
