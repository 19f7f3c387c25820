// Writes the split of a torch.export archive: `<part>.pt2` for each part, which torch.export.load
// reads, and `root.pt2`, the whole program with a module for each part. Weights go from file to file
// without passing through memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/split/partition.h"
#include "formats/io/output_folder.h"
#include "formats/io/write_fault.h"
#include "formats/model/loaded_model.h"

namespace cleave {

enum class Pt2Files : std::uint8_t {
  one_a_part,  // and root.pt2
  bundle       // bundle.pt2 alone: root and parts as models of one archive that share weights
};

struct Pt2Written {
  std::vector<std::string> part_files;  // by part
  std::string chain;                    // JSON: how the parts are called; see pt2_chain_json()
};

// The layout of the files is that of torch 2.9 and later, whatever the model's. Errors: what
// plan_pt2_split() refuses; what the system says. Time: that of copying the bytes written; memory:
// the program's JSON a few times over.
Result<Pt2Written, WriteFault> write_pt2_split(const LoadedModel& model, const Partition& partition,
                                               Pt2Files files, const OutputFolder& folder,
                                               const Progress& progress);

}  // namespace cleave
