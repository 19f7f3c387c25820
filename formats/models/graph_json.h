// The native format: reading it, and writing any model as it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/model.h"

namespace cleave {

// ---- graph json ----
//
// Native graph JSON (cleave.graph version 1): read by streaming, without a document tree; written
// node by node, copying nodes verbatim from the source they were read from.

// True when the text may be native JSON: its first character other than white space is '{'.
bool looks_like_json(std::string_view bytes);

struct GraphJson {
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
  SourceSpan output_tree;  // if the file has one
};

// Linear; the graph's names are views into `source`. Besides the graph, needs about 4 bytes for
// each bracket, comma, colon, string and number of the text. `bindings` sets symbolic dims and the
// shapes of inputs; shapes of other values stay as in the file, with bound dims replaced.
Loaded<GraphJson> read_graph_json(const SourceFile& source, const ShapeBindings& bindings,
                                  const ModelLimits& limits = {}, const Progress& progress = {});

// The whole graph as native JSON, one node a line. From JSON: nodes, inputs and parameters are
// copied verbatim. From ONNX: they are made from the graph, constants become parameters, and only
// attributes that rules can ask about are written.
std::string write_graph_json(const LoadedModel& model);

// Part `part` as a graph of its own: its boundary inputs, its parameters, its nodes. If `device` is
// given, nodes that name a device name this one.
std::string write_part_json(const LoadedModel& model, const Partition& partition,
                            const Boundaries& boundaries, PartId part,
                            std::string_view device = {});

// The root: original inputs, one `cleave.call` per part, then `more` nodes, each a JSON object on one
// line, original outputs.
std::string write_root_json(const LoadedModel& model, const Partition& partition,
                            const Boundaries& boundaries, std::span<const std::string> more = {});

// ---- items ----
//
// The items of a native graph file as text, each on one line: declarations of values, and nodes.
// Items read from JSON are copied; others are made from the graph.

// Finds exact offsets in the text of a native graph; the graph itself stores only rough ones.

// The offset of the name at fault inside the node or declaration `where`; the start of `where` when
// the name is not found. Pass fault.where, or fault.first for the first use of the name. `text` is
// the whole source.
std::uint64_t place_of_fault(std::string_view text, const GraphFault& fault, SourceSpan where);

// The offset of the string `wanted` in the field of the object `where`; the start of `where` when
// it is not found.
std::uint64_t place_in_field(std::string_view text, SourceSpan where, std::string_view field,
                             std::string_view wanted);

// The declaration of the node's output number `slot`; an empty span when it has none.
SourceSpan span_of_output(std::string_view text, SourceSpan node, std::uint32_t slot);

// Items of a native graph file for a model that was not read from one: made from the graph.
// Attributes that rules cannot ask about, and bodies, are left out.

// `{"name": "y", "type": "tensor", "dtype": "float32", "shape": [1, "N", null]}`; a parameter also
// has `location`, `offset`, `bytes` if its raw data is in a file.
std::string make_value_json(const LoadedModel& model, ValueId id);

// `[1, "N", null]`; only for a tensor of known rank.
std::string make_shape_json(const Graph& graph, ValueId id);

// The node; captures of its bodies follow its other inputs.
std::string make_node_json(const LoadedModel& model, NodeId id);

class GraphJsonItems {
 public:
  explicit GraphJsonItems(const LoadedModel& model);

  std::string node(NodeId id) const;
  // The declaration of a graph input, a node's output, or a parameter that is passed like an input:
  // for use as an input of a graph or an output of a node.
  std::string value(ValueId id) const;
  // The declarations of one file's parameters, in the given order. A parameter that is an alias of
  // one outside the list becomes an alias of the first of its other names in the list.
  std::vector<std::string> parameters(std::span<const ValueId> ids) const;

 private:
  std::string_view source_of(SourceSpan span) const;

  const LoadedModel& model_;
  const Graph& graph_;
};

// Moves nodes to another device. Nodes of traced code may name the device of their output
// (torch.zeros with device="cpu").

// The node, as JSON on one line, with its attribute or keyword `device` set to this device;
// unchanged when it has neither.
std::string with_device(std::string node, std::string_view device);

// ---- nodes ----
//
// Nodes of native graph JSON. The fields of a node may come in any order, so each node is read
// completely before it is passed to the builder.

// Declarations of values in native graph JSON: graph inputs, parameters, outputs of nodes.
enum class ValueRole { input, parameter, output, element };

struct DeclaredValue {
  ValueDecl decl;  // an empty name: a fault was reported
  SourceSpan where;
  bool is_attribute_read = false;  // "get_attr": true
  std::string_view target = {};
  std::string_view alias_of = {};
  std::uint64_t alias_offset = 0;
};

class GraphJsonValues {
 public:
  GraphJsonValues(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                  const ShapeBindings& bindings, const ModelLimits& limits);

