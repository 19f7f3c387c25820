// Reading ONNX: the graph that the passes see, folding, and the runtime's view.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/lists/condition.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/model.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/infer/infer.h"

namespace cleave {

// ---- equal values ----
//
// Values of an ONNX model that are equal whatever its inputs: ONNX Runtime makes one of them before it gives
// nodes to providers. Removed nodes (Identity) give what they read; equal nodes with equal inputs give the same.

// By value: the first one that is equal to it, often itself. Nodes that draw at random, or that have bodies, are equal to
// none. An attribute that states its default is as one that is not stated. Of weights those of few elements are
// compared, as ONNX Runtime shares these. Linear in the model's nodes and their attributes.
std::vector<ValueId> equal_values(const Graph& graph, const OnnxModel& model);

// By node of the main graph: the one that ONNX Runtime keeps for all that are equal to it, often itself. A node that makes
// an output of the model stays, and stands for no other. `equal` is of equal_values(). Linear.
PerNode<NodeId> kept_nodes(const Graph& graph, const std::vector<ValueId>& equal);

// ---- function bodies ----
//
// Operators that ONNX defines by others, and which ONNX Runtime replaces by these when no provider takes
// them: it has no kernel for them itself.

// The body of one version of an operator. scripts/dev/newer_operators.py makes the table.
struct FunctionText {
  std::string_view op;
  std::int64_t version = 0;          // the first opset with it
  std::string_view inputs, outputs;  // names, separated by spaces
  // The nodes, separated by "; ": `HS_X = HardSigmoid X alpha=f0.16666667`. `alpha=@beta` is the
  // calling node's attribute.
  std::string_view nodes;
};

// By operator and version.
std::span<const FunctionText> function_texts();

// Whether ONNX Runtime 1.32 replaces the operator: it has a body in ONNX and no CPU kernel.
bool is_expanded_op(const Graph& graph, NodeId node);

// The body of an expanded operator as a graph, with the types of the node's inputs: constants of the
// body are parameters, as the runtime makes them. `facts` are those of the graph. Null for other
// operators, and for those whose body depends on the node's types; of these only CastLike is known.
std::shared_ptr<const FunctionBody> onnx_function_body(const Graph& graph, NodeId node,
                                                       const OpFacts& facts);

// ---- runtime view ----
//
// The graph as ONNX Runtime changes it before it asks a provider which nodes it takes: support lists
// that are made from its documents speak of that graph.
//
// - BatchNormalization becomes part of the Conv before it.
// - Identity, and Dropout outside training, are removed.
// - Of equal nodes with equal inputs one stays ("equal values" above).
// - Operators with a body and without a kernel are replaced ("function bodies" above).
//
// What it computes before the model runs is known with --fold write.

inline constexpr int kMostRemovedInARow = 64;

// Which nodes the runtime merges.
struct MergedNodes {
  PerNode<NodeId> kept;  // see kept_nodes(); empty: none is merged
  PerValue<std::uint32_t>
      readers;  // of a kept value: the kept nodes that read it, or one that stands for it
  PerValue<ValueId> values;  // that of the node that is kept
};

// Adds to the facts what the runtime does. `model` outlives the facts; null: nodes of the graph are not merged.
void add_runtime_view(OpFacts& facts, const OnnxModel* model = nullptr);

// ---- inline functions ----
//
// Inlines calls of a model's own functions: the nodes of the function take the call's place, with the
// attributes that the call gives. Lists, which judge operators, then see what is inside.

struct OnnxInlined {
  std::size_t calls = 0;
  std::vector<std::string> kept;  // for each function that stays a call: why
};

// In the main graph; calls in bodies of nodes stay. Names inside become "CALL/NAME", with a number where
// that is taken. Functions may call others, in no cycle (checked by the reader). Linear in the nodes of each
// level of calls; of more than 100 levels the rest stays. nullopt: the model would have more than
// `most_nodes`, which is counted first, in a time linear in the file, and again as it grows.
std::optional<OnnxInlined> inline_functions(OnnxModel& model, std::uint64_t most_nodes);

// ---- fold ----
//
// Folding: what is known before a model runs takes the place of what would compute it.
//
// - An If of the main graph whose condition is known is replaced by the nodes of its branch.
// - With Folding::write, a node whose results are known integers or booleans is replaced by
//   constants. Reals stay: a runtime may round them differently.
// - A node that only these read is left out.

// A NodeProto with some of the values it mentions renamed, also where its bodies read them.

// The new name by the old one.
using OnnxRenames = std::unordered_map<std::string_view, std::string_view>;

// The name as it is to be; itself unless it is renamed.
std::string_view renamed(std::string_view name, const OnnxRenames& names);

// Whether the node, or a body of it that does not hide the name, reads or makes a renamed value.
// The node must be decoded with its attributes. Linear in the node and its bodies.
bool mentions_renamed(const OnnxNode& node, const OnnxRenames& names);

// The payload of the node's message with the values renamed. Everything else is copied as it is.
std::string renamed_onnx_node(const OnnxNode& node, const OnnxRenames& names);

// How the branch of an If comes to be in the place of the If: its results get the names of the If's
// outputs, and names that others have get new ones.
struct OnnxBranchPlan {
  OnnxRenames names;
  // Values that get a second name, by an Identity: results that the branch does not make itself, or
  // gives twice.
  std::vector<std::pair<std::string_view, std::string_view>> copies;
};

class OnnxBranchPlanner {
 public:
  // Links and model must outlive this. The planner keeps the names it makes in `model.made`.
  OnnxBranchPlanner(OnnxModel& model, const OnnxLinks& links);

