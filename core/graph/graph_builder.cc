// Builds a Graph: first the records that a reader adds, then the finished arrays.
#include "core/graph/graph_builder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/base/min_cut.h"
#include "core/base/words.h"

namespace cleave {

// ---- graph builder state ----
//
// What a GraphBuilder holds until finish(): records in the order of adding, operands as handles.

// Faults that are reported at once. One mistake in a file often makes many: after the first ones are mended, the next
// run shows what is left.
inline constexpr std::size_t kMostFaults = 20;
inline constexpr std::uint32_t kNothing = NameTable::kAbsent;

enum class NodeClass : std::uint8_t { node, constant, body };

struct GraphBuilder::State {
  GraphRecords graph;  // nodes, values, CSRs hold handles until finish()
  NameTable value_table, node_table;
  std::vector<std::uint8_t> defined;        // by value handle
  std::vector<NodeClass> classes;           // by node handle
  std::vector<NodeHandle> owners;           // of the body nodes, in order of adding
  std::vector<std::uint32_t> first_output;  // by node handle, into `made`; one more at the end
  std::vector<std::uint32_t> made;          // value handles that nodes make
  std::vector<std::pair<std::uint32_t, SourceSpan>> inputs, parameters;
  std::vector<SourceSpan> output_spans;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> aliases;
  std::unordered_multimap<std::size_t, ShapeId> shapes;  // by hash of the dims
  std::vector<GraphFault> faults;
  std::vector<NodeId> node_ids;
  std::vector<ValueId> value_ids;
  bool was_sorted = true;
  bool are_names_unique = false;  // and in no table

  std::string_view value_name(std::uint32_t handle) const { return graph.values[handle].name; }
  std::string_view node_name(std::uint32_t handle) const { return graph.nodes[handle].name; }
  std::uint32_t producer(std::uint32_t value) const { return index(graph.values[value].producer); }
  std::uint32_t node_total() const { return static_cast<std::uint32_t>(graph.nodes.size()); }

  void fault(GraphFault::Kind kind, std::string message, SourceSpan where, std::string_view name) {
    if (faults.size() < kMostFaults) {
      faults.push_back({kind, std::move(message), {}, where, std::string(name), {}});
    }
  }
  // Records a fault about a name that was used before, at `first`.
  void duplicate(GraphFault::Kind kind, std::string message, SourceSpan where,
                 std::string_view name, SourceSpan first) {
    const std::size_t count = faults.size();
    fault(kind, std::move(message), where, name);
    if (faults.size() > count) faults.back().first = first;
  }
  SourceSpan where_declared(std::uint32_t value) const;
  // `text` must live as long as the graph.
  NameId intern(std::string_view text);
  std::uint32_t new_value(std::string_view name);
  std::uint32_t find_value(std::string_view name);
  ValueHandle define(const ValueDecl& decl, ValueKind kind, SourceSpan where);
  void describe(std::uint32_t handle, const ValueDecl& decl, ValueKind kind);
  InternedNode interned(const NodeDecl& decl);
  NodeHandle start_node(const InternedNode& decl, NodeClass cls);
  void close_rows();

