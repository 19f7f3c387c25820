// Folding: what is known before a model runs takes the place of what would compute it.
//
// - An If of the main graph whose condition is known is replaced by the nodes of its branch.
// - With Folding::write, a node whose results are known integers or booleans is replaced by
//   constants. Reals stay: a runtime may round them differently.
// - A node that only these read is left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/infer/shapes.h"

namespace cleave {

struct OnnxFolded {
  std::vector<std::string> branches;    // for each If that is replaced: a sentence
  std::vector<std::string> kept;        // what is decided or known, but stays: sentences
  std::size_t constants = 0;            // nodes with known results: constants where they are read
  std::vector<std::string_view> loose;  // values that have lost a reader

  bool is_any() const { return !branches.empty() || constants > 0; }
};

// Replaces the Ifs in `types.decided` and the nodes whose results are in `types.known`. Links and
// types of the model must be made anew afterwards; an If within a branch is decided then. An If
// stays when its branch has weights that would have to be renamed. Linear in the model's records.
OnnxFolded fold_onnx(OnnxModel& model, const OnnxLinks& links, const OnnxTypes& types);

}  // namespace cleave
