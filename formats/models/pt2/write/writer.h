// Writes the split of a torch.export archive: `<part>.pt2` for each partition, which
// torch.export.load reads, and `root.pt2`, the whole program with a module for each partition.
// Weights are copied from file to file without passing through memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/split/partition.h"
#include "formats/base/io/output_folder.h"
#include "formats/base/io/write_fault.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

enum class Pt2Files : std::uint8_t {
  one_a_part,  // a file for each partition, and root.pt2
  bundle       // bundle.pt2 alone: root and partitions as models of one archive with shared weights
};

struct Pt2Written {
  std::vector<std::string> part_files;  // by part
  std::string chain;                    // JSON: how the partitions are called; see pt2_chain_json()
};

// The files have the layout of torch 2.9 and later, whatever the model's. Errors: those of
// plan_pt2_split(), and system errors. Takes as long as copying the bytes written, and a few times
// the program's JSON of memory.
Result<Pt2Written, WriteFault> write_pt2_split(const LoadedModel& model, const Partition& partition,
                                               Pt2Files files, const OutputFolder& folder,
                                               const Progress& progress);

}  // namespace cleave