  void check_values_are_made();
  bool is_sorted() const;
  std::vector<std::uint32_t> sorted_nodes();
  Adjacency waits_for() const;
  void report_cycle(const std::vector<std::uint32_t>& cycle);
  void number_nodes(const std::vector<std::uint32_t>& order);
  void number_values(const std::vector<std::uint32_t>& order);
  void move_nodes(const std::vector<std::uint32_t>& order);
  void move_values();
  void resolve_aliases();
  void gather_users();
};

// ---- graph builder ----

NameId GraphBuilder::State::intern(std::string_view text) {
  auto& names = graph.names;
  if (text.empty() && !names.empty()) return NameId{0};
  const auto fresh = static_cast<std::uint32_t>(names.size());
  const auto name_of = [&](std::uint32_t i) { return names[i]; };
  const std::uint32_t found = graph.name_table.find_or_insert(text, fresh, name_of);
  if (found != kNothing) return NameId{found};
  names.push_back(text);
  return NameId{fresh};
}

std::uint32_t GraphBuilder::State::new_value(std::string_view name) {
  graph.values.push_back({.name = name});
  defined.push_back(0);
  return static_cast<std::uint32_t>(graph.values.size() - 1);
}

std::uint32_t GraphBuilder::State::find_value(std::string_view name) {
  const auto fresh = static_cast<std::uint32_t>(graph.values.size());
  const auto name_of = [this](std::uint32_t handle) { return value_name(handle); };
  const std::uint32_t found = value_table.find_or_insert(name, fresh, name_of);
  return found != kNothing ? found : new_value(name);
}

void GraphBuilder::State::describe(std::uint32_t handle, const ValueDecl& decl, ValueKind kind) {
  Value& value = graph.values[handle];
  value.name = decl.name;
  value.shape = decl.shape;
  value.dtype = decl.dtype;
  value.type = decl.type;
  value.kind = kind;
  value.holds_tensor = decl.holds_tensor || decl.type == ValueType::tensor;
  defined[handle] = 1;
}

SourceSpan GraphBuilder::State::where_declared(std::uint32_t value) const {
  if (producer(value) != kNothing) return graph.nodes[producer(value)].source;
  for (const auto* declared : {&inputs, &parameters}) {
    for (const auto& [handle, where] : *declared) {
      if (handle == value) return where;
    }
  }
  return {};
}

ValueHandle GraphBuilder::State::define(const ValueDecl& decl, ValueKind kind, SourceSpan where) {
  std::uint32_t handle = are_names_unique ? new_value(decl.name) : find_value(decl.name);
  if (decl.name.empty()) {
    fault(GraphFault::Kind::empty_name, "a value has an empty name", where, {});
  } else if (defined[handle] != 0) {
    duplicate(GraphFault::Kind::duplicate_value,
              "value " + in_quotes(decl.name) + " is made twice: names of values must be unique",
              where, decl.name, where_declared(handle));
    handle = new_value(decl.name);  // keeps the rest in order; the graph is refused anyway
  }
  describe(handle, decl, kind);
  return ValueHandle{handle};
}

InternedNode GraphBuilder::State::interned(const NodeDecl& decl) {
  return {.name = decl.name,
          .op = intern(decl.op),
          .domain = intern(decl.domain),
          .scope = intern(decl.scope),
          .target = intern(decl.target),
          .kind = decl.kind,
          .source = decl.source};
}

NodeHandle GraphBuilder::State::start_node(const InternedNode& decl, NodeClass cls) {
  const std::uint32_t handle = node_total();
  close_rows();
  graph.nodes.push_back({.name = decl.name,
                         .source = decl.source,
                         .op = decl.op,
                         .domain = decl.domain,
                         .scope = decl.scope,
                         .target = decl.target,
                         .kind = decl.kind});
  classes.push_back(cls);
  if (cls == NodeClass::body) return NodeHandle{handle};  // their names may repeat
  if (decl.name.empty()) {
    fault(GraphFault::Kind::empty_name, "a node has an empty name", decl.source, {});
    return NodeHandle{handle};
  }
  if (are_names_unique) return NodeHandle{handle};
  const auto name_of = [this](std::uint32_t at) { return node_name(at); };
  const std::uint32_t first = node_table.find_or_insert(decl.name, handle, name_of);
  if (first != kNothing) {
    duplicate(GraphFault::Kind::duplicate_node,
              "two nodes are called " + in_quotes(decl.name) + ": names of nodes must be unique",
              decl.source, decl.name, graph.nodes[first].source);
  }
  return NodeHandle{handle};
}

// Ends the rows of the node before and begins those of the next node.
void GraphBuilder::State::close_rows() {
  graph.operand_begin.push_back(static_cast<std::uint32_t>(graph.operands.size()));
  graph.attribute_begin.push_back(static_cast<std::uint32_t>(graph.attributes.size()));
  first_output.push_back(static_cast<std::uint32_t>(made.size()));
  if (!graph.module_parameter_begin.empty()) {
    graph.module_parameter_begin.push_back(
        static_cast<std::uint32_t>(graph.module_parameters.size()));
  }
}

GraphBuilder::GraphBuilder() : state_(new State) { state_->intern(""); }  // NameId 0
GraphBuilder::~GraphBuilder() = default;
GraphBuilder::GraphBuilder(GraphBuilder&&) noexcept = default;
GraphBuilder& GraphBuilder::operator=(GraphBuilder&&) noexcept = default;

std::string_view GraphBuilder::keep(std::string_view text) {
  return state_->graph.arena.keep(text);
}

NameId GraphBuilder::intern(std::string_view text) {
  const NameId known = state_->graph.find_name(text);
  return known != kNone<NameId> ? known : state_->intern(keep(text));
}

ShapeId GraphBuilder::intern_shape(Shape dims) {
  GraphRecords& graph = state_->graph;
  if (graph.shape_begin.empty()) graph.shape_begin.push_back(0);
  std::size_t hash = dims.size();
  for (const Dim dim : dims) {
    const std::int64_t code = dim.is_fixed()    ? dim.size()
                              : dim.is_symbol() ? -2 - std::int64_t{index(dim.name())}
                                                : -1;
    hash = (hash ^ static_cast<std::size_t>(code)) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29U;
  }
  const auto [first, last] = state_->shapes.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const std::uint32_t begin = graph.shape_begin[index(at->second)];
    const std::uint32_t end = graph.shape_begin[index(at->second) + 1];
    const auto known = std::span(graph.dims).subspan(begin, end - begin);
    if (std::equal(known.begin(), known.end(), dims.begin(), dims.end())) return at->second;
  }
  const auto id = id_at<ShapeId>(graph.shape_begin.size() - 1);
  graph.dims.insert(graph.dims.end(), dims.begin(), dims.end());
  graph.shape_begin.push_back(static_cast<std::uint32_t>(graph.dims.size()));
  state_->shapes.emplace(hash, id);
  return id;
}

