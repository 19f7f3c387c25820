// The side effects of a program's operators: they write their arguments (`relu_`, `index_copy_`,
// batch norm in training), and results share memory with arguments (`view`).
//
// Values that may share memory are a *memory class*. A class that is never written needs no care.
// In a written class every write makes a new name: after y = relu_(x) a reader of x reads y, which
// is exact. That fails only where a view is written and the tensor that it views is read later, or
// the other way round: then the nodes that use the memory must stay in one partition, up to the last
// write. Programs after run_decompositions() write no memory.
//
// What a user's own operator does is not in the file, nor is what an operator of torch does that the
// table lacks. Unless it is known, it is taken to write every tensor that it reads, so that it stays in
// order with all that use these; torch lets no user's operator return memory of its arguments. Operators that draw random numbers stay in order, too:
// each changes what the next one draws. The nodes of a vmap region stay together, since values
// within have a dimension that no partition's inputs can have.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/attribute.h"
#include "formats/models/pt2/program.h"
#include "formats/models/pt2/shared_memory.h"

namespace cleave {

// Torch's own operators, from a table made from torch's schemas: names and defaults of arguments,
// which arguments they write, and which ones their results share memory with. Of operators that a user
// registered only those that are stated (op_schemas.h) are included.
struct TorchArgument {
  std::string_view name;
  std::string_view alias;         // the set of values that share memory; "": none
  std::string_view default_text;  // as in the table; "": none
  bool is_written = false;
  bool may_be_result = false;  // results may share memory with it, although its schema has no set
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

// Two nodes that must run in this order.
struct Pt2Order {
  std::uint32_t before, after;
  std::uint32_t value = kNoPt2;  // whose memory both use; kNoPt2: both draw random numbers
};

// Nodes that must be in one partition, in order.
struct Pt2Whole {
  std::vector<std::uint32_t> nodes;
  bool is_vmap = false;  // false: they view memory that some of them write
};

// A value that a node writes without giving it another name, and that later nodes read.
struct Pt2Rewrite {
  std::uint32_t node, value;
};

// The target of the operator that computes the same as an operator on one tensor that writes it, in
// memory of its own: "torch.ops.aten.relu.default" of "torch.ops.aten.relu_.default". "" if there is
// none with the same arguments.
std::string functional_twin(std::string_view target);

// By node. Linear.
std::vector<Pt2NodeEffects> find_node_effects(const Pt2Program& program);

// Whether the node draws random numbers, itself or in a body: not when it is in evaluation, or drops
// nothing out.
bool draws_random_numbers(const Pt2Program& program, const Pt2Node& node);

// Whether nothing states the effects of the operator.
bool has_unknown_effects(std::string_view target);

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
  std::vector<bool> is_renamed;       // by node: some ref of it is renamed
  std::vector<std::uint32_t> newest;  // by value: after all nodes
  std::vector<Pt2Order> order;        // ascending: each node before a later one
  std::vector<Pt2Whole> whole;
  std::vector<Pt2Rewrite> rewrites;               // in model order
  std::vector<Pt2WrittenInput> written_inputs;    // in order of the inputs
  std::vector<std::uint32_t> unknown;             // nodes with operators of unknown effects
  std::vector<std::string_view> unknown_targets;  // of these and of nodes in bodies, each once
};

// `overlaps` are inputs that share memory (shared_memory.h): with it each node that uses one of them when another is written,
// by an operator or at the end of the program, is in one partition. Linear in nodes and refs, near enough.
Pt2Effects find_effects(const Pt2Program& program, std::span<const Pt2Overlap> overlaps = {});

}  // namespace cleave
