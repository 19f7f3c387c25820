// The graph: nodes, values, shapes, types, names of operators, and questions about them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/base.h"

namespace cleave {

// ---- attribute ----
//
// Attributes that rules can ask about: numbers, strings, and lists of them. Every other attribute
// of a node (tensors, bodies, nested literals) is `opaque`: it stays in the source file.

enum class AttributeType : std::uint8_t {
  integer,
  real,
  boolean,
  string,
  integers,
  reals,
  strings,
  opaque,
};

// Refers to [begin, begin + count) in the pool of its type: integers and booleans, reals, strings.
struct Attribute {
  NameId name;
  AttributeType type;
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

struct AttributePools {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string_view> strings;

  std::span<const std::int64_t> integers_of(const Attribute& a) const {
    return std::span(integers).subspan(a.begin, a.count);
  }
  std::span<const double> reals_of(const Attribute& a) const {
    return std::span(reals).subspan(a.begin, a.count);
  }
  std::span<const std::string_view> strings_of(const Attribute& a) const {
    return std::span(strings).subspan(a.begin, a.count);
  }
  // Calls `take` with each item in its order: an integer, also of booleans, a double, or a text. An opaque attribute
  // has none.
  template <class Take>
  void each(const Attribute& a, Take take) const {
    switch (a.type) {
      case AttributeType::integer:
      case AttributeType::boolean:
      case AttributeType::integers:
        for (const std::int64_t item : integers_of(a)) take(item);
        return;
      case AttributeType::real:
      case AttributeType::reals:
        for (const double item : reals_of(a)) take(item);
        return;
      case AttributeType::string:
      case AttributeType::strings:
        for (const std::string_view item : strings_of(a)) take(item);
        return;
      case AttributeType::opaque:
        return;
    }
  }
};

// One literal. Booleans and integers compare as numbers with reals; 1 equals 1.0 equals true.
using Literal = std::variant<std::int64_t, double, std::string>;
// A literal or a list of literals, as a rule or an operator's default states it.
using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<Literal>>;

// ---- dtype ----
//
// Element types of tensors: names, bit widths, and their numbers in ONNX files.

// The enumerators are in the order of ONNX's TensorProto.DataType, so that the numbers are the
// same.
enum class DType : std::uint8_t {
  unknown,
  float32,
  uint8,
  int8,
  uint16,
  int16,
  int32,
  int64,
  string,
  boolean,
  float16,
  float64,
  uint32,
  uint64,
  complex64,
  complex128,
  bfloat16,
  float8_e4m3fn,
  float8_e4m3fnuz,
  float8_e5m2,
  float8_e5m2fnuz,
  uint4,
  int4,
  float4_e2m1,
  float8_e8m0,
  uint2,
  int2,
};
inline constexpr int kDTypeCount = 27;

// "float32", "bool", ...; "unknown" for DType::unknown.
std::string_view dtype_name(DType dtype);

// The dtype with that name, or nullopt. "unknown" is not a name.
std::optional<DType> parse_dtype(std::string_view name);

// Bits of one element; 0 when the size is not fixed (string, unknown).
int dtype_bits(DType dtype);

// True for the floating-point numbers that nodes compute with: of 16 bits or more.
bool is_float_dtype(DType dtype);
// True for whole numbers of 8 bits or more, and for bool.
bool is_integer_dtype(DType dtype);

// The dtype with that number in ONNX; DType::unknown for 0 and for numbers that are not in the
// table.
DType dtype_from_onnx(std::int64_t number);

// ---- shape ----
//
// Dimensions and shapes. A dimension is fixed, named (symbolic) or unknown.

// One dimension: a size of 0 or more, a symbol ("batch"), or unknown. A symbol may also know its
// *traced size*, the size it had when the model was exported. Counts of elements, bytes and FLOPs
// use it; rules and shape inference do not, since the model may be run at other sizes.
class Dim {
 public:
  constexpr Dim() = default;  // unknown
  static constexpr Dim fixed(std::int64_t size) { return Dim(size); }
  static constexpr Dim symbol(NameId name) { return Dim(-2 - std::int64_t{index(name)}); }
  // A traced size of 2^30 or more does not fit beside the name and is dropped, as is one below 0.
  static constexpr Dim symbol(NameId name, std::int64_t traced) {
    const bool is_kept = traced >= 0 && traced < kTracedEnd;
    return Dim(symbol(name).code_ - (is_kept ? (traced + 1) << kNameBits : 0));
  }

