// What a program says about memory, for support rules: which of its parameters and buffers it
// writes, and how its tensors are laid out.
#pragma once

#include <optional>
#include <vector>

#include "core/condition/tensor_layout.h"
#include "formats/models/pt2/model.h"

namespace cleave {

// By value of the program: an input that the program writes, in place or by a mutation in its
// signature, or that shares its record with one that it writes. Linear, near enough.
std::vector<bool> written_inputs(const Pt2Model& model);

// The layout of a tensor of the program; nullopt if the file does not state it, or not in terms of
// its sizes. Strides that depend on symbols without a size are unknown, but do not hide the layout:
// strides [8*s0, 8, 1] of sizes [2, s0, 8] are contiguous for any s0. Linear in the dims.
std::optional<TensorLayout> tensor_layout(const Pt2Model& model, const Pt2Value& value);

}  // namespace cleave
