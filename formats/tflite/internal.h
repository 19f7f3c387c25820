// What only this room uses: state, the graph, plans of parts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/split/split.h"
#include "formats/base/model.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- tensor type ----
//
// TensorType, the element types of TensorFlow Lite, by their numbers in files.

inline constexpr std::int64_t kTfliteTypeCount = 23;
inline constexpr std::uint8_t kTfliteResource = 13;
inline constexpr std::uint8_t kTfliteVariant = 14;

// DType::unknown for resources and variants.
DType tflite_dtype(std::uint8_t type);
// Bits of one element; 0 for strings, resources and variants.
std::uint64_t tflite_type_bits(std::uint8_t type);
// Whether values of the type are tensors: not handles of resources, and not variants.
bool is_tensor_type(std::uint8_t type);

// ---- state ----
//
// What a TensorFlow Lite model keeps from call to call, and which of its operators compute on
// constants only.

// Finds resource variables: VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE and CALL_ONCE become values
// that the model takes and gives, so that no handle has to cross from partition to partition.
// Linear.
void find_tflite_state(TfliteModel& model);

// By operator of a subgraph: whether all its inputs are constant. Needs the state. Custom operators,
// those with bodies, with state or chance, and those without inputs or outputs are not. Linear.
std::vector<std::uint8_t> tflite_constants(const TfliteModel& model, std::uint32_t subgraph);

// Whether a subgraph has operators that are neither constant nor reads and writes of variables. Needs no
// state. Linear.
bool computes_anything(const TfliteModel& model, std::uint32_t subgraph);

// Whether a tensor is data of the file: nothing makes it, and it is no input and no variable.
bool is_stored(const TfliteTensor& tensor);

// ---- sizes ----
//
// The sizes of tensors where the file leaves some open: what operators make of the sizes of the inputs, and of
// small tensors that are computed from sizes, as LiteRT does before it runs the model. Sizes that stay open are tried
// with two sizes each: what is the same both times is known, what is that of an input has its symbol.

class TfliteSizes {
 public:
  using Dims = std::vector<std::int64_t>;  // -1: not known before the model runs
  using Numbers = std::vector<double>;     // NaN: not known
  struct Known {
    Dims dims = {};
    Numbers numbers = {};  // of a small tensor; as many as it has elements, or none
  };
  struct Size {
    std::int64_t size = -1;   // at the sizes as converted where it is open
    std::string symbol = {};  // "": it is known
    bool is_given = false;    // the symbol is of an input
  };

  // Needs the model's state. Asks the binder for "N", the first axis of inputs, and for VALUE:AXIS. Linear: a body that is
  // called with several sizes has none.
  TfliteSizes(const TfliteModel& model, ShapeBinder& binder);
  std::vector<Size> of(std::uint32_t subgraph, std::uint32_t tensor) const;
  bool is_as_in_file() const { return first_.empty(); }

 private:
  class Run;
  using Stated =
      std::function<std::optional<std::int64_t>(const TfliteTensor& tensor, std::size_t axis)>;

  const TfliteModel& model_;
  // By subgraph and tensor; empty: all is as in the file.
  std::vector<std::vector<Known>> first_, second_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> symbols_;  // by both sizes
};

// Whether the file leaves the size of the axis open.
bool is_open_axis(const TfliteTensor& tensor, std::size_t axis);

// What an open size is called: "N" is the first axis of all inputs, the batch; any other is "VALUE:AXIS".
std::string size_symbol(const TfliteTensor& tensor, std::size_t axis, bool is_given);

// ---- graph maker ----
//
// The graph of a TensorFlow Lite model: the operators of its subgraph are nodes, named as their
// first output. What operators on variables do is expressed by values: the model takes the state as
// inputs, behind its own, and gives it back as outputs.

// Attributes of operators: the fields of their options. A field that is not stored has its default,
// so every number has a value; vectors and strings may be absent. Values of enums are their names:
// "SAME".

// Adds the attributes of `op` to the node that the builder was given last.
void add_tflite_attributes(GraphBuilder& builder, const TfliteModel& model,
                           const TfliteOperator& op);