  constexpr bool is_fixed() const { return code_ >= 0; }
  constexpr bool is_symbol() const { return code_ <= -2; }
  constexpr bool is_unknown() const { return code_ == -1; }
  constexpr std::int64_t size() const { return code_; }  // only when is_fixed()
  constexpr NameId name() const {                        // only when is_symbol()
    return static_cast<NameId>(static_cast<std::uint32_t>((-2 - code_) & 0xFFFFFFFF));
  }
  // The size, or a symbol's traced size; -1 when there is neither.
  constexpr std::int64_t counted_size() const {
    if (is_fixed()) return size();
    return is_symbol() ? ((-2 - code_) >> kNameBits) - 1 : -1;
  }
  constexpr bool operator==(const Dim&) const = default;

 private:
  static constexpr int kNameBits = 32;
  static constexpr std::int64_t kTracedEnd = std::int64_t{1} << 30U;
  explicit constexpr Dim(std::int64_t code) : code_(code) {}
  std::int64_t code_ = -1;
};

using Shape = std::span<const Dim>;

// The axis counted from the front: -1 is the last of `rank`. nullopt when the axis does not exist.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);

// The number of elements, symbols at their traced size; nullopt when a dim has no size or the
// product overflows 63 bits. A shape with a zero dim has 0 elements, whether the other dims are
// known or not.
std::optional<std::uint64_t> element_count(Shape shape);

// Bytes of a dense tensor: 4-bit and 2-bit types are packed, the last byte rounded up. nullopt when
// the count or the size of an element is unknown, or the product overflows.
std::optional<std::uint64_t> tensor_bytes(DType dtype, Shape shape);

// ---- op name ----
//
// Names of operators: their domains, one text for domain and name, and how people write those of torch.

class Graph;

// The name of an operator as people write it, which is that of its domain, "::" and its own:
//
//   com.microsoft::Gelu   domain com.microsoft, op Gelu
//   Gelu, ai.onnx::Gelu   the default domain
//   com.microsoft::*      where globs may stand: every operator of that domain
//   *::*                  every operator of every domain
//
// Files of models have the two apart. What a rule, an option or a table of times names is read by
// parse_op() alone.
struct ParsedOp {
  std::string_view domain;  // as stated_domain() has it
  std::string_view op;
  bool has_domain = false;  // "::" is in the text
};
ParsedOp parse_op(std::string_view text);

// The other way: "com.microsoft::Gelu"; "Gelu" for the domain "".
std::string op_text(std::string_view domain, std::string_view op);

// Operator domains. The default domain has two names in files, "" and "ai.onnx"; cleave uses "". It
// also is the domain of the operators of TensorFlow Lite, "tflite", whose names differ from ONNX's.

// "" for "ai.onnx" and "tflite"; any other domain unchanged.
std::string_view plain_domain(std::string_view domain);
// As plain_domain(), but "tflite" stays: LSTM and RNN are operators of both formats, and who states the domain means one.
std::string_view stated_domain(std::string_view domain);

// The version of the domain that the model imports; nullopt when the model does not import it.
std::optional<std::int64_t> imported_opset(const Graph& graph, std::string_view domain);

// What a node does to numbers: makes whole ones of floats by a scale, or floats of these.
enum class QuantRole : std::uint8_t { none, quantize, dequantize };

// By the op's name, of ONNX, TensorFlow Lite and torch.
QuantRole quant_role(const Graph& graph, NodeId node);

// One key for an operator under all its spellings: ONNX writes `LogSoftmax`, torch.fx
// `torch.log_softmax`, `torch.nn.modules.activation.LogSoftmax`, `torch.ops.aten.log_softmax.int`.
// Tables about operators are looked up by this key.

// The last part of the name that is not an overload, in lower case and without underscores:
// "torch.nn.modules.conv.Conv2d" -> "conv2d"; "aten.add.Tensor" -> "add"; "relu_" -> "relu". Empty
// for names of packages other than torch's and Python's own, whose ops may be anything.
std::string op_key(std::string_view op);

// The names of torch's operators that people use: `torch.ops.aten.conv2d.default` in a graph is
// also `aten.conv2d.default` and, for every overload, `aten.conv2d`, `torch.ops.aten.conv2d` or
// `aten::conv2d`, which is op `conv2d` of the domain `aten`. Globs may leave out `torch.ops.`, too.

// The names, besides the op itself, that a rule for it may have beside a domain or without one. All
// are empty for an op that is not in torch.ops.
std::array<std::string, 5> torch_spellings(std::string_view op);

// True when `domain` and `name`, as a rule writes them, mean the operator `op` of a graph: "aten"
// and "conv2d", or "" and "aten.conv2d".
bool is_torch_spelling(std::string_view domain, std::string_view name, std::string_view op);

// "aten.conv2d.default" of "torch.ops.aten.conv2d.default"; "" for other ops.
std::string_view torch_path(std::string_view op);

// ---- shape overlay ----
//
// ShapeOverlay: an overlay of shapes over a graph. The graph has the shapes that the model declares; where
// a run, a trace or the user showed more, the overlay says so, and Graph::with_shapes() lays it
// over. Passes get the graph with the overlay; what is written gets the model's own.

class ShapeOverlay {
 public:
  // The value has these sizes. What was added first for a value holds.
  void add(ValueId value, std::span<const std::int64_t> sizes);