  // Reads the declaration at the cursor, whose value may have any type. The subject gets its name
  // when the name is read. Names without escapes are views into the source.
  DeclaredValue read(JsonSubject& subject, ValueRole role);
  // The characters of a string, valid as long as the graph lives.
  std::string_view kept(const JsonString& string) {
    return string.has_escapes ? builder_.keep(unescaped(string)) : string.text;
  }
  // The same for a name; refuses one longer than the limit.
  std::string_view kept_name(const JsonString& string) {
    if (string.text.size() > limits_.name_bytes) refuse_name(string);
    return kept(string);
  }
  // Call after reading: bindings that name no input or symbolic dim are faults.
  void check_bindings() { binder_.report_faults(faults_); }

 private:
  struct Fields;
  void refuse_name(const JsonString& name);
  DeclaredValue read_fields(JsonSubject& subject, ValueRole role, std::size_t depth);
  void read_field(std::size_t field, Fields& read);
  std::string_view read_name(JsonFields& fields);
  void read_type(Fields& read);
  void read_dtype(Fields& read);
  void read_value_shape(Fields& read);
  bool read_shape(JsonFields& fields);
  void read_dim(JsonFields& fields);
  Dim symbol(std::string_view name);
  bool read_elements(Fields& read);
  void check_count(JsonFields& fields);
  void bind_input_shape(DeclaredValue& value);

  JsonCursor& cursor_;
  JsonFaults& faults_;
  GraphBuilder& builder_;
  ShapeBinder binder_;
  const ModelLimits& limits_;
  // Each role has its own fields, and so its own order.
  JsonFieldOrder& order_of(ValueRole role) { return orders_[static_cast<std::size_t>(role)]; }
  std::array<JsonFieldOrder, 4> orders_;
  // Shapes by their text: graphs repeat a few shapes, and finding a known one is cheaper than
  // reading it again.
  std::unordered_map<std::string_view, ShapeId> known_shapes_;
  struct KnownShape {
    std::string_view text = {};
    ShapeId shape = kNone<ShapeId>;
  };
  KnownShape last_shape_;  // an entry of known_shapes_, or empty
  struct KnownDType {
    std::string_view name = {};
    DType dtype = DType::unknown;
  };
  KnownDType last_dtype_;
  std::vector<Dim> dims_;        // of the shape read last
  std::vector<Dim> value_dims_;  // of the current value, without its elements
};

// Attributes of nodes in native graph JSON: numbers, strings, booleans and lists of them, which
// rules can ask about. All others are opaque and stay in the source.
class GraphJsonAttributes {
 public:
  GraphJsonAttributes(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                      GraphJsonValues& values);

  void clear();
  std::size_t count() const { return attributes_.size(); }
  // Reads the field "attributes" at the cursor, whose value may have any type.
  void read(JsonFields& fields);
  // Passes the attributes read since clear() to the node that the builder started last.
  void hand_over();

 private:
  struct Pending {
    NameId name;
    AttributeType type;
    std::size_t begin, count;  // in integers_, reals_ or strings_
  };
  struct Sizes {
    std::size_t integers, reals, strings;
  };

  void read_value(NameId name);
  void read_number(NameId name);
  void read_list(NameId name);
  bool read_item();
  void settle_list(NameId name, Sizes before, std::size_t count);

  JsonCursor& cursor_;
  JsonFaults& faults_;
  GraphBuilder& builder_;
  GraphJsonValues& values_;
  std::vector<Pending> attributes_;
  std::vector<std::int64_t> integers_;
  std::vector<double> reals_;
  std::vector<std::string_view> strings_;
  bool is_whole_ = true;  // all numbers of the current list are whole
  JsonKeys keys_;
};

class GraphJsonNodes {
 public:
  GraphJsonNodes(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                 GraphJsonValues& values, const ModelLimits& limits);

  // Reads the node at the cursor, number `position` of the file, into the builder. A node without a
  // name is a fault and is left out.
  void read(std::size_t position);
  // The values that nodes have read and made so far, counted each time.
  std::uint64_t value_count() const { return value_count_; }

 private:
  struct Reference {
    std::string_view value;
    OperandSlot slot;
  };

  void clear();
  void read_field(std::size_t field, JsonFields& fields);
  std::string_view read_text(JsonFields& fields);
  std::string_view read_required_text(JsonFields& fields);
  void read_kind(JsonFields& fields);
  void read_inputs(JsonFields& fields);
  void read_kwargs(JsonFields& fields);
  void read_reference(JsonFields& fields, std::vector<Reference>& to, OperandSlot slot);
  void read_list_reference(JsonFields& fields, std::vector<Reference>& to, OperandSlot slot);
  void read_module_parameters(JsonFields& fields);
  void read_outputs(JsonFields& fields);
  void read_cost(JsonFields& fields);
  void hand_over();

  JsonCursor& cursor_;
  JsonFaults& faults_;
  GraphBuilder& builder_;
  GraphJsonValues& values_;
  const ModelLimits& limits_;
  std::uint64_t value_count_ = 0;

  // The current node:
  NodeDecl decl_;
  JsonSubject subject_;
  JsonFieldOrder order_;
  std::size_t list_depth_ = 0;
  std::vector<Reference> inputs_, kwargs_;
  std::vector<std::string_view> module_parameters_;
  std::vector<std::pair<ValueDecl, std::uint32_t>> outputs_;  // with their positions
  GraphJsonAttributes attributes_;
  JsonKeys keys_;  // of the kwargs
  MeasuredCost cost_;
};

}  // namespace cleave
