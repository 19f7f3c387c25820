#include "core/graph/graph_builder.h"

#include "core/base/quotes.h"
#include "core/graph/graph_builder_state.h"

namespace cleave {

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

void GraphBuilder::add_attribute(NameId name, std::span<const std::int64_t> integers,
                                 AttributeType type) {
  auto& pool = state_->graph.attribute_pools.integers;
  state_->graph.attributes.push_back({name, type, static_cast<std::uint32_t>(pool.size()),
                                      static_cast<std::uint32_t>(integers.size())});
  pool.insert(pool.end(), integers.begin(), integers.end());
}

void GraphBuilder::add_attribute(NameId name, std::span<const double> reals, AttributeType type) {
  auto& pool = state_->graph.attribute_pools.reals;
  state_->graph.attributes.push_back({name, type, static_cast<std::uint32_t>(pool.size()),
                                      static_cast<std::uint32_t>(reals.size())});
  pool.insert(pool.end(), reals.begin(), reals.end());
}

void GraphBuilder::add_attribute(NameId name, std::span<const std::string_view> strings,
                                 AttributeType type) {
  auto& pool = state_->graph.attribute_pools.strings;
  state_->graph.attributes.push_back({name, type, static_cast<std::uint32_t>(pool.size()),
                                      static_cast<std::uint32_t>(strings.size())});
  pool.insert(pool.end(), strings.begin(), strings.end());
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

}  // namespace cleave