  bool empty() const { return of_values_.empty(); }
  // In the order of adding. A value may be there twice: the first holds.
  struct OfValue {
    ValueId value;
    std::uint32_t first_dim;
    std::uint32_t rank;
  };
  std::span<const OfValue> of_values() const { return of_values_; }
  Shape shape(const OfValue& of) const { return std::span(dims_).subspan(of.first_dim, of.rank); }

 private:
  std::vector<OfValue> of_values_;
  std::vector<Dim> dims_;
};

// ---- graph ----
//
// Graph: a model as every pass sees it. Built once by GraphBuilder, never changed. A Graph is a
// handle: a copy shares all records with its original. Where a run or a trace showed shapes that
// the model leaves open, with_shapes() makes a graph that shows them; the model's own stays as it
// was read (ShapeOverlay, above).
//
//   nodes       callable nodes, the ones that are split. Ids 0..node_count()-1 in topological
//               order, so "earlier" is "<". This order is the *model order*.
//   constants   nodes that compute on parameters only (ONNX Constant and what follows from it).
//               Their ids come after those of the nodes, so no pass over nodes() meets them.
//               Their outputs are parameters whose `producer` is the constant.
//   body nodes  nodes inside the bodies of a control-flow node (If, Loop, Scan), after the
//               constants. Only support matching and costs look at them. The values that a body
//               captures are operands of the node that owns the body.
//   values      graph inputs, parameters (weights, constants), outputs of nodes; ids in this order.
//
// Storage: records are in vectors (GraphRecords); operands, users and attributes are CSR ranges
// handed out as spans; names are views into the source file or the arena; equal shapes and equal op
// types are stored once. A node takes about 130 bytes when its names are in the file.

enum class ValueType : std::uint8_t {
  tensor,
  tuple,
  list,
  scalar,
  sequence,
  map,
  optional,
  none,
  unknown,
};
enum class ValueKind : std::uint8_t { input, parameter, node_output, body_local };

// "tensor", "tuple", ...
std::string_view value_type_name(ValueType type);
std::optional<ValueType> parse_value_type(std::string_view name);

struct Value {
  std::string_view name;
  ShapeId shape = kNone<ShapeId>;   // none: rank unknown, or not a tensor
  NodeId producer = kNone<NodeId>;  // a node, or the constant that makes a parameter; else none
  std::uint32_t slot = 0;           // position among the producer's outputs
  DType dtype = DType::unknown;
  ValueType type = ValueType::unknown;
  ValueKind kind = ValueKind::node_output;
  bool holds_tensor = false;  // is a tensor, or a tuple or list with a tensor anywhere inside

  bool is_tensor() const { return type == ValueType::tensor; }
};

// How a node reads a value: by position or by keyword, plain or inside a list, or as a capture.
class OperandSlot {
 public:
  static constexpr std::uint32_t kMaxPosition = (1U << 29U) - 1;
  static OperandSlot positional(std::uint32_t i) { return OperandSlot(i); }
  static OperandSlot keyword(NameId name) { return OperandSlot(index(name) | kKeyword); }
  static OperandSlot capture() { return OperandSlot(kCapture); }  // by a body of the node
  OperandSlot inside_list() const { return OperandSlot(code_ | kInList); }

