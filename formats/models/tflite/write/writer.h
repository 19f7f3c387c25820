// Writes the split of a TensorFlow Lite model: `<part>.tflite` for each partition, `root.tflite`,
// the whole model with a composite for each partition, and `init.tflite`, which makes the first
// values of state that the caller keeps; or `bundle.tflite` alone, with a signature for each
// partition and one for the first values. Weights are copied from file to file without passing
// through memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/split/partition.h"
#include "core/split/piece.h"
#include "formats/base/io/byte_pieces.h"
#include "formats/base/io/output_folder.h"
#include "formats/base/io/part_files.h"
#include "formats/base/text/fault.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

// Which variables the caller keeps; a partition's file keeps the others.
enum class TfliteLift : std::uint8_t {
  shared,  // those that several partitions use
  all
};

struct TfliteChoices {
  PartFiles files = PartFiles::one_a_part;
  TfliteLift lift = TfliteLift::shared;
};

struct TfliteWritten {
  std::vector<std::string> part_files;  // by part
  std::vector<std::string> notes;       // what the user should know of the files
  std::string chain;                    // JSON: see tflite_chain_json()
};

// Errors: those of plan_tflite_split(), weights in other files that are not there or lead out of the
// model's folder, tables of a newer schema, and system errors. Takes as long
// as copying the bytes written, and a few times the model's tables of memory.
Result<TfliteWritten, Fault> write_tflite_split(const LoadedModel& model,
                                                const Partition& partition,
                                                const TfliteChoices& choices,
                                                const OutputFolder& folder,
                                                const Progress& progress);

// Writes a partition of one piece as a model of its own; with `ends`, its inputs and outputs are as in
// find_piece_boundary().
Status<Fault> write_tflite_piece(const LoadedModel& model, const Partition& piece, TfliteLift lift,
                                 const OutputPath& output, const PieceEnds* ends = nullptr);

}  // namespace cleave
