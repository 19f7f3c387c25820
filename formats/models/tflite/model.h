// A TensorFlow Lite model as read: views of the file's tables, with what the reader and the writer
// ask for often. Numbers of tensors count within their subgraph.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/string_arena.h"
#include "core/graph/graph.h"
#include "formats/models/tflite/flat_table.h"

namespace cleave {

inline constexpr std::uint32_t kNoTflite = 0xffffffff;

struct TfliteTensor {
  std::string_view name;  // as in the file; in the model's subgraph unique and not empty
  FlatTable table;
  FlatInts shape;
  std::uint32_t buffer = 0;
  std::uint32_t maker = kNoTflite;  // the operator of the subgraph that makes it
  std::uint8_t type = 0;            // TensorType
  std::uint32_t external = 0;       // in TfliteModel.external; 0: its data is in its buffer
  bool is_variable = false;
  bool has_data = false;  // in its buffer or another file, or it has no elements
  bool is_input = false;  // of its subgraph
  // Its shape where options set open dims of it, with -1 for those that stay open; else empty.
  std::vector<std::int32_t> bound = {};
};

struct TfliteOperator {
  std::uint32_t code = 0;  // in TfliteModel.codes
  FlatInts inputs, outputs;
  FlatTable table;
  FlatTable options;  // absent when the file stores none
};

struct TfliteSubgraph {
  FlatTable table;
  std::vector<TfliteTensor> tensors;
  std::vector<TfliteOperator> operators;
  FlatInts inputs, outputs;
};

struct TfliteCode {
  std::string_view name;      // "CONV_2D", or the custom code
  std::uint32_t builtin = 0;  // number of the builtin operator
  std::int64_t version = 1;
  bool is_custom = false;
};

// Bytes of weights: a range of a file, [offset, offset + size).
struct TfliteBytes {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t source = 0;  // 0: the model's file; else 1 + the number in TfliteModel.weight_files
};

// Weights in another file. Those of a packing are in a form of their own, which is not known here.
struct TfliteExternal {
  TfliteBytes bytes;
  std::string_view packing;
};

// A resource variable of the model's subgraph: a value that the model keeps from call to call.
// Operators and tensors are those of that subgraph.
struct TfliteVariable {
  std::string_view container, shared_name;
  std::string_view name;                  // in reports: of the tensor that reads it
  std::uint32_t handle = kNoTflite;       // the operator that makes its handle
  std::uint32_t read = kNoTflite;         // the operator that reads it first
  std::uint32_t assign = kNoTflite;       // the operator that writes it last
  std::uint32_t value = kNoTflite;        // the tensor that `read` makes
  std::uint32_t newest = kNoTflite;       // the tensor that `assign` writes
  std::uint32_t init_call = kNoTflite;    // the CALL_ONCE that sets it up
  std::uint32_t init_assign = kNoTflite;  // the operator of that call's subgraph
};

// What the model keeps. If a body of an operator uses a variable, or a handle goes elsewhere than
// to reads and writes, the operators stay as they are, and must be in one partition.
struct TfliteState {
  bool is_value = true;  // variables are values; else their operators are nodes
  std::vector<TfliteVariable> variables;
  std::vector<std::uint32_t> read_as;   // by tensor: the tensor whose value it has
  std::vector<std::uint8_t> is_hidden;  // by operator: it is no node
  std::vector<std::uint32_t> whole;     // operators that must stay together
};

struct TfliteModel {
  std::string_view bytes;
  FlatWalk walk;
  std::vector<TfliteCode> codes;
  std::vector<TfliteBytes> buffers;
  std::vector<std::string_view> weight_files;                  // as the model names them
  std::unordered_map<std::uint32_t, TfliteExternal> external;  // by id
  std::vector<TfliteSubgraph> subgraphs;
  std::uint32_t main = 0;  // the model's subgraph
  FlatTable signature;     // of the model's subgraph; absent: it has none
  std::string_view name;   // of its subgraph, or of the file where that says nothing
  TfliteState state;
  std::vector<std::uint8_t> is_constant;  // by operator: all that it reads is constant
  StringArena names;
  // Of the graph, see make_tflite_graph(): the operator of each node and constant, the tensor of each
  // value, and back.
  std::vector<std::uint32_t> operators;
  std::vector<std::uint32_t> code_of_node;  // in `codes`; of nodes in bodies, too
  std::vector<std::uint32_t> tensors;
  std::vector<ValueId> values;

  const TfliteSubgraph& subgraph() const { return subgraphs[main]; }
  const TfliteCode& code_of(const TfliteOperator& op) const { return codes[op.code]; }
  bool is_builtin(const TfliteOperator& op, std::uint32_t builtin) const {
    return !codes[op.code].is_custom && codes[op.code].builtin == builtin;
  }
};

// The subgraphs that the operator's options name: its bodies, and the one of CALL_ONCE.
struct TfliteBody {
  FlatTable options;
  SchemaFieldId field;
  std::uint32_t element;  // of a vector; 0 for a number
  std::int64_t subgraph;
};
std::vector<TfliteBody> bodies_of(const TfliteOperator& op);

}  // namespace cleave
