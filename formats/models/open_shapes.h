// Open shapes: what compilers refuse in a model whose inputs have dims without a size, and sizes
// for these dims.
//
//   open      a value whose rank or one of whose dims is not known
//   sizes     of the open dims of the model's inputs, as `--dim` and `--input-shape` give them
//   assumed   sizes that are tried when there is no reference run to take shapes from
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/models/bind/loaded_model.h"

namespace cleave {

using Sizes = std::vector<std::int64_t>;

bool is_open(const Graph& graph, ValueId value);

// True when a node reads or makes an open value.
bool has_open_shapes(const Graph& graph, std::span<const NodeId> nodes);

// The model's inputs that are open, in order.
std::vector<ValueId> open_inputs(const Graph& graph);

// The sizes of all open inputs when these have the shapes that `shape_of` knows: a symbol is bound
// by its name, and an input with a dim that has no name by its whole shape. An input of which no
// shape is known is left out.
ShapeBindings sizes_of_inputs(const Graph& graph,
                              const std::function<std::optional<Sizes>(ValueId)>& shape_of);

// The bindings with more sizes; an input that is in both gets the later shape.
ShapeBindings with_sizes(ShapeBindings bindings, const ShapeBindings& sizes);

// Options of the command line: {"--dim", "N=1", "--input-shape", "x=1,3"}.
std::vector<std::string> size_options(const ShapeBindings& sizes);

// Inputs of one element that alone decide which branch of an If runs that is not decided: `sr` of a voice
// detector. Linear, but for at most 64 makers of each condition.
std::vector<ValueId> deciding_inputs(const Graph& graph);
// The same of one If.
std::vector<ValueId> deciding_inputs(const Graph& graph, NodeId node);

// Shapes of open inputs, by name, with which the operators of the model agree best: of sizes that models take
// (one sample, a picture of 224 x 224, a line of text 48 high, a sequence of 128, ...) the first with the
// fewest contradictions, then the fewest unknown values.
struct Fitting {
  std::unordered_map<std::string, Sizes> shapes;
  LoadedModel model;  // read with them
};
// nullopt when no input is open, or the model takes none of them. Reads the model again for each that is tried, until
// one leaves nothing open: at most 8 times.
std::optional<Fitting> fitting_sizes(const LoadedModel& model);

// Bindings of dims within an ONNX model, which no input has, as "unk__368=64": data or operators decide them when the
// model runs, so that what is written with them holds for that data only.
std::vector<std::string> sizes_within(const LoadedModel& model);

struct AssumedShapes {
  ShapeBindings sizes;
  std::unordered_map<std::string, Sizes> shapes;  // by name of the value: where all dims follow
};

// Assumes 1 for open dims, and 224 for the height and width of images, or the sizes as traced where the model cannot
// take these, and infers the shapes of all values. nullopt when no input is open, or the model cannot take these sizes. Reads the model
// again: linear in its nodes.
std::optional<AssumedShapes> assume_shapes(const LoadedModel& model);

}  // namespace cleave