struct TfliteGraph {
  Graph graph;
  // Symbols of the inputs' dims that no binding fixes, with their sizes in the file: "N" for the first axis,
  // "VALUE:AXIS" for others.
  std::map<std::string, std::int64_t, std::less<>> traced;
  // Dims that only the run decides: how many, and the first as "VALUE:AXIS".
  std::size_t unknown_dims = 0;
  std::string unknown_dim;
};

// Needs the model's state and constants. Fills the model's tables between graph and file, and the shapes
// of tensors whose open dims are bound. The
// graph's names are views into the file and the model. Linear, if bodies are not shared by many
// operators; refuses models whose bodies would be more than 16 times the operators of the file.
Result<TfliteGraph, std::vector<GraphFault>> make_tflite_graph(TfliteModel& model,
                                                               ShapeBinder& binder,
                                                               const Progress& progress);

// ---- split plan ----
//
// The operators, inputs, outputs and state of each partition of a split TensorFlow Lite model, so
// that the partitions run one after another compute what the model does.
//
//   native  a variable that one partition alone reads and writes: its file keeps it across calls
//   lifted  a variable that several use: an ordinary input and output, kept by the caller

struct TflitePart {
  PartId part;
  std::vector<std::uint32_t> operators;  // in the file's order, with constants
  std::vector<std::uint32_t> inputs;     // tensors: the model's inputs first, then by number
  std::vector<std::uint32_t> outputs;    // the same with its outputs
  std::vector<std::uint32_t> variables;  // native ones
};

struct TflitePlan {
  std::vector<TflitePart> parts;        // in call order
  std::vector<std::uint32_t> lifted;    // variables that the caller keeps
  std::vector<std::uint8_t> is_native;  // by variable
};

// Refuses sets of nodes that are in several partitions, and handles of resources that would cross.
// Linear in operators and what they read.
Result<TflitePlan> plan_tflite_split(const TfliteModel& model, const Graph& graph,
                                     const Partition& partition, TfliteLift lift);

// How a split model is called: JSON for the manifest, for drivers of the partitions. The form is
// that of torch.export programs (formats/pt2/internal.h):
//
//   order     the partitions, each with `inputs` and `outputs`, names of values in the order of its
//             file's; `variables`, those that it keeps itself; `model`, its signature in a bundle
//   inputs    the model's own, in order
//   outputs   the model's own: names of values, of which some may be inputs
//   state     values that the caller keeps: variables that several partitions use
//   mutations what the state becomes after all partitions have run
//   init      the file that makes the state's first values, and their names
//   signature the names that the model's signature gives its inputs and outputs
//   open      values whose size may change: resize the inputs that read them before they run

// What makes the first values of variables that the caller keeps.
struct TfliteInit {
  std::vector<std::uint32_t> variables = {};  // in the order of its outputs; empty: there is none
  std::string file = {};
  std::string signature = {};  // in a bundle, else empty
};

struct TfliteChainNames {
  const std::vector<std::string>& names;  // of the partitions
  const std::vector<std::string>& files;
  bool is_bundle;
  const TfliteInit& init;
};

std::string tflite_chain_json(const TfliteModel& model, const TflitePlan& plan,
                              const TfliteChainNames& names);

// ---- part file ----
//
// The files of a split TensorFlow Lite model as tables: a partition, the root, the file that makes
// the first values of the state.

// Puts a new model together from parts of the one that was read: subgraphs with some of its
// operators, and only the tensors, buffers and operator codes that these use, renumbered.

// A subgraph that is being filled.
class OutSubgraph {
 public:
  explicit OutSubgraph(std::string name) : name_(std::move(name)) {}

 private:
  friend class FileBuilder;
  std::string name_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int32_t> numbers_;  // of source tensors
  std::vector<OutTable> tensors_, operators_;
  std::vector<std::int32_t> inputs_, outputs_;
  std::vector<std::pair<std::string, std::int32_t>> input_names_, output_names_;
};

class FileBuilder {
 public:
  using SubgraphId = std::uint32_t;
  FileBuilder(const TfliteModel& source, std::string description);

  SubgraphId add_subgraph(std::string name);

