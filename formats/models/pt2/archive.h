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
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"

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
// by name. `source` must outlive the result. Linear in the records and the tables.
Loaded<Pt2Archive> read_pt2_archive(const SourceFile& source);

}  // namespace cleave