void GraphBuilder::expect_times(double times) {
  const auto grown = [times](std::size_t count) {
    return static_cast<std::size_t>(static_cast<double>(count) * times);
  };
  const auto make_room = [&](auto&... lists) { (lists.reserve(grown(lists.size())), ...); };
  State& state = *state_;
  GraphRecords& graph = state.graph;
  make_room(graph.nodes, graph.values, graph.operand_begin, graph.operands, graph.attribute_begin,
            graph.attributes, graph.module_parameter_begin, graph.module_parameters,
            graph.attribute_pools.integers, graph.attribute_pools.reals,
            graph.attribute_pools.strings, graph.measured, state.defined, state.classes,
            state.first_output, state.made);
}

void GraphBuilder::set_names_unique() { state_->are_names_unique = true; }

void GraphBuilder::set_name(std::string_view name) { state_->graph.name = name; }

void GraphBuilder::add_opset(std::string_view domain, std::int64_t version) {
  state_->graph.opsets.push_back({domain, version});
}

ValueHandle GraphBuilder::value_named(std::string_view name) {
  return ValueHandle{state_->find_value(name)};
}

void GraphBuilder::expect_value(std::string_view name) const { state_->value_table.fetch(name); }

void GraphBuilder::expect_node(std::string_view name) const { state_->node_table.fetch(name); }

ValueHandle GraphBuilder::add_local_value(const ValueDecl& decl) {
  const std::uint32_t handle = state_->new_value(decl.name);
  state_->describe(handle, decl, ValueKind::body_local);
  return ValueHandle{handle};
}

ValueHandle GraphBuilder::add_input(const ValueDecl& decl, SourceSpan where) {
  const ValueHandle handle = state_->define(decl, ValueKind::input, where);
  state_->inputs.emplace_back(static_cast<std::uint32_t>(handle), where);
  return handle;
}

ValueHandle GraphBuilder::add_parameter(const ValueDecl& decl, SourceSpan where) {
  const ValueHandle handle = state_->define(decl, ValueKind::parameter, where);
  state_->parameters.emplace_back(static_cast<std::uint32_t>(handle), where);
  return handle;
}

