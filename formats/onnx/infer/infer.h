// Types, shapes and small values of an ONNX graph.
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
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/model.h"
#include "formats/onnx/index/index.h"

namespace cleave {

// ---- names ----
//
// Names of ONNX: every operator and attribute of any version of the standard. They distinguish a
// misspelling from an operator that the model just does not have.

struct OnnxOpNames {
  std::int64_t since = 1;           // the first opset that has the operator
  std::size_t inputs = 0;           // the maximum over versions; SIZE_MAX for variadic ones
  std::size_t required_inputs = 0;  // those that every version requires
  std::vector<std::string_view> attributes;  // of all versions, in alphabetical order
  std::vector<std::string_view> lists;       // those of them that are lists, as far as it is known
};

// Null when no version has the operator. Covers the default domain, ai.onnx.ml and the preview
// domains.
const OnnxOpNames* find_onnx_op(std::string_view domain, std::string_view op);

// The opset that removed or replaced an operator of the default domain; 0 for every other name.
std::int64_t onnx_op_removed_in(std::string_view op);

bool is_onnx_domain(std::string_view domain);

// The operators of the domain in alphabetical order; empty for a domain that is not ONNX's.
std::vector<std::string_view> onnx_op_names(std::string_view domain);

// ---- elements ----
//
// The elements of a value that are known without running the model: constants of the file, and what
// follows from shapes. Inference needs them when an operator takes a shape, axes or sizes as input.

// An integer or boolean (0 or 1) of a tensor: a number, else the name of a symbolic dim, else
// unknown.
struct OnnxElement {
  std::optional<std::int64_t> value;
  std::string name;
};

// A small tensor of integers or reals: its dims, all fixed, and its elements in row-major order.
struct OnnxElements {
  static constexpr std::size_t kMax = 1024;  // longer tensors are not tracked

  DType dtype = DType::unknown;
  std::vector<std::int64_t> dims;
  std::vector<OnnxElement> integers;  // of an integer or boolean dtype
  std::vector<double> reals;          // of a floating dtype: all known

  bool is_real() const { return dtype == DType::float32 || dtype == DType::float64; }
  std::size_t count() const { return is_real() ? reals.size() : integers.size(); }
};

// Number of elements of a tensor with these dims. nullopt above `most` (also when a dim of 0 hides
// that), and when a dim is below 0.
std::optional<std::size_t> small_count(const std::vector<std::int64_t>& dims,
                                       std::size_t most = OnnxElements::kMax);

// Unknown elements for a tensor of this type; nullopt when there are too many, a dim is not fixed,
// or the dtype is not an integer.
std::optional<OnnxElements> unknown_elements(const OnnxType& type);

// The elements of a dense tensor in the file. nullopt when it is external, has more than `most`
// elements or another dtype, or its data does not fit its dims.
std::optional<OnnxElements> read_onnx_elements(const OnnxTensor& tensor,
                                               std::size_t most = OnnxElements::kMax);

// All integers; nullopt unless every one is a known number.
std::optional<std::vector<std::int64_t>> known_integers(const OnnxElements& elements);

// Converts between a dim and an element; a number below 0 is not a size.
OnnxElement element_of(const OnnxDim& dim);
OnnxDim dim_of(const OnnxElement& element);

// ---- constants ----
//
// Constants of an ONNX model: nodes that compute on initializers and other constants only. They are
// not nodes of the split; each partition that reads one gets a copy of it and of its makers.

class OnnxConstants {
 public:
  explicit OnnxConstants(const OnnxModel& model);

  // Whether the node, whose inputs are all constant or which has none, gives the same result each
  // time: its operator is known, and there is no random operator in it, in its bodies, or in the
  // function it calls. Without inputs only operators made for constants count.
  bool is_pure(const OnnxNode& node) const;

 private:
  bool is_random(const OnnxNode& node) const;
  bool is_training_dropout(const OnnxNode& node) const;
  bool is_false(std::string_view name) const;
  const OnnxFunction* function_of(const OnnxNode& node) const;
  void judge_functions();

