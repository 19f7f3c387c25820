// A torch.export archive (.pt2) of any torch version: the text of the program, and where the bytes
// of each weight are. There are three containers, recognised by their records:
//
//   old     torch up to 2.7   serialized_exported_program.json, weights in two torch.save files
//   nested  torch 2.8         models/<model>.json, weights in two torch.save files
//   raw     from torch 2.9    models/<model>.json, one record per storage, two JSON configs
//
// A torch.save file is a zip archive of its own, stored, whose data.pkl is a pickle. Weights are
// never read: each is a range of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/pt2/zip_directory.h"

namespace cleave {

enum class Pt2Container : std::uint8_t { old, nested, raw };

// The bytes of one storage, or of an object that only Python can read.
struct Pt2Record {
  std::string path;  // its name in the archive's config: "weight_3"
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
};

// A parameter, buffer, constant or object by its full name.
struct Pt2Entry {
  std::string name;
  std::string config;  // its JSON in the archive's config
  std::uint32_t record = 0;
  std::int64_t first_element = 0;  // of a tensor: where it begins in the record
};

// One of the two tables of an archive.
struct Pt2Table {
  std::vector<Pt2Record> records;
  std::vector<Pt2Entry> entries;  // by name

  // The entry with that name, or null.
  const Pt2Entry* find(std::string_view name) const;
};

struct Pt2Archive {
  Pt2Container container = Pt2Container::raw;
  std::string program_name;  // name of the program's record
  // The program as JSON, readable for 64 bytes beyond its end. A view into the source, or into
  // `own_program` if the source's text is not JSON (torch up to 2.7 writes Infinity and NaN).
  std::string_view program;
  std::vector<char> own_program;
  Pt2Table weights;         // parameters and persistent buffers
  Pt2Table constants;       // other buffers, tensor constants, objects
  Pt2Record sample_inputs;  // size 0: there is none
};

// True for bytes that begin like a zip archive.
bool looks_like_pt2(std::string_view bytes);

// Reads the directory, the position of the program and the tables; refuses other kinds of archives
// by name. `program`: which one of several; empty: "model", or the only one. `source` must outlive the
// result. Linear in the records and the tables.
Loaded<Pt2Archive> read_pt2_archive(const SourceFile& source, std::string_view program = {});

// The tables of weights: from the JSON config of a raw archive, or from the pickle of a torch.save
// file in an old one, whose tensors get the config that a raw archive would have for them.

// The record of an archive that a config names; null if there is none.
using FindZipRecord = std::function<const ZipRecord*(std::string_view path)>;

// Both return the table with its entries sorted by name, or what is wrong with the record, as a
// text that follows its name. O(n log n).
Result<Pt2Table, std::string> read_config_table(const SourceFile& source, const ZipRecord& config,
                                                const FindZipRecord& find_record);

// `file` is a record of `bytes` that is itself a zip archive; `prefix` + key names its records.
Result<Pt2Table, std::string> read_saved_table(std::string_view bytes, const ZipRecord& file,
                                               std::string_view prefix);

// Numbers that JSON does not have: torch up to 2.7 writes Infinity, -Infinity and NaN bare, later
// versions as strings, "Infinity", which JSON readers accept.

// The text with such numbers in quotes, followed by 64 zero bytes; empty when there are none.
// Linear.
std::vector<char> with_quoted_numbers(std::string_view json);

}  // namespace cleave
