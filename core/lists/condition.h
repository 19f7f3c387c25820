// What a rule may ask of a node: its facts, conditions, relations, and how they are judged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"

namespace cleave {

// ---- tensor layout ----
//
// How a tensor is laid out in memory, for rules that ask for it. One tensor may have several
// layouts: with one channel, contiguous and channels_last are the same.

enum class LayoutName : std::uint8_t {
  contiguous,        // row-major without gaps
  channels_last,     // rank 4, dim 1 innermost: NHWC
  channels_last_3d,  // rank 5, dim 1 innermost: NDHWC
  strided,           // any tensor with strides
  sparse,            // COO, CSR, CSC, BSR, BSC
};
inline constexpr std::array<std::string_view, 5> kLayoutNames = {
    "contiguous", "channels_last", "channels_last_3d", "strided", "sparse"};

class LayoutSet {
 public:
  void add(LayoutName name) { bits_ |= bit(name); }
  bool contains(LayoutName name) const { return (bits_ & bit(name)) != 0; }
  bool meets(LayoutSet other) const { return (bits_ & other.bits_) != 0; }
  bool operator==(const LayoutSet&) const = default;

 private:
  static constexpr unsigned bit(LayoutName name) { return 1U << static_cast<unsigned>(name); }
  unsigned bits_ = 0;
};

struct TensorLayout {
  LayoutSet layouts;                                 // all that it has
  std::vector<std::optional<std::int64_t>> strides;  // in elements, by dim; nullopt: unknown
  bool operator==(const TensorLayout&) const = default;
};

// The layouts of a tensor with these sizes and strides, as torch decides them: the stride of a dim
// of size 1 does not count, and an empty tensor is contiguous. `strides` has one number for each
// size. Linear in the dims.
LayoutSet strided_layouts(std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides);

// ---- op facts ----
//
// What a model's format knows about its operators, about the values of its constants and the memory
// of its tensors, and about nodes that belong together.

// How the numbers of a tensor stand for reals: real = scale * (number - zero_point).
struct Quantization {
  enum class Kind : std::uint8_t {
    none,    // they stand for themselves
    tensor,  // one scale
    axis,    // a scale for each index of one axis
    other,   // in a way of the format's own: blocks, several axes
  };
  Kind kind = Kind::none;
  DType stored = DType::unknown;          // the type of the numbers
  std::vector<double> scales;             // one, or one for each index of `axis`
  std::vector<std::int64_t> zero_points;  // as many as scales
  std::int64_t axis = 0;                  // of kind `axis`
  bool is_symmetric() const;              // quantised, and all zero points are known to be 0
};

struct FunctionBody;

// Each function may be empty.
struct OpFacts {
  // The default of an attribute that a node does not state.
  std::function<std::optional<AttributeValue>(std::string_view domain, std::string_view op,
                                              std::int64_t opset, std::string_view attribute)>
      default_attribute;
  // The opset in which the op's schema at `opset` was introduced; 0 when it is unknown.
  std::function<std::int64_t(std::string_view domain, std::string_view op, std::int64_t opset)>
      schema_version;
  // The elements of a parameter, in row-major order; booleans are 0 and 1. nullopt when they are
  // not in the file as such, or are too many to look at. Linear in the elements.
  std::function<std::optional<std::vector<Literal>>(const Graph& graph, ValueId parameter)>
      elements;
  // Whether the model writes the parameter, so that it is no constant.
  std::function<bool(ValueId parameter)> is_written = {};
  // How a tensor is laid out in memory; nullopt when it is unknown.
  std::function<std::optional<TensorLayout>(ValueId tensor)> layout = {};
  // Whether an op only runs its body, once: such a node is judged by its body alone.
  std::function<bool(std::string_view op)> is_region = {};
  // How a tensor is quantised; nullopt when it is unknown. Linear in its scales.
  std::function<std::optional<Quantization>(const Graph& graph, ValueId tensor)> quantization = {};
  // The version of a node's operator in formats where each operator states its own, which stands
  // for the opset there; nullopt elsewhere.
  std::function<std::optional<std::int64_t>(NodeId node)> version = {};
  // What a runtime does to the graph before it asks a provider, for lists that are about its graph:
  // the node of which this one becomes a part, or in whose place it stands. kNone: it stays.
  std::function<NodeId(const Graph& graph, NodeId node)> runtime_host = {};
  // The nodes by which a runtime replaces the node when no provider takes it; null: it has no such.
  std::function<std::shared_ptr<const FunctionBody>(const Graph& graph, NodeId node)>
      function_body = {};
  // Sets of nodes that must be in one partition, since they use memory that some of them write in
  // place (torch.export).
  std::vector<std::vector<NodeId>> whole = {};
};

// The body of an operator that is defined by others, with the types of one node's inputs.
struct FunctionBody {
  Graph graph;
  OpFacts facts;
};

// Whether the value is known when the model is compiled: a parameter that the model does not write.
bool is_constant(const Graph& graph, ValueId value, const OpFacts& facts);

// The version of the node's operator, or the opset that the model imports for its domain.
std::optional<std::int64_t> opset_of(const Graph& graph, NodeId node, const OpFacts& facts);

// ---- attribute value ----
//
// The value of a node's attribute: the one that the node states, else the operator's default.

// Implied attributes: the value of an attribute that an ONNX node does not state and for which the
// schema gives no default. For some, ONNX's documentation defines a value computed from ranks and
// shapes (`dilations`: a 1 for each spatial axis). An attribute added by a later opset has the
// value that keeps the earlier behaviour (`antialias`: 0).

// The value for an operator of ONNX's default domain; nullopt when there is none, or when it
// depends on an unknown rank or dim. Logarithmic in the table's size, and linear in the rank.
std::optional<AttributeValue> implied_attribute(const Graph& graph, NodeId node,
                                                std::string_view name);

// What the node states, else the default of the operator's schema, else the value that ONNX
// implies. nullopt when there is none of these, or when the value is
// not a number, a string or a list of these.
std::optional<AttributeValue> attribute_value(const Graph& graph, NodeId node,
                                              std::string_view name, const OpFacts& facts);

// Whether a node of this one's op may have a value of the attribute without stating it.
bool may_have_unstated(const Graph& graph, NodeId node, std::string_view name,
                       const OpFacts& facts);

bool holds_list(const AttributeValue& value);

// Integers compare with reals as numbers, exactly: 1 equals 1.0, and 2^53 + 1 is not 2^53.
bool equal_values(const AttributeValue& a, const AttributeValue& b);

// A text to use as a key of tables. Equal values have equal texts; unequal values seldom do.
std::string value_key(const AttributeValue& value);

// ---- relation ----
//
// Relations: arithmetic and comparison over attributes, dims, ranks and counts of a node, or of the
// nodes of a pattern.
//
//   attr.group == in[0].dim[1] and attr.kernel_shape[0] % 2 == 1
//   node[0].attr.axis == node[2].attr.axis
//
// A relation is a list of terms. Operands come before the terms that use them, and the last term is
// the whole relation. The grammar is at parse_relation(), the meaning at "relation value" below.

struct RelationTerm {
  enum class Kind : std::uint8_t {
    literal,
    attribute,    // `text` is its name
    input,        // property `text` of input `position`
    output,       // property `text` of output `position`
    input_count,  // len(in): inputs that the node has
    output_count,
    item,  // first[second]
    tail,  // first[second:]
    negate,
    plus,
    minus,
    times,
    divide,
    modulo,
    equal,
    unequal,
    less,
    less_equal,
    greater,
    greater_equal,
    logical_not,
    logical_and,
    logical_or,
    length,  // functions of `first`
    least,
    greatest,
    all,
    any,
    list,  // the arguments of min() and max(): first, second
  };
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  Kind kind = Kind::literal;
  std::uint32_t first = kNone, second = kNone;  // operands, by index
  std::uint32_t position = 0;                   // input, output; kNone: a list of all that it has
  std::uint32_t node = 0;  // attribute, input, output, counts: of this op of a pattern
  Literal literal = std::int64_t{0};
  std::string text = {};
  std::uint32_t begin = 0, end = 0;  // its bytes of the relation's text
  bool operator==(const RelationTerm&) const = default;
};

struct Relation {
  static constexpr std::size_t kMostTerms = 256;
  std::string text;  // as it is in the support list
  std::vector<RelationTerm> terms;
  bool operator==(const Relation&) const = default;
};

// The value of a term; std::monostate: unknown. Truth values are the integers 0 and 1.
using RelationItem = std::variant<std::monostate, std::int64_t, double, std::string>;
using RelationValue =
    std::variant<std::monostate, std::int64_t, double, std::string, std::vector<RelationItem>>;

// Reads a relation from its text. The grammar, loosest binding first:
//
//   or   and   not   == != < <= > >=   + -   * / %   - (sign)   [index] [first:]
//   123  1.5  "text"  ( )
//   attr.NAME   in[i].PROPERTY   out[i].PROPERTY
//   in.PROPERTY   out.PROPERTY: of every input or output, as one list
//   PROPERTY: dim, stride (lists)  rank  dtype  constant  elements  bytes  given  quantized
//             scale, zero_point (a number, or a list)  scales (how many)  quantized_axis
//             values (the elements of a constant, a list)  tensor (which one it is: only == and != mean something)
//   len(x)  len(in)  len(out)  min(x, ...)  max(x, ...)  all(x)  any(x)
//
// In a pattern, `attr`, `in` and `out` are of one of its nodes: node[0].attr.axis, len(node[1].in).
//
// Comparisons do not chain: `1 < x and x < 3`.
struct RelationFault {
  std::size_t at;  // byte of the text
  std::string message;
};

// At most Relation::kMostTerms terms, 64 levels of nesting and 4,096 bytes are read. Linear.
Result<Relation, RelationFault> parse_relation(std::string_view text);

// The same for a relation between the nodes of a pattern with `op_count` ops.
Result<Relation, RelationFault> parse_pattern_relation(std::string_view text, std::size_t op_count);

// ---- condition ----
//
// Conditions of a rule. Each asks about one property of the node, or of tensors that it reads or makes,
// and says which values the rule accepts. The fields of a support list ("constant", "shapes",
// "attributes" ...) are read into these, and so is a relation. A condition that cannot be decided
// does not hold. Nor does one on an input that the node does not have, unless it asks only `if_given`.
//
// A new property is an entry of Property, its value and words in condition.cc, and a row of the fields
// in formats/lists/support_rule.cc.

// A set of types: element types of tensors, and types of values that are not tensors.

// The element types of tensors, and the types of other values, that a rule accepts.
struct TypeSet {
  std::uint32_t dtypes = 0;       // bit per DType
  std::uint16_t value_types = 0;  // bit per ValueType
  void add(DType dtype) { dtypes |= 1U << static_cast<unsigned>(dtype); }
  void add(ValueType type) {
    value_types = static_cast<std::uint16_t>(value_types | 1U << static_cast<unsigned>(type));
  }
  // A tensor is judged by its dtype, any other value by its type.
  bool accepts(const Value& value) const;
  bool operator==(const TypeSet&) const = default;
};
using MaybeTypes = std::optional<TypeSet>;  // nullopt: any type

// An input by position. `if_given`: the condition holds where the node has no such input.
struct InputPlace {
  std::uint32_t position = 0;
  bool if_given = false;
  bool operator==(const InputPlace&) const = default;
};

// How a tensor must be quantised: in one of these ways, with numbers of one of these types, or of the
// type that those of the node's input 0 have.
struct QuantizationSet {
  enum Way : std::uint8_t { none, tensor, axis, other, symmetric };
  std::uint8_t ways = 0;  // bit per Way; 0: quantised in any way
  TypeSet types;          // of the numbers; empty: any
  bool as_input_0 = false;
  void add(Way way) { ways = static_cast<std::uint8_t>(ways | 1U << way); }
  bool has(Way way) const { return (ways >> way & 1U) != 0; }
  bool operator==(const QuantizationSet&) const = default;
};
inline constexpr std::array<std::string_view, 5> kQuantizationWays = {"none", "tensor", "axis",
                                                                      "other", "symmetric"};

enum class Property : std::uint8_t {
  attribute,     // the effective value of the attribute `name`
  stated,        // whether the node states the attribute `name`, whatever its default
  given,         // whether the node has the input
  constant,      // whether it is known at compile time
  outputs_used,  // which outputs nodes or the graph's outputs read: those of `one_of` only
  rank,
  dim,    // the size of dim `axis`, which must be known
  dims,   // the size of every dim
  known,  // whether every dim from `axis` on has a known size
  type,
  same_type,  // all inputs are of one type, whichever it is
  values,     // the elements of a constant
  layout,
  quantization,
  relation,
};

// What a value must be: each of these that is set.
struct Accepted {
  bool yes = true;                           // of a property that is true or false
  std::vector<AttributeValue> one_of;        // empty: any
  std::optional<double> min, max;            // of numbers
  std::optional<std::int64_t> multiple_of;   // of integers; 1 or more
  std::optional<std::vector<Literal>> list;  // all elements of a constant, in order
  bool power_of_two = false;                 // 0.5, 1, 2, 4 ...
  bool finite = false;
  TypeSet types;
  LayoutSet layouts;
  QuantizationSet quantization;
  bool has_number() const { return !one_of.empty() || min || max || multiple_of; }
  bool operator==(const Accepted&) const = default;
};

// Whether the value is one of those, and within the bounds. A list of numbers is when all of them are.
bool accepts(const Accepted& wanted, const AttributeValue& value);

struct Condition {
  // One input or output at `place`, every positional input, or every tensor that the node reads or
  // makes, without constants if of its `activations`. Of ranks and sizes, tensors only. An output that
  // the node does not have is as asked.
  enum class Of : std::uint8_t { node, input, output, inputs, activations, every };
  Property property = Property::relation;
  Of of = Of::node;
  InputPlace place = {};
  // Of an entry of "shapes": it asks nothing of an input that the node does not have, since the entry
  // has a condition `given` for that.
  bool is_clause = false;
  std::int64_t axis = 0;  // dim: below 0: from the end; known: the first that counts
  std::string name = {};
  Accepted wanted = {};
  Relation relation = {};
  std::string why = {};  // what the relation asks for, in the words of its source; "": it says it
  bool operator==(const Condition&) const = default;
};

Condition attribute_is(std::string name, std::vector<AttributeValue> one_of);
Condition attribute_within(std::string name, std::optional<double> min, std::optional<double> max);
Condition is_stated(std::string name, bool yes);
// Of one input, with anything accepted.
Condition of_input(Property property, const InputPlace& place);
// Of all inputs.
Condition of_inputs(Property property);
Condition relation_condition(Relation relation, std::string why = {});

// An entry of "shapes" as a list has it.
struct ShapeEntry {
  std::uint32_t input = 0;
  bool if_given = false;  // holds where the node has no such input; else it fails there
  std::optional<std::int64_t> rank = {};
  bool is_static = false;  // every dim known
  std::optional<std::int64_t> max_dim = {};
  std::vector<std::pair<std::int64_t, std::int64_t>> multiple_of = {};  // axis, factor
};
std::vector<Condition> conditions_of(const ShapeEntry& entry);

// ---- failed part ----

// A part of a rule that a node does not meet, in words: `shape of input 0` `is rank 3`, `wants rank 4`.
// Not escaped: names are as in the model and the list.
struct FailedPart {
  std::string_view
      condition;         // its kind, as JSON names it: "type", "attribute", "shape", "where" ...
  std::string subject;   // "input 2", "attribute group", "opset"
  std::string expected;  // "float32 or float16", "1", "rank 4"
  std::string actual;    // "int64", "32 by default", "rank 3", "not given"
  std::string sentence = {};  // of a relation, in place of the three
  // What the node has, where nodes that have something else need another change of the rule.
  std::string found = {};
  MaybeTypes types = {};                         // of a type: those that are wanted,
  DType dtype = DType::unknown;                  // and the tensor's
  std::optional<std::int64_t> newer_opset = {};  // the lowest that would do, if that is newer
  bool operator==(const FailedPart&) const = default;
};

// "3", "0.5", "\"linear\"", "[1, 1]"
std::string attribute_value_text(const AttributeValue& value);

// "float32 or float16"; "nothing" for an empty set.
std::string types_text(const TypeSet& types);

// "int64", "a tuple", "of unknown dtype"
std::string found_type_text(ValueType type, DType dtype);

// ---- relation value ----
//
// Evaluates a relation for a node, or for the nodes of a pattern.
//
// An attribute has its effective value ("attribute value" above). If the node does not
// have an input, its `given` is 0 and its other properties are unknown. A dim that is not fixed is
// unknown, and so is what is computed from it. `scales` of a tensor that is not quantised is 0, and
// its `scale` and `zero_point` are unknown.

// Arithmetic and comparison of the values of a relation's terms.
//
// A list and a number are combined element by element. Two lists are only compared, as wholes, with
// == and !=. Unknown operands follow three-valued logic: `false and unknown` is false. The result
// is also unknown when types do not fit, on division by zero and on overflow.

// Applies + - * / % or a comparison. Integers divide as in Python: the quotient is rounded towards
// minus infinity, and the remainder has the divisor's sign.
RelationValue combined(RelationTerm::Kind kind, const RelationValue& a, const RelationValue& b);

// One list of the items of both values.
RelationValue joined(const RelationValue& a, const RelationValue& b);

// list[index]; an index below 0 counts from the end.
RelationValue item_at(const RelationValue& list, const RelationValue& index);

bool is_comparison(RelationTerm::Kind kind);
bool is_unknown(const RelationValue& value);

// Whether the relation is known to hold for the node. Linear in the terms, times the lengths of
// lists.
bool relation_holds(const Relation& relation, const Graph& graph, NodeId node,
                    const OpFacts& facts);
// The same for the nodes of a pattern, by op.
bool relation_holds(const Relation& relation, const Graph& graph, std::span<const NodeId> nodes,
                    const OpFacts& facts);

// Why a relation does not hold. If it is a chain of `and`, this is the first operand that is false,
// or the first unknown one when none is false. A failed comparison comes with the values of both
// sides.
struct RelationFailure {
  bool is_unknown = false;
  bool is_comparison = false;
  std::string part;           // the text of what fails or is unknown
  std::string sign;           // comparisons only: "=="
  RelationValue left, right;  // comparisons only
  bool operator==(const RelationFailure&) const = default;
};
RelationFailure relation_failure(const Relation& relation, const Graph& graph, NodeId node,
                                 const OpFacts& facts);
RelationFailure relation_failure(const Relation& relation, const Graph& graph,
                                 std::span<const NodeId> nodes, const OpFacts& facts);

// `attribute group is 32, wants dim 1 of input 0, which is 64` for a relation that does not hold; `attr.group ==
// in[0].dim[1] cannot be decided: dim 1 of input 0 is unknown` for one that cannot be decided. A relation that
// the list has words for is said in these, too: `Batch must be 1: dim 0 of input 0 is 2, wants 1`.
std::string relation_failure_text(const Relation& relation, const std::string& why,
                                  const RelationFailure& failure);

// ---- condition check ----

// Whether the condition holds. If it does not, `failed` gets the words for it, unless it is null: they
// take long. Linear in the node's operands and in the elements of constants that it looks at.
bool condition_holds(const Graph& graph, NodeId node, const Condition& condition,
                     const OpFacts& facts, FailedPart* failed = nullptr);

}  // namespace cleave