  const OnnxModel& model_;
  std::int64_t opset_ = 1;  // of the default domain
  std::unordered_map<std::string, const OnnxFunction*> functions_;
  std::unordered_set<const OnnxFunction*> impure_;
  std::unordered_map<std::string_view, const OnnxTensor*> booleans_;  // initializers
};

// The key of a model's own function: domain ("ai.onnx" is ""), name and overload.
std::string onnx_function_key(std::string_view domain, std::string_view name,
                              std::string_view overload);

// ---- op call ----
//
// One node for inference: its operator, its attributes, the known facts about its inputs, and the
// types of its outputs, which inference sets.

// The known facts about a value.
struct OnnxValueFacts {
  const OnnxType* type = OnnxTypePool::unknown();  // owned by a pool
  const OnnxTensor* tensor = nullptr;              // the value's elements, if they are in the file
  std::unique_ptr<OnnxTensor> own_tensor;  // owner of `tensor` if the index has no such tensor
  std::unique_ptr<OnnxElements> elements;  // null: see OnnxOpCall::elements
  bool elements_sought = false;

  // Whether more is known of the elements than follows from the type: they are in the file and few
  // enough to be read, or inference has found them.
  bool has_values() const;
};

// The attributes of a call of the model's own function, by name: `ref_attr_name` refers to them.
using OnnxBindings = std::unordered_map<std::string_view, const OnnxAttribute*>;

class OnnxOpCall {
 public:
  // Tensors above this many bytes are never read.
  static constexpr std::size_t kSmallTensor = 4096;

  // `inputs` has null for an input that is left out. `bindings` is null outside functions. Sets
  // `reads_values`, if it is not null, as soon as a rule asks for elements of an input and there are
  // any: until then, what is inferred follows from the node's kind, the types of its inputs, and which
  // of them has_values().
  OnnxOpCall(const OnnxNode& node, std::int64_t opset, std::vector<OnnxValueFacts*> inputs,
             const OnnxBindings* bindings, bool* reads_values = nullptr);

  // The same call, treated as one of operator `op` of the default domain.
  OnnxOpCall taken_as(std::string_view op, std::int64_t opset) const;

  const OnnxNode& node() const { return node_; }
  std::string_view op() const { return op_; }
  std::string_view domain() const { return domain_; }  // "" for the default domain
  std::int64_t opset() const { return opset_; }        // of the domain

  std::size_t input_count() const { return inputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  // Null when the input is left out or unknown.
  const OnnxType* input(std::size_t i) const;
  const OnnxType* tensor_input(std::size_t i) const;  // null also when it is not a tensor
  const OnnxType* shaped_input(std::size_t i) const;  // null also when the rank is unknown
  const OnnxTensor* constant(std::size_t i) const;    // small and dense, in the file
  // Null when no element is known; otherwise some or all may be unknown.
  const OnnxElements* elements(std::size_t i) const;
  // The elements of an integer tensor, if all are known.
  std::optional<std::vector<std::int64_t>> integers(std::size_t i) const;

  // The attribute that the node states or its function's call binds; null when there is none.
  const OnnxAttribute* attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string_view text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> integer_list(std::string_view name) const;
  std::optional<std::vector<double>> real_list(std::string_view name) const;

  std::vector<OnnxType> outputs;  // one per output of the node, also for one that is left out
  // By output: the elements that inferring a body or function for the call gave.
  std::vector<std::optional<OnnxElements>> output_elements = {};

 private:
  void note_values_read(const OnnxValueFacts& facts) const;

  const OnnxNode& node_;
  std::string_view op_, domain_;
  std::int64_t opset_;
  std::vector<OnnxValueFacts*> inputs_;
  const OnnxBindings* bindings_;
  bool* reads_values_;  // shared by copies of the call
};

}  // namespace cleave

// ---- schema ----
//
// The ONNX library's schemas of operators: what they infer about a node, and the defaults of attributes.

namespace onnx {
class OpSchema;
}

namespace cleave {

// Schemas of the ONNX library, each made when first asked for. The library's own registry makes all
// of them at once, including hundreds of versions that no model uses, which takes longer than the
// rest of the work on a small model.

// One version of an operator; CMake finds them in the library's headers.
struct OnnxSchemaEntry {
  std::string_view domain, op;
  int since = 0;
  int number = 0;  // in the headers