void GraphBuilder::set_alias(ValueHandle parameter, ValueHandle canonical) {
  state_->aliases.emplace_back(static_cast<std::uint32_t>(parameter),
                               static_cast<std::uint32_t>(canonical));
}

void GraphBuilder::add_graph_output(ValueHandle value, SourceSpan where) {
  state_->graph.outputs.push_back(id_at<ValueId>(static_cast<std::uint32_t>(value)));
  state_->output_spans.push_back(where);
}

NodeHandle GraphBuilder::add_node(const NodeDecl& decl) { return add_node(state_->interned(decl)); }

NodeHandle GraphBuilder::add_node(const InternedNode& node) {
  return state_->start_node(node, NodeClass::node);
}

NodeHandle GraphBuilder::add_constant(const NodeDecl& decl) {
  return add_constant(state_->interned(decl));
}

NodeHandle GraphBuilder::add_constant(const InternedNode& node) {
  return state_->start_node(node, NodeClass::constant);
}

NodeHandle GraphBuilder::add_body_node(const NodeDecl& decl, NodeHandle owner) {
  return add_body_node(state_->interned(decl), owner);
}

NodeHandle GraphBuilder::add_body_node(const InternedNode& node, NodeHandle owner) {
  state_->owners.push_back(owner);
  return state_->start_node(node, NodeClass::body);
}

void GraphBuilder::add_operand(ValueHandle value, OperandSlot slot) {
  state_->graph.operands.push_back({id_at<ValueId>(static_cast<std::uint32_t>(value)), slot});
}

ValueHandle GraphBuilder::add_output(const ValueDecl& decl, std::uint32_t slot) {
  const SourceSpan where = state_->graph.nodes.back().source;
  const bool constant = state_->classes.back() == NodeClass::constant;
  const ValueHandle handle =
      state_->define(decl, constant ? ValueKind::parameter : ValueKind::node_output, where);
  Value& value = state_->graph.values[static_cast<std::uint32_t>(handle)];
  value.producer = id_at<NodeId>(state_->graph.nodes.size() - 1);
  value.slot = slot;
  state_->made.push_back(static_cast<std::uint32_t>(handle));
  return handle;
}

void GraphBuilder::add_body_output(ValueHandle local) {
  const auto handle = static_cast<std::uint32_t>(local);
  state_->graph.values[handle].producer = id_at<NodeId>(state_->graph.nodes.size() - 1);
  state_->made.push_back(handle);
}

void GraphBuilder::add_module_parameter(ValueHandle parameter) {
  GraphRecords& graph = state_->graph;
  if (graph.module_parameter_begin.empty()) {
    graph.module_parameter_begin.assign(graph.nodes.size(), 0);
  }
  graph.module_parameters.push_back(id_at<ValueId>(static_cast<std::uint32_t>(parameter)));
}

namespace {

template <class Item, class Pooled>
void add_pooled(std::vector<Attribute>& attributes, NameId name, AttributeType type,
                std::span<const Item> items, std::vector<Pooled>& pool) {
  attributes.push_back({name, type, static_cast<std::uint32_t>(pool.size()),
                        static_cast<std::uint32_t>(items.size())});
  pool.insert(pool.end(), items.begin(), items.end());
}

}  // namespace

void GraphBuilder::add_attribute(NameId name, std::span<const std::int64_t> integers,
                                 AttributeType type) {
  GraphRecords& graph = state_->graph;
  add_pooled(graph.attributes, name, type, integers, graph.attribute_pools.integers);
}

void GraphBuilder::add_attribute(NameId name, std::span<const double> reals, AttributeType type) {
  GraphRecords& graph = state_->graph;
  add_pooled(graph.attributes, name, type, reals, graph.attribute_pools.reals);
}

void GraphBuilder::add_attribute(NameId name, std::span<const std::string_view> strings,
                                 AttributeType type) {
  GraphRecords& graph = state_->graph;
  add_pooled(graph.attributes, name, type, strings, graph.attribute_pools.strings);
}

