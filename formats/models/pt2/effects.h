// The side effects of a program's operators: they write their arguments (`relu_`, `index_copy_`,
// batch norm in training), and results share memory with arguments (`view`).
//
// Values that may share memory are a *memory class*. A class that is never written needs no care.
// In a written class every write makes a new name: after y = relu_(x) a reader of x reads y, which
// is exact. That fails only where a view is written and the tensor that it views is read later, or
// the other way round: then the nodes that use the memory must stay in one partition, up to the last
// write. Programs after run_decompositions() write no memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/attribute.h"
#include "formats/models/pt2/program.h"

namespace cleave {

// Torch's own operators, from a table made from torch's schemas: names and defaults of arguments,
// which arguments they write, and which ones their results share memory with. Operators that a user
// registered are not included.
struct TorchArgument {
  std::string_view name;
  std::string_view alias;         // the set of values that share memory; "": none
  std::string_view default_text;  // as in the table; "": none
  bool is_written = false;
};

struct TorchOperator {
  std::vector<TorchArgument> arguments;
  std::vector<std::string_view> results;  // the alias set of each; "": memory of its own
  bool is_random = false;

  const TorchArgument* find(std::string_view argument) const;
};

// The operator of a target, "torch.ops.aten.add.Tensor". O(log n).
std::optional<TorchOperator> find_torch_operator(std::string_view target);

// The default of an argument in the form that rules compare: numbers, texts, lists; true and false
// are 1 and 0. nullopt if there is none, or it is None.
std::optional<AttributeValue> torch_default(std::string_view target, std::string_view argument);

// What each operator of a program does to memory: which of its arguments it writes in place, and
// which results share memory with an argument. From the operators' schemas, and from what these do
// not state.

// Two values that share memory.
struct Pt2Share {
  std::uint32_t from, to;  // an argument and a result
  bool is_same;            // the result is the argument itself, after the write
};

struct Pt2NodeEffects {
  std::vector<std::uint32_t> writes;  // values
  std::vector<Pt2Share> shares;
};

// By node. Linear.
std::vector<Pt2NodeEffects> find_node_effects(const Pt2Program& program);

// A graph input that operators write in place.
struct Pt2WrittenInput {
  std::uint32_t value = 0;
  std::uint32_t newest = 0;          // the value with its final contents
  std::uint32_t last_writer = 0;     // node
  std::vector<std::uint32_t> nodes;  // that use its memory, in order
};

struct Pt2Effects {
  // By number of the ref: the value to read, which differs from the name in the text if an operator
  // has written it in between.
  std::vector<std::uint32_t> read_as;
  std::vector<bool> is_renamed;                                // by node: some ref of it is renamed
  std::vector<std::uint32_t> newest;                           // by value: after all nodes
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // nodes: first before second
  std::vector<std::vector<std::uint32_t>> whole;  // nodes that must be in one partition, in order
  std::vector<Pt2WrittenInput> written_inputs;    // in order of the inputs
};

// Linear in nodes and refs, near enough.
Pt2Effects find_effects(const Pt2Program& program);

}  // namespace cleave