  // The plan, or why the If must stay. Its names are taken from then on. Linear in the If's bodies.
  std::variant<OnnxBranchPlan, std::string_view> plan(const OnnxNode& node,
                                                      const OnnxGraph& branch);

 private:
  using Counts = std::unordered_map<std::string_view, std::uint32_t>;
  static void count_names(const OnnxNode& node, Counts& counts);
  bool is_taken(std::string_view name, const Counts& own) const;
  std::string_view free_name(std::string_view name, const Counts& own);

  OnnxModel& model_;
  const OnnxLinks& links_;
  Counts in_bodies_;                              // how often a body makes the name
  std::unordered_set<std::string_view> spliced_;  // names of branches that were planned
};

// Nodes that nothing reads any more, after what read them was replaced.

// Removes the nodes that make only values without readers, from the loose values backwards; returns
// how many but for Constants, nullopt when there were none at all. Else links must be made anew.
// Linear.
std::optional<std::size_t> drop_unread_nodes(OnnxModel& model, const OnnxLinks& links,
                                             std::span<const std::string_view> loose);

struct OnnxFolded {
  std::vector<std::string> branches;    // for each If that is replaced: a sentence
  std::vector<std::string> kept;        // what is decided or known, but stays: sentences
  std::size_t constants = 0;            // nodes with known results: constants where they are read
  std::vector<std::string_view> loose;  // values that have lost a reader

  bool is_any() const { return !branches.empty() || constants > 0; }
};

// Links and types of a model, with what they decide folded into it.
struct OnnxInferred {
  OnnxLinks links;
  OnnxTypes types;
  std::vector<std::string> notes;  // about folding, for the report
};

// Links the model and infers its types; unless `bindings` say otherwise, folds it and begins anew
// until nothing more is decided. Each round opens one level of Ifs, of which a file has at most
// OnnxDepthGuard::kMaxDepth / 3. Errors: those of link_onnx_graph and infer_onnx_types. Linear for each
// round; a model in which nothing is decided has one.
Loaded<OnnxInferred> infer_folded_onnx(const SourceFile& source, OnnxModel& model,
                                       const ShapeBindings& bindings, const Progress& progress);

// ---- graph maker ----
//
// Makes the graph that passes work on from the index of an ONNX file, its links and its types.

// Names from an ONNX file: made unique, and parsed for the module scope.

struct OnnxGraphMade {
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
};

// ---- reader ----
//
// ONNX files: the index of the protobuf, and the graph made from it.

struct OnnxLoaded {
  std::unique_ptr<OnnxModel, DeleteOnnxModel> model;
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
  std::size_t misfits = 0;  // nodes and values whose shapes contradict each other
};

// What becomes of calls of the model's own functions: see "inline functions" above.
enum class OnnxCalls : std::uint8_t { kept, inlined };

// Reads index, shapes and graph. Linear in the records of the file; does not read weights. Errors
// name the node: `m.onnx: node "x": reads "y", which nothing produces`.
Loaded<OnnxLoaded> read_onnx(const SourceFile& source, const ShapeBindings& bindings,
                             const ModelLimits& limits = {}, const Progress& progress = {},
                             OnnxCalls calls = OnnxCalls::kept);

// The same of a file whose index is there already, as index_onnx() made it of this source; it is copied. Walking a
// file takes as long as it is large, so those who try many sizes walk it once.
Loaded<OnnxLoaded> read_onnx_again(const SourceFile& source, const OnnxModel& index,
                                   const ShapeBindings& bindings);

// A model's own functions: which of them a set of nodes calls, directly or through others.

class OnnxFunctionCalls {
 public:
  // `model` must outlive this.
  explicit OnnxFunctionCalls(const OnnxModel& model);

  // Indices of the functions that the nodes (indices into the main graph's) need, in file order.
  // Linear in the nodes, their bodies, and the functions found.
  std::vector<std::uint32_t> needed_by(const std::vector<std::uint32_t>& nodes) const;

 private:
  void add_calls(const OnnxNode& node, std::vector<std::uint32_t>& found) const;

  const OnnxModel& model_;
  // By domain and name; overloads of one name count as one.
  std::unordered_map<std::string, std::vector<std::uint32_t>> functions_;
};

// The elements of an ONNX model's constants, for rules that ask what a constant is.
inline constexpr std::size_t kMostElementsRead = 65'536;  // of one constant

// The elements of an initializer in the file or of a Constant node's output, in row-major order;
// booleans are 0 and 1. nullopt for external data, for constants that other nodes compute, for
// dtypes other than booleans, integers and reals of 8 to 64 bits, and above kMostElementsRead.
// Linear in the elements.
std::optional<std::vector<Literal>> onnx_constant_elements(const OnnxModel& model,
                                                           const Graph& graph, ValueId parameter);

// How the QuantizeLinear and DequantizeLinear nodes around a tensor quantise it: those that make
// it, or else that read it, all of them. Kind `none` where it has neither. nullopt where scales are
// no constants of the file. Linear in the scales.
std::optional<Quantization> onnx_quantization(const OnnxModel& model, const Graph& graph,
                                              ValueId tensor);

}  // namespace cleave