void GraphBuilder::add_opaque_attribute(NameId name) {
  state_->graph.attributes.push_back({name, AttributeType::opaque, 0, 0});
}

void GraphBuilder::add_attributes_of(NodeHandle earlier) {
  GraphRecords& graph = state_->graph;
  const auto node = static_cast<std::uint32_t>(earlier);
  for (std::uint32_t i = graph.attribute_begin[node]; i < graph.attribute_begin[node + 1]; ++i) {
    const Attribute attribute = graph.attributes[i];
    graph.attributes.push_back(attribute);
  }
}

void GraphBuilder::set_measured_cost(const MeasuredCost& cost) {
  GraphRecords& graph = state_->graph;
  graph.measured.resize(graph.nodes.size());
  graph.measured.back() = cost;
}

std::size_t GraphBuilder::node_count() const { return state_->graph.nodes.size(); }
bool GraphBuilder::was_sorted() const { return state_->was_sorted; }
std::span<const NodeId> GraphBuilder::node_ids() const { return state_->node_ids; }
std::span<const ValueId> GraphBuilder::value_ids() const { return state_->value_ids; }

// ---- graph finish ----
//
// The steps of GraphBuilder::finish():
// 1. check that every value that is read is declared;
// 2. put the nodes in topological order;
// 3. assign ids: nodes, constants, body nodes; inputs, parameters, outputs of constants, outputs
//    of nodes, local values;
// 4. move the records to their places;
// 5. gather the users of each value.

namespace {

// Puts the rows of `items` in the order of `order`; `begin` becomes the new CSR index.
template <class T>
void permute_rows(std::vector<T>& items, std::vector<std::uint32_t>& begin,
                  std::span<const std::uint32_t> order) {
  std::vector<T> new_items;
  new_items.reserve(items.size());
  std::vector<std::uint32_t> new_begin;
  new_begin.reserve(begin.size());
  for (const std::uint32_t old : order) {
    new_begin.push_back(static_cast<std::uint32_t>(new_items.size()));
    new_items.insert(new_items.end(), items.begin() + begin[old], items.begin() + begin[old + 1]);
  }
  new_begin.push_back(static_cast<std::uint32_t>(new_items.size()));
  items = std::move(new_items);
  begin = std::move(new_begin);
}

// Moves item i to place ids[i], cycle by cycle of the permutation: nearly every item stays where it
// is, and a copy of all would be the largest thing in memory. `is_placed` has as many entries as
// there are items, with any content.
template <class T, class Id>
void move_to_places(std::vector<T>& items, std::span<const Id> ids,
                    std::span<std::uint8_t> is_placed) {
  std::ranges::fill(is_placed, std::uint8_t{0});
  for (std::size_t first = 0; first < ids.size(); ++first) {
    if (is_placed[first] != 0 || index(ids[first]) == first) continue;
    T moving = items[first];
    std::size_t from = first;
    do {
      is_placed[from] = 1;
      from = index(ids[from]);
      std::swap(moving, items[from]);
    } while (is_placed[from] == 0);
  }
}

}  // namespace

// (1) Every value that an operand, a module or the graph's outputs name must be declared.
void GraphBuilder::State::check_values_are_made() {
  std::size_t suggestions = 3;  // each one searches all names
  const auto check = [&](ValueId id, SourceSpan where, const std::string& reader) {
    const std::uint32_t handle = index(id);
    if (defined[handle] != 0 || faults.size() >= kMostFaults) return;
    const std::string_view name = value_name(handle);
    fault(GraphFault::Kind::unknown_value,
          reader + " reads " + in_quotes(name) + ", which nothing produces", where, name);
    if (suggestions == 0) return;
    --suggestions;
    NearestName nearest(name);
    for (std::size_t i = 0; i < defined.size(); ++i) {
      if (defined[i] != 0) nearest.offer(graph.values[i].name);
    }
    if (nearest.best().empty()) return;
    faults.back().notes.push_back("did you mean " + in_quotes(nearest.best()) + "?");
  };
  if (!contains(defined, 0)) return;
  for (std::uint32_t n = 0; n < node_total(); ++n) {
    const Node& node = graph.nodes[n];
    const auto reader = [&] { return "node " + in_quotes(node.name); };
    for (const Operand& operand : graph.operands_of(n)) {
      if (defined[index(operand.value)] == 0) check(operand.value, node.source, reader());
    }
    for (const ValueId parameter : graph.module_parameters_of(n)) {
      if (defined[index(parameter)] == 0) check(parameter, node.source, reader());
    }
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    check(graph.outputs[i], output_spans[i], "the graph's output");
  }
  for (const auto& [parameter, canonical] : aliases) {
    if (defined[canonical] != 0) continue;
    const auto found = std::ranges::find_if(
        parameters,
        [&, parameter = parameter](const auto& other) { return other.first == parameter; });
    const SourceSpan where = found == parameters.end() ? SourceSpan{} : found->second;
    check(ValueId{canonical}, where, "parameter " + in_quotes(value_name(parameter)));
  }
}

