// Numbers of a split that depend on dims without a size, as polynomials of these dims.
//
//   input x: float32[N,3,H,W]      FLOPs 108*N*H*W + 2048*N, bytes into the first part 12*N*H*W
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/polynomial.h"
#include "core/split/partition.h"

namespace cleave {

struct OpenNumber {
  double at_first = 0;                   // at the first sizes of the grid
  std::optional<Polynomial> exact = {};  // nullopt: it is no polynomial of degree 3 at most
  bool is_partial = false;               // something in it stays unknown, and is left out
};

struct OpenPart {
  OpenNumber flops, input_bytes, output_bytes;
};

struct OpenSizes {
  std::vector<std::string> names;  // of the open dims: a symbol, or "x[1]" where a dim has no name
  SampleGrid grid;                 // the sizes that were tried
  // The polynomials hold at the grid's sizes, and not between them: a stride divides sizes and rounds.
  bool is_for_steps = false;
  // Dims for which only this size fits the model.
  std::vector<std::pair<std::string, std::int64_t>> pinned = {};
  std::vector<std::optional<double>> node_flops = {};  // at the first sizes, by node
  OpenNumber flops;
  OpenNumber acc_flops = {};                    // of a split
  std::optional<PerPart<OpenPart>> parts = {};  // of a split
};

}  // namespace cleave
