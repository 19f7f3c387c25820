// GraphRecords: what a GraphBuilder fills and a Graph reads. Only these two use it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/name_table.h"
#include "core/base/string_arena.h"
#include "core/graph/graph.h"

namespace cleave {

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

}  // namespace cleave