  bool is_positional() const { return (code_ & (kKeyword | kCapture)) == 0; }
  bool is_keyword() const { return (code_ & kKeyword) != 0; }
  bool is_capture() const { return (code_ & kCapture) != 0; }
  bool is_inside_list() const { return (code_ & kInList) != 0; }
  std::uint32_t position() const { return code_ & kMaxPosition; }            // positional
  NameId name() const { return static_cast<NameId>(code_ & kMaxPosition); }  // keyword
  bool operator==(const OperandSlot&) const = default;

 private:
  static constexpr std::uint32_t kKeyword = 1U << 31U;
  static constexpr std::uint32_t kInList = 1U << 30U;
  static constexpr std::uint32_t kCapture = 1U << 29U;
  explicit OperandSlot(std::uint32_t code) : code_(code) {}
  std::uint32_t code_;
};

struct Operand {
  ValueId value;
  OperandSlot slot;
};

// Where in the source something was read: bytes [offset, offset + length). Length 0: unknown.
struct SourceSpan {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  bool operator==(const SourceSpan&) const = default;
};

enum class NodeKind : std::uint8_t { unspecified, call_function, call_method, call_module };

struct Node {
  std::string_view name;
  SourceSpan source;
  NameId op;
  NameId domain;  // "" is the default domain, also called "ai.onnx"
  NameId scope;   // "" when there is none
  NameId target;  // "" when there is none
  NodeKind kind = NodeKind::unspecified;
};

// Costs measured elsewhere (a file's `cost` fields); below 0: not given.
struct MeasuredCost {
  double flops = -1;
  double time_us = -1;
  double bytes = -1;
};

struct OpsetImport {
  std::string_view domain;
  std::int64_t version;
};

// Two nodes that must run one after the other although the second reads nothing of the first: both
// use memory that one of them writes in place, or both draw random numbers.
struct RunOrder {
  NodeId before, after;  // ascending
  std::string memory;    // what they share, for messages
};

// How a state of the model changes from step to step (core/graph/state.h).
enum class StateKind : std::uint8_t {
  replaced,  // the output has the sizes of the input
  grows,     // the output is longer on one axis
  appended,  // the output is what is new on one axis alone
  constant,  // it passes through, or no output changes it
};

// The output of a step that is the input of the next one.
struct StatePair {
  ValueId input = kNone<ValueId>;   // an input of the model, or a parameter that it writes
  ValueId output = kNone<ValueId>;  // kNone: no output changes the input
  StateKind kind = StateKind::replaced;
  std::uint32_t axis = 0;  // of `grows` and `appended`
  bool is_result = false;  // the output is also another output of the model
};

// An input that looks like state, whose output is one of several or whose outputs are those of others, too.
struct OpenState {
  ValueId input = kNone<ValueId>;
  std::vector<ValueId> candidates;
  // Names say nothing: the only output that fits by type and sizes.
  bool is_by_sizes = false;
};

struct FoundState {
  std::vector<StatePair> pairs;
  std::vector<OpenState> open;
};

// The vectors behind a graph, which all its copies share.
struct GraphRecords;

class Graph {
 public:
  std::string_view name() const;
  std::size_t node_count() const { return node_count_; }
  std::size_t value_count() const { return values_.size(); }
  std::size_t edge_count() const { return users_.size(); }

  IdRange<NodeId> nodes() const { return {0, node_count_}; }
  IdRange<NodeId> constants() const { return {node_count_, node_count_ + constant_count_}; }
  // The nodes inside the bodies of `owner`, including nested bodies, without constants.
  IdRange<NodeId> body_nodes(NodeId owner) const;

  IdRange<ValueId> inputs() const { return {0, input_count_}; }
  // Parameters of the file, then the outputs of constants.
  IdRange<ValueId> parameters() const { return {input_count_, first_node_output_}; }
  std::span<const ValueId> outputs() const;  // as listed; may repeat