// True when every node comes after what it reads.
bool GraphBuilder::State::is_sorted() const {
  for (std::uint32_t n = 0; n < node_total(); ++n) {
    if (classes[n] == NodeClass::body) continue;
    for (const Operand& operand : graph.operands_of(n)) {
      const std::uint32_t maker = producer(index(operand.value));
      if (maker != kNothing && maker >= n) return false;
    }
  }
  return true;
}

// (2) All nodes in topological order, body nodes anywhere among them.
std::vector<std::uint32_t> GraphBuilder::State::sorted_nodes() {
  was_sorted = is_sorted();
  if (was_sorted) {
    std::vector<std::uint32_t> order(graph.nodes.size());
    std::iota(order.begin(), order.end(), 0U);
    return order;
  }
  TopologicalOrder sorted = topological_order(waits_for());
  if (!sorted.cycle.empty()) report_cycle(sorted.cycle);
  // Body nodes wait for no node here: their values are local. They keep the order of adding.
  std::stable_partition(sorted.order.begin(), sorted.order.end(),
                        [&](std::uint32_t n) { return classes[n] != NodeClass::body; });
  return std::move(sorted.order);
}

Adjacency GraphBuilder::State::waits_for() const {
  Adjacency result;
  for (std::uint32_t n = 0; n < node_total(); ++n) {
    if (classes[n] != NodeClass::body) {
      for (const Operand& operand : graph.operands_of(n)) {
        const std::uint32_t maker = producer(index(operand.value));
        if (maker != kNothing) result.add(maker);
      }
    }
    result.end_list();
  }
  return result;
}

void GraphBuilder::State::report_cycle(const std::vector<std::uint32_t>& cycle) {
  // Eight names are a few lines of a terminal, and enough to find the cycle in the model.
  constexpr std::size_t kShown = 8;
  std::string text = "the nodes form a cycle: ";
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) {
    text += in_quotes(node_name(cycle[i])) + " -> ";
  }
  if (cycle.size() > kShown) text += "... -> ";
  text += in_quotes(node_name(cycle.front()));
  fault(GraphFault::Kind::cycle, std::move(text), graph.nodes[cycle.front()].source, {});

  CappedList edges(100);
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    if (!edges.shows_next()) continue;
    const std::uint32_t reader = cycle[(i + 1) % cycle.size()];
    const auto operands = graph.operands_of(reader);
    const auto edge = std::ranges::find_if(operands, [&](const Operand& operand) {
      return producer(index(operand.value)) == cycle[i];
    });
    faults.back().notes.push_back(in_quotes(node_name(cycle[i])) + " makes " +
                                  in_quotes(value_name(index(edge->value))) + ", which " +
                                  in_quotes(node_name(reader)) + " reads");
  }
  if (edges.left_out() > 0) {
    faults.back().notes.push_back(edges.rest("... # more edge", "... # more edges"));
  }
}

