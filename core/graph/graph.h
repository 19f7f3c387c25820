// Graph: a model as every pass sees it. Built once by GraphBuilder, never changed. A Graph is a
// handle: a copy shares all records with its original. Where a run or a trace showed shapes that
// the model leaves open, with_shapes() makes a graph that shows them; the model's own stays as it
// was read (core/graph/shapes.h).
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
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/attribute.h"
#include "core/graph/dtype.h"
#include "core/graph/shape.h"
#include "core/graph/shape_overlay.h"

namespace cleave {

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

  std::shared_ptr<const GraphRecords> records_;
  std::shared_ptr<const OtherShapes> other_shapes_;  // null: the values are those of records_
  std::shared_ptr<const OrderEdges> order_;          // null: data alone orders the nodes
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

}  // namespace cleave