  // The id may be that of a node, a constant or a body node.
  const Node& node(NodeId id) const { return nodes_[index(id)]; }
  std::string_view op(NodeId id) const { return text(node(id).op); }
  std::string_view domain(NodeId id) const { return text(node(id).domain); }
  // In order: positional inputs, keyword inputs as in the file, captures. Literals are left out.
  std::span<const Operand> operands(NodeId id) const;
  IdRange<ValueId> outputs(NodeId id) const;
  std::span<const ValueId> module_parameters(NodeId id) const;
  std::span<const Attribute> attributes(NodeId id) const;
  const AttributePools& attribute_pools() const { return *attribute_pools_; }
  const MeasuredCost* measured_cost(NodeId id) const;  // null when the file gives none

  const Value& value(ValueId id) const { return values_[index(id)]; }
  bool is_parameter(ValueId id) const { return value(id).kind == ValueKind::parameter; }
  // Nodes that read the value, each once, in model order. Constants and body nodes do not count.
  std::span<const NodeId> users(ValueId id) const;
  // Nodes that read any output of a node, by output; a node that reads two of them is listed twice.
  std::span<const NodeId> readers(NodeId id) const;
  // Nodes that must run after the node besides its readers, and those that must run before it besides
  // the makers of its operands, as with_order() was told. Empty for nearly all.
  std::span<const NodeId> followers(NodeId id) const;
  std::span<const NodeId> leaders(NodeId id) const;
  bool is_graph_output(ValueId id) const { return is_output_[index(id)] != 0; }
  bool has_rank(ValueId id) const { return value(id).shape != kNone<ShapeId>; }
  Shape shape(ValueId id) const;  // empty when the rank is unknown: ask has_rank first
  // This graph as it looks with `shapes`; values that these do not name keep their own. Takes 32
  // bytes a value, and shares the rest with this graph.
  Graph with_shapes(const ShapeOverlay& shapes) const;
  // This graph with these orders between its nodes, which every pass keeps. Linear in them.
  Graph with_order(std::span<const RunOrder> order) const;
  // This graph with this state, each input and output of which is in one pair. Linear in it.
  Graph with_state(FoundState state) const;
  const FoundState& state() const;
  // The pair that has the value as its input or output; null for nearly all values.
  const StatePair* state_of(ValueId id) const {
    return state_ == nullptr ? nullptr : find_state_of(id);
  }
  // The parameter that this one is another name for (tied weights, two reads of one attribute); the
  // parameter itself when it is not an alias. Count bytes of parameters once by this id.
  ValueId canonical_parameter(ValueId id) const;
  SourceSpan declaration(ValueId id) const;  // of a graph input or parameter of the file

  std::string_view text(NameId id) const { return names_[index(id)]; }
  // The interned name, or kNone when the graph does not use it.
  NameId find_name(std::string_view text) const;
  std::span<const OpsetImport> opsets() const;  // empty when the format has none

 private:
  friend class GraphBuilder;
  explicit Graph(GraphRecords&& records);

  struct OtherShapes {
    std::vector<Value> values;
    std::vector<std::uint32_t> shape_begin;
    std::vector<Dim> dims;
  };

  struct OrderEdges {  // CSR by node
    std::vector<std::uint32_t> follower_begin, leader_begin;
    std::vector<NodeId> followers, leaders;
  };

  struct StateRecords {
    FoundState found;
    std::unordered_map<std::uint32_t, std::uint32_t> pair_of;  // by value
  };
  const StatePair* find_state_of(ValueId id) const;

