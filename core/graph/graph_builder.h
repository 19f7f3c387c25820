// GraphBuilder: the only way to make a Graph. Readers hand it what they meet, in the order they
// meet it; finish() resolves names, sorts the nodes topologically and checks everything.
//
// Numbers of values and nodes that the builder hands out (ValueHandle, NodeHandle) count in order
// of adding; the graph's ids differ, since they follow topological order.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"

namespace cleave {

enum class ValueHandle : std::uint32_t {};
enum class NodeHandle : std::uint32_t {};

// What is wrong with a graph, in the user's words, and where in the source it stands.
struct GraphFault {
  enum class Kind { duplicate_node, duplicate_value, empty_name, unknown_value, cycle, too_large };
  Kind kind;
  std::string message;             // `node "conv1" reads "x7", which nothing produces`
  std::vector<std::string> notes;  // `did you mean "x6"?`; the path of a cycle, one edge a line
  SourceSpan where;                // of the node or declaration at fault; length 0 when not known
  std::string name;                // the name to point at inside `where`; may be empty
  SourceSpan first = {};           // duplicates: the one that bore the name before
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

// A value, and the shape that it is to have.
struct ShapeOfValue {
  ValueId value;
  ShapeId shape;
};

class GraphBuilder {
 public:
  GraphBuilder();
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;

  // A copy of `text` that lives as long as the graph. Views handed to the other functions must live
  // as long: in the mapped source, or kept here.
  std::string_view keep(std::string_view text);
  NameId intern(std::string_view text);  // copies the text when it is new
  ShapeId intern_shape(Shape dims);      // equal shapes get equal ids

  // Makes room for so many times what was added so far. A hint: without it memory grows by
  // doubling, and twice of everything is touched.
  void expect_times(double times);

  void set_name(std::string_view name);
  void add_opset(std::string_view domain, std::int64_t version);

  // The value of that name, declared or not yet: what is never declared is a fault of finish().
  ValueHandle value_named(std::string_view name);
  // To be called some time before a value or node of that name is asked for or added: fetches what
  // that needs from memory. Changes nothing.
  void expect_value(std::string_view name) const;
  void expect_node(std::string_view name) const;
  // A value outside the graph's names: made or formally read inside a body.
  ValueHandle add_local_value(const ValueDecl& decl);

  ValueHandle add_input(const ValueDecl& decl, SourceSpan where);
  ValueHandle add_parameter(const ValueDecl& decl, SourceSpan where);
  void set_alias(ValueHandle parameter, ValueHandle canonical);
  void add_graph_output(ValueHandle value, SourceSpan where);

  // Starts a node; the calls below add to the node started last.
  NodeHandle add_node(const NodeDecl& decl);
  NodeHandle add_constant(const NodeDecl& decl);
  // A node inside a body of `owner` (the outermost, top-level owner). All of one owner's body nodes
  // are added in one run. Its values come from add_local_value, or value_named for captures.
  NodeHandle add_body_node(const NodeDecl& decl, NodeHandle owner);
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
  void set_measured_cost(const MeasuredCost& cost);

  std::size_t node_count() const;

  // The graph; or its faults, at most 20, in order of their places. Nodes are sorted stably: of
  // those whose inputs are there, the one first in the source comes first. Linear when they stand
  // in order already, else O((nodes + edges) log nodes). `was_sorted()` tells which. After finish()
  // the builder is spent; node ids of handles are in node_ids().
  Result<Graph, std::vector<GraphFault>> finish();
  bool was_sorted() const;
  std::span<const NodeId> node_ids() const;    // by NodeHandle
  std::span<const ValueId> value_ids() const;  // by ValueHandle

  // What a finished graph may still learn: shapes of values that were seen when the model ran.
  static ShapeId add_shape(Graph& graph, Shape dims);
  // Gives each value the shape beside it, and that place the shape which the value had: a second
  // call takes the first one back.
  static void exchange_shapes(Graph& graph, std::span<ShapeOfValue> shapes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cleave