  // The number, in `to`, of a tensor of the source's subgraph `from`; adds it when it is new, with
  // its data if it has any.
  std::int32_t tensor(SubgraphId to, std::uint32_t from, std::uint32_t number);
  // A tensor of its own with that name, though another of the same source may be there.
  std::int32_t add_named_tensor(SubgraphId to, std::uint32_t from, std::uint32_t number,
                                std::string_view name);
  // Makes `of` another name of the tensor `same`, both of the model's subgraph.
  void set_same(SubgraphId to, std::uint32_t of, std::uint32_t same);

  // Adds operator `number` of the source's subgraph `from`, and the subgraphs that it calls. With
  // `filter`, which is asked for each of their operators, these have only some, and are not shared
  // with operators that are added later.
  using BodyFilter = std::function<bool(std::uint32_t subgraph, const TfliteOperator& op)>;
  void add_operator(SubgraphId to, std::uint32_t from, std::uint32_t number,
                    const BodyFilter& filter = {});
  // Adds an operator that calls `part` as a composite of that name.
  void add_composite(SubgraphId to, SubgraphId part, const std::string& name,
                     std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs);
  void add_input(SubgraphId to, std::int32_t tensor, std::string_view name);
  void add_output(SubgraphId to, std::int32_t tensor, std::string_view name);

  // Adds a signature with the names that inputs and outputs were added under.
  void add_signature(SubgraphId of, std::string_view key);

  OutTable finish() &&;

 private:
  OutTable operator_table(SubgraphId to, std::uint32_t from, const TfliteOperator& op);
  std::vector<std::int32_t> numbers_of(SubgraphId to, std::uint32_t from, const FlatInts& tensors);
  OutTable options_of(const TfliteOperator& op, const std::vector<TfliteBody>& bodies);
  std::int32_t body(std::uint32_t subgraph);
  void fill_bodies(const BodyFilter& filter);
  std::int64_t code(std::uint32_t source);
  std::int64_t buffer(std::uint32_t source);
  std::int64_t buffer_of(const TfliteTensor& tensor);
  std::int64_t add_buffer(const TfliteBytes& bytes);
  void add_metadata();

  const TfliteModel& source_;
  std::string description_;
  std::vector<OutSubgraph> subgraphs_;
  std::vector<OutTable> codes_, buffers_, signatures_, metadata_;
  std::vector<std::uint32_t> code_numbers_, buffer_numbers_, body_numbers_;  // by source number
  std::map<std::uint32_t, std::int64_t> external_numbers_;                   // by id
  std::vector<std::uint32_t> open_bodies_;                                   // not filled yet
  std::int64_t composite_code_ = -1;
};

// One partition: its operators, between them reads and writes of the variables that it keeps.
OutTable tflite_part(const TfliteModel& model, const TflitePart& part, const std::string& name,
                     const std::string& description);

// Whether a partition can be a composite of the root. LiteRT wants a composite to have inputs and
// outputs, made by its operators, and sets variable tensors inside it to zeros in each call. Sizes that it
// finds before a call (SHAPE, RANK) do not come out of a composite: what reads them there gets other numbers.
bool can_be_composite(const TfliteModel& model, const TflitePart& part);

// The whole model: a main subgraph that calls each partition as a composite, "cleave.<name>", with
// the partition as its decomposition. Operators of partitions that cannot be one are in the main
// subgraph itself. It keeps all state as the model does. `plan` has no native variables.
OutTable tflite_root(const TfliteModel& model, const TflitePlan& plan,
                     const std::vector<std::string>& names, const std::string& description);

// Those of `variables` that the model sets up, in this order; empty if there is none.
std::vector<std::uint32_t> variables_with_start(const TfliteModel& model,
                                                const std::vector<std::uint32_t>& variables);

// A model without inputs whose outputs are the first values of these variables, under the names
// that the partitions have for them.
OutTable tflite_init(const TfliteModel& model, const std::vector<std::uint32_t>& variables,
                     const std::string& description);

// All partitions in one file, and the first values of the state if there are any: a subgraph for
// each, with a signature of its name. No subgraph calls the others.
OutTable tflite_bundle(const TfliteModel& model, const TflitePlan& plan,
                       const std::vector<std::string>& names, const TfliteInit& init,
                       const std::string& description);

}  // namespace cleave