  std::shared_ptr<const GraphRecords> records_;
  std::shared_ptr<const OtherShapes> other_shapes_;  // null: the values are those of records_
  std::shared_ptr<const OrderEdges> order_;          // null: data alone orders the nodes
  std::shared_ptr<const StateRecords> state_;        // null: the model has no state
  // Views of the above: what is read often is one step away.
  std::size_t node_count_ = 0;
  std::size_t constant_count_ = 0;
  std::size_t input_count_ = 0;
  std::size_t first_node_output_ = 0;
  std::span<const Node> nodes_;
  std::span<const Value> values_;
  std::span<const std::uint32_t> operand_begin_;
  std::span<const Operand> operands_;
  std::span<const std::uint32_t> output_begin_;
  std::span<const std::uint32_t> output_end_;
  std::span<const std::uint32_t> attribute_begin_;
  std::span<const Attribute> attributes_;
  const AttributePools* attribute_pools_ = nullptr;
  std::span<const std::uint32_t> user_begin_;
  std::span<const NodeId> users_;
  std::span<const std::uint8_t> is_output_;
  std::span<const std::uint32_t> shape_begin_;
  std::span<const Dim> dims_;
  std::span<const std::string_view> names_;
};

// ---- node lookup ----
//
// What one node has: its attributes by name, and the dtypes of its inputs.

// The operand at that position or with that keyword, when it is a single value and not a list; null
// when there is none. By position: logarithmic in the node's operands; by keyword: linear.
const Operand* find_plain_input(const Graph& graph, NodeId node, std::uint32_t position);
const Operand* find_plain_keyword(const Graph& graph, NodeId node, std::string_view name);

// The attribute of that name that the node states; null when it states none. Linear.
const Attribute* find_attribute(const Graph& graph, NodeId node, std::string_view name);

// Signature: the dtypes that a node reads. Support of an operator may differ by signature.

// The dtypes of a node's plain inputs; unknown: no input, or not a tensor. Trailing ones are left
// out.
struct Signature {
  std::vector<DType> args;
  std::vector<std::pair<std::string_view, DType>> kwargs;  // names are views into the graph
  auto operator<=>(const Signature&) const = default;
};

// Linear in the node's operands. Leaves out captures of bodies and values inside lists.
Signature signature_of(const Graph& graph, NodeId node);

// ---- scope ----
//
// Scopes: the dotted paths of the modules that nodes came from, "encoder.layer.0".

// The node's scope; for a module call without a scope, the module.
std::string_view scope_of(const Graph& graph, NodeId node);

// True for `outer` itself and the scopes inside it; "" is the whole model.
bool is_inside(std::string_view scope, std::string_view outer);

// The child of `outer` on the path to `scope`: "0" for "encoder.layer.0.attn" inside
// "encoder.layer". Empty for the scope itself.
std::string_view child_of(std::string_view scope, std::string_view outer);

// The length of the start of `scope` that names `outer`, with or without call numbers ("layer@1" is the
// second call of "layer"); nullopt if `scope` is not inside `outer`.
std::optional<std::size_t> length_inside(std::string_view scope, std::string_view outer);

// ---- random ops ----
//
// Operators of ONNX that draw numbers at random, so that two nodes of them differ, and so do two runs of one.

// Whether an operator of ONNX's own domain draws at random whatever its inputs are. Dropout is not among
// them: it draws in training only.
bool is_random_op(std::string_view op);

// ---- written memory ----
//
// The order that writes in place put between the nodes of a torch.fx graph: `add_`, `iadd`,
// `setitem`, `inplace=True`. What such a node writes is read after it by the nodes that follow it in
// the file, and before it by those that precede it, though no data goes between them. Views of a
// tensor, and the results of writes, share its memory.
//
// torch.export programs have schemas, which say more: formats/pt2/pt2.h, "effects".

// Ascending by the later node. Empty for most graphs. Linear in operands, near enough.
std::vector<RunOrder> order_of_writes(const Graph& graph);

// ---- fingerprint ----
//
// Fingerprint: 64 bits computed from everything that a split of the graph depends on. Two readings
// of a model with equal fingerprints are split alike under the same lists and settings.

// Covers nodes (constants and bodies too) with their names, ops, attributes and operands, the types
// and shapes of values, opsets, outputs and measured costs. Leaves out the names of values,
// positions in the file, and the contents of weights and of opaque attributes: none of them moves a
// node. The result is the same on any machine. Linear.
std::uint64_t fingerprint(const Graph& graph);

// The fingerprint of a text.
std::uint64_t fingerprint(std::string_view text);

// 16 hexadecimal digits.
std::string fingerprint_text(std::uint64_t fingerprint);

// The parameters that the node reads, and those that constants which it reads are made of, by their canonical ids, and
// such constants' outputs; without those in `seen`, where they are added.
std::vector<ValueId> new_parameters(const Graph& graph, NodeId node, ValueSet& seen);

// Whether the value's rank or one of its dims is not known.
bool is_open(const Graph& graph, ValueId value);

}  // namespace cleave
