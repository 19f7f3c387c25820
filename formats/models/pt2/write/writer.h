// Writes the split of a torch.export archive: `<part>.pt2` for each partition, which
// torch.export.load reads, and `root.pt2`, the whole program with a module for each partition.
// Weights are copied from file to file without passing through memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/progress.h"
#include "core/split/partition.h"
#include "core/split/piece.h"
#include "formats/base/io/byte_pieces.h"
#include "formats/base/io/output_folder.h"
#include "formats/base/io/part_files.h"
#include "formats/base/text/fault.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/pt2/archive.h"

namespace cleave {

// A zip archive in torch's layout, laid out before a byte is written: records are stored, their
// data at multiples of 64 bytes, so that readers can map it. Sizes and checksums are known
// beforehand; those of copied records come from the archive that they are copied from.
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

struct Pt2WriteOptions {
  PartFiles files = PartFiles::one_a_part;
  // root.pt2 lists its weights, but only has those that no partition has. torch cannot load it as it is;
  // a reader takes the record of the same path from a partition.
  bool has_empty_root = false;
};

struct Pt2Written {
  std::vector<std::string> part_files;  // by part
  std::uint64_t root_copies = 0;        // bytes of weights in root.pt2 that are in partitions, too
  std::string chain;                    // JSON: how the partitions are called; see pt2_chain_json()
};

// A bundle, bundle.pt2, is one archive with the root and the partitions as models. The files have
// the layout of torch 2.9 and later, whatever the model's. Errors: those of plan_pt2_split(), and
// system errors. Takes as long as copying the bytes written, and a few times the program's JSON of
// memory.
Result<Pt2Written, Fault> write_pt2_split(const LoadedModel& model, const Partition& partition,
                                          const Pt2WriteOptions& options,
                                          const OutputFolder& folder, const Progress& progress);

// The arguments and the results of a piece, in order, as numbers in Pt2Program::values.
struct Pt2PieceValues {
  std::vector<std::uint32_t> inputs, outputs;
};

// Writes one archive of the nodes of `piece`, a partition made by make_piece(). Its outputs are the
// values that other nodes read, or that the program returns; with `ends`, its inputs and outputs are as
// in find_piece_boundary(). Refuses ends that no program can have.
Result<Pt2PieceValues, Fault> write_pt2_piece(const LoadedModel& model, const Partition& piece,
                                              const OutputPath& output,
                                              const PieceEnds* ends = nullptr);

}  // namespace cleave