  constexpr auto operator<=>(const OnnxSchemaEntry&) const = default;
};
std::span<const OnnxSchemaEntry> onnx_schema_entries();  // ascending
onnx::OpSchema make_onnx_schema(const OnnxSchemaEntry& entry);

// The operator's newest schema up to that opset; null when there is none.
const onnx::OpSchema* find_onnx_schema(std::string_view domain, std::string_view op,
                                       std::int64_t opset);

// Assumptions that the inference functions of the ONNX library make about a node. If one is
// violated, they read beyond dims and inputs, or do not end. The assumptions were found by calling
// every operator with types and attributes that do not fit, under sanitizers.

// Types of the outputs of one of the node's bodies, given the types of the body's inputs.
using OnnxBodyInference = std::function<std::vector<OnnxType>(const OnnxGraph& body,
                                                              const std::vector<OnnxType>& inputs)>;

struct OnnxSchemaAnswer {
  enum class Outcome { inferred, no_schema, failed };
  Outcome outcome;
  std::string why;  // failed: in the library's words
};

// Sets call.outputs as far as the library can. It knows opsets up to 17; for a later one it uses
// its newest, and the caller overrides the result if the operator has changed.
OnnxSchemaAnswer infer_by_schema(OnnxOpCall& call, const OnnxBodyInference& infer_body);

// Facts from ONNX's schema registry about operators, for support rules.

// Defaults of attributes and versions of schemas.
OpFacts onnx_op_facts();

// ---- infer shapes ----
//
// Types and shapes of an ONNX model's values: what the file states, and then (unless the user asks
// for less, see ShapeInference) what the ONNX library's schema functions infer, node by node,
// without weights.

// The types of bodies, by the address of the graph in the index.
struct OnnxBodyTypes;
using OnnxTypesOfBodies = std::unordered_map<const OnnxGraph*, std::unique_ptr<OnnxBodyTypes>>;

// Types of a body's own values, and of the bodies in it. Names are scoped: each body has its own
// table.
struct OnnxBodyTypes {
  std::unordered_map<std::string_view, const OnnxType*> types;
  OnnxTypesOfBodies bodies;
};

struct OnnxTypes {
  OnnxTypePool pool;                  // owns all types
  std::vector<const OnnxType*> main;  // of the main graph's values, by number: see OnnxValueNumbers
  OnnxTypesOfBodies bodies;
  std::vector<std::string> notes;          // values and nodes whose shape stays unknown, and why
  std::vector<std::string> warnings = {};  // outputs that a --dim alone of theirs contradicts
  std::size_t misfits = 0;                 // nodes and values whose shapes contradict each other
  std::vector<std::string_view> unknown;   // values of the main graph without a rank
  // Ifs of the main graph with a known condition, by index of the node: the branch that runs.
  std::vector<std::pair<std::uint32_t, const OnnxGraph*>> decided;
  // With Folding::write: the elements of the main graph's values, by number, if all of them are
  // known, and are integers or booleans.
  std::unordered_map<std::uint32_t, OnnxElements> known;
};

// Whether nodes of one kind whose inputs have the same types share what is inferred for the first of
// them. `none` infers each node by itself: types are the same, as a test holds it to.
enum class OnnxTypeReuse : std::uint8_t { by_kind, none };

// Errors: a binding that names no input or no symbol of the model, or contradicts the file. Linear,
// except for calls of the model's own functions, which are inferred call by call up to a limit.
Loaded<OnnxTypes> infer_onnx_types(const SourceFile& source, const OnnxModel& model,
                                   const OnnxLinks& links, const ShapeBindings& bindings,
                                   const Progress& progress = {},
                                   OnnxTypeReuse reuse = OnnxTypeReuse::by_kind);

}  // namespace cleave