// (3) Node ids: class by class, each class in its order. `order` becomes the order of all nodes.
void GraphBuilder::State::number_nodes(const std::vector<std::uint32_t>& order) {
  node_ids.resize(graph.nodes.size());
  const auto count = [this](NodeClass cls) {
    return static_cast<std::uint32_t>(std::ranges::count(classes, cls));
  };
  graph.node_count = count(NodeClass::node);
  graph.constant_count = count(NodeClass::constant);
  const auto nodes = static_cast<std::uint32_t>(graph.node_count);
  std::array<std::uint32_t, 3> next = {
      0, nodes, nodes + static_cast<std::uint32_t>(graph.constant_count)};  // by class
  for (const std::uint32_t n : order) {
    node_ids[n] = NodeId{next[static_cast<std::size_t>(classes[n])]++};
  }
}

// Value ids: inputs, parameters, outputs of constants, outputs of nodes, outputs of body nodes,
// other local values.
void GraphBuilder::State::number_values(const std::vector<std::uint32_t>& order) {
  value_ids.assign(graph.values.size(), kNone<ValueId>);
  std::uint32_t next = 0;
  for (const auto& [handle, where] : inputs) value_ids[handle] = ValueId{next++};
  graph.input_count = next;
  for (const auto& [handle, where] : parameters) value_ids[handle] = ValueId{next++};
  std::array<std::uint32_t, 3> made_by = {};  // how many values the nodes of each class make
  for (std::uint32_t n = 0; n < node_total(); ++n) {
    made_by[static_cast<std::size_t>(classes[n])] += first_output[n + 1] - first_output[n];
  }
  const std::uint32_t of_nodes = next + made_by[static_cast<std::size_t>(NodeClass::constant)];
  const std::uint32_t of_bodies = of_nodes + made_by[static_cast<std::size_t>(NodeClass::node)];
  graph.first_node_output = of_nodes;
  std::array<std::uint32_t, 3> next_of = {of_nodes, next, of_bodies};  // by class
  std::vector<std::uint32_t> begin(graph.nodes.size()), end(graph.nodes.size());
  for (const std::uint32_t n : order) {
    const std::uint32_t id = index(node_ids[n]);
    std::uint32_t& its_next = next_of[static_cast<std::size_t>(classes[n])];
    begin[id] = its_next;
    for (std::uint32_t i = first_output[n]; i < first_output[n + 1]; ++i) {
      value_ids[made[i]] = ValueId{its_next++};
    }
    end[id] = its_next;
  }
  next = of_bodies + made_by[static_cast<std::size_t>(NodeClass::body)];
  for (std::size_t v = 0; v < value_ids.size(); ++v) {
    if (value_ids[v] == kNone<ValueId>) value_ids[v] = ValueId{next++};
  }
  graph.output_begin = std::move(begin);
  graph.output_end = std::move(end);
}

// (4) Moves the records to their places.
void GraphBuilder::State::move_nodes(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> by_id(graph.nodes.size());
  for (const std::uint32_t n : order) by_id[index(node_ids[n])] = n;
  std::uint32_t owner_at = 0;
  for (std::uint32_t n = 0; n < node_total(); ++n) {
    if (classes[n] != NodeClass::body) continue;
    const NodeId owner = node_ids[static_cast<std::uint32_t>(owners[owner_at++])];
    const std::uint32_t id = index(node_ids[n]);
    if (graph.bodies.empty() || graph.bodies.back().owner != owner) {
      graph.bodies.push_back({owner, id, id});
    }
    graph.bodies.back().last = id + 1;
  }
  std::ranges::sort(graph.bodies, [](const auto& a, const auto& b) { return a.owner < b.owner; });
  if (std::ranges::is_sorted(by_id)) return;
  std::vector<std::uint8_t> is_placed(graph.nodes.size());
  move_to_places<Node, NodeId>(graph.nodes, node_ids, is_placed);
  permute_rows(graph.operands, graph.operand_begin, by_id);
  permute_rows(graph.attributes, graph.attribute_begin, by_id);
  if (!graph.module_parameter_begin.empty()) {
    permute_rows(graph.module_parameters, graph.module_parameter_begin, by_id);
  }
  if (!graph.measured.empty()) {
    move_to_places<MeasuredCost, NodeId>(graph.measured, node_ids, is_placed);
  }
}

