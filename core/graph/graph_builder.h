// How a reader makes a Graph, node by node.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"

namespace cleave {

// ---- graph records ----
//
// GraphRecords: what a GraphBuilder fills and a Graph reads. Only these two use it.

// Row `i` of a CSR table.
template <class T>
std::span<const T> csr_row(std::span<const T> items, std::span<const std::uint32_t> begin,
                           std::uint32_t i) {
  return items.subspan(begin[i], begin[i + 1] - begin[i]);
}

struct GraphRecords {
  std::string_view name;
  std::size_t node_count = 0;
  std::size_t constant_count = 0;
  std::size_t input_count = 0;
  std::size_t first_node_output = 0;
  std::vector<Node> nodes;  // nodes, constants, body nodes
  std::vector<Value> values;
  std::vector<std::uint32_t> operand_begin;  // CSR: size nodes.size() + 1; the same below
  std::vector<Operand> operands;
  std::vector<std::uint32_t> output_begin;  // values of node i: [output_begin[i], output_end[i])
  std::vector<std::uint32_t> output_end;
  std::vector<std::uint32_t> attribute_begin;
  std::vector<Attribute> attributes;
  std::vector<std::uint32_t> module_parameter_begin;  // empty when no node owns any
  std::vector<ValueId> module_parameters;
  std::vector<std::uint32_t> user_begin;
  std::vector<NodeId> users;
  std::vector<ValueId> outputs;
  std::vector<std::uint8_t> is_output;   // by value: 1 for an output of the graph
  std::vector<SourceSpan> declarations;  // of inputs and of parameters in the file
  std::vector<MeasuredCost> measured;    // empty when no node has one
  struct BodyRange {
    NodeId owner;
    std::uint32_t first, last;
  };
  std::vector<BodyRange> bodies;  // by owner
  std::unordered_map<std::uint32_t, ValueId> alias;
  std::vector<OpsetImport> opsets;
  AttributePools attribute_pools;
  std::vector<std::uint32_t> shape_begin;
  std::vector<Dim> dims;
  std::vector<std::string_view> names;
  NameTable name_table;  // over `names`
  StringArena arena;     // the strings that are not in a file

  // By handle, until finish() has put the records in order.
  std::span<const Operand> operands_of(std::uint32_t node) const {
    return csr_row<Operand>(operands, operand_begin, node);
  }
  std::span<const ValueId> module_parameters_of(std::uint32_t node) const {
    if (module_parameter_begin.empty()) return {};
    return csr_row<ValueId>(module_parameters, module_parameter_begin, node);
  }
  // The interned name, or kNone.
  NameId find_name(std::string_view text) const {
    return NameId{name_table.find(text, [this](std::uint32_t i) { return names[i]; })};
  }
};

// ---- graph builder ----
//
// GraphBuilder: the only way to make a Graph. Readers hand it what they meet, in the order they
// meet it; finish() resolves names, sorts the nodes topologically and checks everything.
//
// The builder's handles (ValueHandle, NodeHandle) count in the order of adding. The graph's ids
// differ, since they follow the topological order.

enum class ValueHandle : std::uint32_t {};
enum class NodeHandle : std::uint32_t {};

// What is wrong with a graph, in the user's words, and where in the source it is.
struct GraphFault {
  enum class Kind { duplicate_node, duplicate_value, empty_name, unknown_value, cycle, too_large };
  Kind kind;
  std::string message;             // `node "conv1" reads "x7", which nothing produces`
  std::vector<std::string> notes;  // `did you mean "x6"?`; the path of a cycle, one edge a line
  SourceSpan where;                // of the node or declaration at fault; length 0 when not known
  std::string name;                // the name to point at inside `where`; may be empty
  SourceSpan first = {};           // duplicates: where the name was used first
};

struct ValueDecl {
  std::string_view name;
  ValueType type = ValueType::unknown;
  DType dtype = DType::unknown;
  ShapeId shape = kNone<ShapeId>;
  bool holds_tensor = false;  // set for a tuple or list; implied for a tensor
};

struct NodeDecl {
  std::string_view name;
  std::string_view op;
  std::string_view domain = {};
  std::string_view scope = {};
  std::string_view target = {};
  NodeKind kind = NodeKind::unspecified;
  SourceSpan source = {};
};

// The same for a reader that has interned what nodes have in common: nothing is looked up.
struct InternedNode {
  std::string_view name;
  NameId op;
  NameId domain = NameId{0};  // ""; so are the others
  NameId scope = NameId{0};
  NameId target = NameId{0};
  NodeKind kind = NodeKind::unspecified;
  SourceSpan source = {};
};

class GraphBuilder {
 public:
  GraphBuilder();
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;

