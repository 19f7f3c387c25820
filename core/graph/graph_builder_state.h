// What a GraphBuilder holds until finish(): records in the order of adding, operands as handles.
// Shared by graph_builder.cc (adding) and graph_finish.cc (checking, sorting, numbering).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/adjacency.h"
#include "core/base/name_table.h"
#include "core/graph/graph_builder.h"
#include "core/graph/graph_records.h"

namespace cleave {

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

}  // namespace cleave