void GraphBuilder::State::move_values() {
  for (Value& value : graph.values) {
    if (value.producer != kNone<NodeId>) value.producer = node_ids[index(value.producer)];
  }
  move_to_places<Value, ValueId>(graph.values, value_ids, defined);
  const auto id_of = [this](ValueId handle) { return value_ids[index(handle)]; };
  for (Operand& operand : graph.operands) operand.value = id_of(operand.value);
  for (ValueId& parameter : graph.module_parameters) parameter = id_of(parameter);
  graph.is_output.assign(graph.values.size(), 0);
  for (ValueId& output : graph.outputs) {
    output = id_of(output);
    graph.is_output[index(output)] = 1;
  }
  for (const auto& [handle, where] : inputs) graph.declarations.push_back(where);
  for (const auto& [handle, where] : parameters) graph.declarations.push_back(where);
  for (const auto& [parameter, canonical] : aliases) {
    graph.alias[index(value_ids[parameter])] = value_ids[canonical];
  }
  resolve_aliases();
}

// A chain of aliases ends at one parameter: the first on the chain that is not an alias, or that
// was met before. Each link is followed once.
void GraphBuilder::State::resolve_aliases() {
  std::unordered_map<std::uint32_t, ValueId> resolved;
  std::vector<std::uint32_t> chain;
  for (const auto& [parameter, where] : parameters) {
    std::uint32_t at = index(value_ids[parameter]);
    chain.clear();
    while (graph.alias.contains(at) && !resolved.contains(at)) {
      resolved[at] = kNone<ValueId>;  // on the chain: stops at a cycle of aliases
      chain.push_back(at);
      at = index(graph.alias[at]);
    }
    const auto known = resolved.find(at);
    const bool settled = known != resolved.end() && known->second != kNone<ValueId>;
    const ValueId end = settled ? known->second : ValueId{at};
    for (const std::uint32_t link : chain) resolved[link] = end;
  }
  graph.alias = std::move(resolved);
}

// (5) Gathers the users of each value, each node once, in model order.
void GraphBuilder::State::gather_users() {
  std::vector<std::uint32_t> begin(graph.values.size() + 1, 0);
  {
    std::vector<std::uint32_t> last(graph.values.size(), kNothing);
    for (std::uint32_t n = 0; n < graph.node_count; ++n) {
      for (const Operand& operand : graph.operands_of(n)) {
        std::uint32_t& reader = last[index(operand.value)];
        if (reader != n) ++begin[index(operand.value) + 1];
        reader = n;
      }
    }
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  graph.users.resize(begin.back());
  std::vector<std::uint32_t> fill(begin.begin(), begin.end() - 1);
  for (std::uint32_t n = 0; n < graph.node_count; ++n) {
    for (const Operand& operand : graph.operands_of(n)) {
      std::uint32_t& end = fill[index(operand.value)];
      const bool is_there = end > begin[index(operand.value)] && graph.users[end - 1] == NodeId{n};
      if (!is_there) graph.users[end++] = NodeId{n};
    }
  }
  graph.user_begin = std::move(begin);
}

Result<Graph, std::vector<GraphFault>> GraphBuilder::finish() {
  State& state = *state_;
  GraphRecords& graph = state.graph;
  state.close_rows();
  if (!graph.measured.empty()) graph.measured.resize(graph.nodes.size());
  state.check_values_are_made();
  std::ranges::stable_sort(state.faults, [](const GraphFault& a, const GraphFault& b) {
    return a.where.offset < b.where.offset;
  });
  if (!state.faults.empty()) return std::move(state.faults);
  const std::vector<std::uint32_t> order = state.sorted_nodes();
  if (!state.faults.empty()) return std::move(state.faults);
  state.value_table = {};
  state.node_table = {};
  state.number_nodes(order);
  state.number_values(order);
  state.move_nodes(order);
  state.move_values();
  state.gather_users();
  if (graph.shape_begin.empty()) graph.shape_begin.push_back(0);
  return Graph(std::move(graph));
}

}  // namespace cleave
