// The steps of GraphBuilder::finish():
// 1. check that every value that is read is declared;
// 2. put the nodes in topological order;
// 3. assign ids: nodes, constants, body nodes; inputs, parameters, outputs of constants, outputs
//    of nodes, local values;
// 4. move the records to their places;
// 5. gather the users of each value.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/base/capped_list.h"
#include "core/base/quotes.h"
#include "core/base/spelling.h"
#include "core/graph/graph_builder.h"
#include "core/graph/graph_builder_state.h"

namespace cleave {
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
  std::fill(is_placed.begin(), is_placed.end(), std::uint8_t{0});
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
  if (std::find(defined.begin(), defined.end(), 0) == defined.end()) return;
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
    const auto found = std::find_if(
        parameters.begin(), parameters.end(),
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
    const auto edge = std::find_if(operands.begin(), operands.end(), [&](const Operand& operand) {
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
    return static_cast<std::uint32_t>(std::count(classes.begin(), classes.end(), cls));
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
  std::sort(graph.bodies.begin(), graph.bodies.end(),
            [](const auto& a, const auto& b) { return a.owner < b.owner; });
  if (std::is_sorted(by_id.begin(), by_id.end())) return;
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
  std::stable_sort(
      state.faults.begin(), state.faults.end(),
      [](const GraphFault& a, const GraphFault& b) { return a.where.offset < b.where.offset; });
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
