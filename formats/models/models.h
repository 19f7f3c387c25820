// Models of every format, known by their content; sizes that are open.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/base.h"
#include "core/lists/condition.h"
#include "formats/base/faults.h"
#include "formats/base/model.h"

namespace cleave {

// ---- model file ----
//
// Reads a model of any format: recognises the format by content, then hands the file to its reader.

// Reads the model at `path` ("-": standard input). On error: all faults found, at most 20; when a
// limit is exceeded, only that fault. Of an ONNX model whose state grows, sizes that follow from those given are bound,
// too, as a mask's from past and new tokens, and one that contradicts them is a fault; such a model is inferred again.
Loaded<LoadedModel> read_model(const std::string& path, const ShapeBindings& bindings,
                               const ModelLimits& limits = {}, const Progress& progress = {});

// Reads the model's file again with other bindings; nullopt when the model cannot take them. Works
// for standard input, too.
std::optional<LoadedModel> read_again(const LoadedModel& model, const ShapeBindings& bindings);

// A model's graph with other bindings, as often as asked: read_again() without the rest of the model, and an ONNX file
// is walked once. The model must outlive this.
class GraphAgain {
 public:
  struct Bound {
    Graph graph;
    std::size_t misfits = 0;             // as in LoadedModel
    std::shared_ptr<const void> source;  // what the graph's names and places refer to
  };
  explicit GraphAgain(const LoadedModel& model) : model_(model) {}
  // nullopt when the model cannot take the bindings.
  std::optional<Bound> with(const ShapeBindings& bindings);

 private:
  const LoadedModel& model_;
  std::shared_ptr<const OnnxModel> index_;  // from the first use on
};

// Reads the file of an ONNX model again, standard input, too, with calls of its own functions replaced by their
// nodes. Calls that stay are named in the notes.
Loaded<LoadedModel> read_inlined(const LoadedModel& model, const ShapeBindings& bindings);

// "json", "onnx", "pt2", "tflite"
std::string_view model_format_name(ModelFormat format);

// How many tokens a run takes: the second size of the input of ids or embeddings. nullopt: it is open, or there is
// no such input.
std::optional<std::uint64_t> tokens_of_run(const Graph& graph);

// What is said of the graph's state in reports: "8 pairs, grows on axis 2, 1.00 MiB"; "" where it has none. Linear in the
// pairs, for each kind of them.
std::string state_text(const Graph& graph);

// The facts about operators that the model's format has: ONNX's schema registry, torch's schemas,
// what a TensorFlow Lite file says of its tensors, else none. They read the elements of constants
// in the model, which must outlive them.
OpFacts op_facts(const LoadedModel& model);

// The path of a parameter in the module that the model was made of: "embed.weight", while the graph
// may call it "embed_weight_1" or "p_embed_weight".

// The target of a native JSON parameter, the parameter, buffer or constant that a torch.export
// signature names; the parameter's own name where the file has neither.
std::string parameter_path(const LoadedModel& model, ValueId parameter);

// ---- open shapes ----
//
// Open shapes: what compilers refuse in a model whose inputs have dims without a size, and sizes
// for these dims.
//
//   open      a value whose rank or one of whose dims is not known
//   sizes     of the open dims of the model's inputs, as `--dim` and `--input-shape` give them
//   assumed   sizes that are tried when there is no reference run to take shapes from

using Sizes = std::vector<std::int64_t>;

// True when a node reads or makes an open value.
bool has_open_shapes(const Graph& graph, std::span<const NodeId> nodes);

// The model's inputs that are open, in order.
std::vector<ValueId> open_inputs(const Graph& graph);

// The names of open dims of inputs that the file computes from names of others: "s53 + s77" beside "s53". Their
// sizes follow, and none is assumed.
std::set<std::string_view> computed_dims(const Graph& graph);

// The sizes of all open inputs when these have the shapes that `shape_of` knows: a symbol is bound
// by its name, and an input with a dim that has no name by its whole shape, without
// computed_dims(). An input of which no shape is known is left out.
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
  GraphAgain::Bound bound;  // the graph with them
};
// nullopt when no input is open, or the model takes none of them. Makes the graph again for each that is tried, until
// one leaves nothing open: at most 8 times. `again` is of the model.
std::optional<Fitting> fitting_sizes(const LoadedModel& model, GraphAgain& again);

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

// ---- format options ----
//
// Options that mean something for models of some formats only: one table for all that say so.

// "--set-input is for ONNX models, whose shapes are inferred"; "" where the option is for models of that format, or
// for all. `given`: the option as the user wrote it, such as "--fold write".
std::string option_misfit(std::string_view given, ModelFormat format);

// Warnings of options that do nothing for this model, of those by which it was read. A fleet of several formats needs
// none: they are for the models that they fit.
Diagnostics idle_option_warnings(const LoadedModel& model);

}  // namespace cleave
