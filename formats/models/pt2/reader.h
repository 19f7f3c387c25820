// Reads torch.export archives (.pt2) into graphs, without PyTorch and without reading weights.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/condition/op_facts.h"
#include "core/condition/tensor_layout.h"
#include "core/split/node_ties.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/pt2/model.h"

namespace cleave {

// What a program says about memory, for support rules: which of its parameters and buffers it
// writes, and how its tensors are laid out.

// By value of the program: an input that the program writes, in place or by a mutation in its
// signature, or that shares its record with one that it writes. Linear, near enough.
std::vector<bool> written_inputs(const Pt2Model& model);

// Finds what the operators of model.program do to memory, and what its nodes are to the graph. Linear,
// near enough.
void find_meaning(Pt2Model& model);

// The layout of a tensor of the program; nullopt if the file does not state it, or not in terms of
// its sizes. Strides that depend on symbols without a size are unknown, but do not hide the layout:
// strides [8*s0, 8, 1] of sizes [2, s0, 8] are contiguous for any s0. Linear in the dims.
std::optional<TensorLayout> tensor_layout(const Pt2Model& model, const Pt2Value& value);

struct Pt2Loaded {
  std::unique_ptr<Pt2Model, DeletePt2Model> model;
  Graph graph;
  std::vector<Diagnostic> warnings;  // operators whose effects are unknown
  std::vector<std::string> notes;
};

// Linear. The graph's names are views into `source` and the model. An operator's name is its
// target: "torch.ops.aten.conv2d.default". `bindings` sets symbols, "s77", by --dim or by the shape
// of an input; other symbols keep their name, and a note lists the sizes that they were traced
// with.
Loaded<Pt2Loaded> read_pt2(const SourceFile& source, const ShapeBindings& bindings,
                           const ModelLimits& limits = {}, const Progress& progress = {});

// The constraints that operators with effects put on a split: their order, and sets of nodes that
// view written memory or are in one vmap region. Linear in both.
NodeTies pt2_ties(const Pt2Model& model);

// What the nodes of an order or a set have in common, as messages say it: "\"x\", which is written in
// place", "the generator of random numbers"; "nodes of one vmap region".
std::string shared_memory_text(const Pt2Model& model, const Pt2Order& order);
std::string whole_text(const Pt2Whole& whole);

// Defaults of arguments from torch's schemas, and the names that support lists use for its
// operators.
OpFacts torch_op_facts(const Pt2Model& model);

}  // namespace cleave
