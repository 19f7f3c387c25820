// The artefacts of a partition: what a backend made of it, kept in files of the output folder.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "formats/run/backend/backend.h"
#include "formats/run/lowering/piece_lowerer.h"

namespace cleave {

struct Artefact {
  std::string file;  // within the output folder: "artefacts/_run_on_acc_0.qnn.onnx"
  std::string role;  // "main", "data"
  std::uint64_t bytes = 0;
  std::string sha256;
};

struct PartArtefacts {
  std::vector<Artefact> files = {};
  std::vector<std::string> inputs = {}, outputs = {};            // of the main file, in its order
  std::vector<std::pair<std::string, std::string>> target = {};  // what it was made for
  std::string why = {};                                          // why there are none
};

// True for a backend whose worker compiles: it may keep what it makes.
bool may_keep(const Backend& backend);

struct PlaceOfArtefacts {
  std::string folder;                  // where they go; made when there is one
  std::string work;                    // for the backend's output; must not exist
  std::string stem;                    // of their names
  std::span<const ValueId> same = {};  // see PieceLowerer::keep()
};

// Compiles the piece once more, and moves what the worker keeps to the folder. Error: the disk.
Result<PartArtefacts, Error> keep_artefacts(PieceLowerer& lowerer, const Piece& piece,
                                            const PlaceOfArtefacts& place);

}  // namespace cleave