  // Returns a copy of `text` that lives as long as the graph. Views handed to the other functions
  // must live as long: they are in the mapped source, or kept here.
  std::string_view keep(std::string_view text);
  NameId intern(std::string_view text);  // copies the text when it is new
  ShapeId intern_shape(Shape dims);      // equal shapes get equal ids

  // Reserves memory for this many times what was added so far. Only a hint: without it memory grows
  // by doubling, which touches everything twice.
  void expect_times(double times);

  // Says that no two values, and no two nodes, have one name: who adds them has looked. They are then
  // entered into no table, and value_named() finds none of them.
  void set_names_unique();

  void set_name(std::string_view name);
  void add_opset(std::string_view domain, std::int64_t version);

  // The value with that name, declared or not. finish() refuses a value that is never declared.
  ValueHandle value_named(std::string_view name);
  // These two prefetch what a later lookup or insertion of the name will read. They change nothing.
  void expect_value(std::string_view name) const;
  void expect_node(std::string_view name) const;
  // Adds a value that is made, or declared as an input, inside a body. It does not enter the
  // graph's table of names.
  ValueHandle add_local_value(const ValueDecl& decl);

  ValueHandle add_input(const ValueDecl& decl, SourceSpan where);
  ValueHandle add_parameter(const ValueDecl& decl, SourceSpan where);
  void set_alias(ValueHandle parameter, ValueHandle canonical);
  void add_graph_output(ValueHandle value, SourceSpan where);

  // Starts a node; the calls below add to the node started last.
  NodeHandle add_node(const NodeDecl& decl);
  NodeHandle add_node(const InternedNode& node);
  NodeHandle add_constant(const NodeDecl& decl);
  NodeHandle add_constant(const InternedNode& node);
  // A node inside a body of `owner` (the outermost, top-level owner). All of one owner's body nodes
  // are added in one run. Its values come from add_local_value, or value_named for captures.
  NodeHandle add_body_node(const NodeDecl& decl, NodeHandle owner);
  NodeHandle add_body_node(const InternedNode& node, NodeHandle owner);
  void add_operand(ValueHandle value, OperandSlot slot);
  // Declares the next output of the node at position `slot` (positions without a value are
  // skipped).
  ValueHandle add_output(const ValueDecl& decl, std::uint32_t slot);
  void add_body_output(ValueHandle local);
  void add_module_parameter(ValueHandle parameter);
  void add_attribute(NameId name, std::span<const std::int64_t> integers, AttributeType type);
  void add_attribute(NameId name, std::span<const double> reals, AttributeType type);
  void add_attribute(NameId name, std::span<const std::string_view> strings, AttributeType type);
  void add_opaque_attribute(NameId name);
  // Gives the node the attributes of an earlier one; their values are stored once.
  void add_attributes_of(NodeHandle earlier);
  void set_measured_cost(const MeasuredCost& cost);

  std::size_t node_count() const;

  // Returns the graph, or its faults, at most 20, in the order of their places. Nodes are sorted
  // stably: of the nodes whose inputs are ready, the first in the source comes first. Linear when
  // the nodes are already in order, else O((nodes + edges) log nodes); `was_sorted()` says which.
  // After finish() the builder holds no graph; node_ids() and value_ids() map handles to ids.
  Result<Graph, std::vector<GraphFault>> finish();
  bool was_sorted() const;
  std::span<const NodeId> node_ids() const;    // by NodeHandle
  std::span<const ValueId> value_ids() const;  // by ValueHandle

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cleave
