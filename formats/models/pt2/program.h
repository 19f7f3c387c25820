// Pt2Program: the contents of a program's JSON, by number and position: nodes with their arguments
// and results, values with their types, the signature. The text is kept, and everything has its
// position in it, so that a writer can copy what it does not change.
//
//   value   anything with a name: a graph input, a result of a node
//   ref     one read of a value, with the position of the name
//   lifted  an input whose data is in the archive: parameter, buffer, constant, object
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/name_table.h"
#include "core/base/string_arena.h"
#include "core/graph/attribute.h"
#include "core/graph/graph.h"
#include "formats/base/text/limits.h"
#include "formats/models/pt2/archive.h"

namespace cleave {

inline constexpr std::uint32_t kNoPt2 = std::numeric_limits<std::uint32_t>::max();

enum class Pt2ValueKind : std::uint8_t { tensor, sym_int, sym_float, sym_bool, custom_obj };

// One dim as in the file.
struct Pt2Size {
  std::int64_t size = -1;            // -1: an expression
  std::string_view expression = {};  // as sympy writes it
  std::int64_t traced = -1;          // its size when the model was exported; -1: unknown
};

struct Pt2Value {
  std::string_view name;
  Pt2ValueKind kind = Pt2ValueKind::tensor;
  std::uint32_t maker = kNoPt2;  // the node that makes it
  std::uint32_t input = kNoPt2;  // its position among the graph's inputs
  // Its entry in the tables of values:
  SourceSpan entry = {};                         // length 0: none
  std::uint8_t table = 0;                        // number of the table, in order of kPt2ValueTables
  bool has_meta = false;                         // it is a tensor with the following
  int scalar_type = 0;                           // torch's number
  int layout = 0;                                // torch's number
  std::uint32_t size_begin = 0, size_count = 0;  // in sizes
  std::uint32_t stride_begin = 0, stride_count = 0;  // in sizes
};

inline constexpr std::string_view kPt2ValueTables[] = {
    "tensor_values", "sym_int_values", "sym_bool_values", "sym_float_values", "custom_obj_values"};

struct Pt2Ref {
  std::uint32_t value = 0;
  std::uint64_t name_at = 0;  // offset of the name's opening quote
};

// A literal that rules can ask about; [begin, begin + count) in the pool of its type.
struct Pt2Literal {
  AttributeType type = AttributeType::opaque;
  std::uint32_t begin = 0, count = 0;
};

struct Pt2Argument {
  std::string_view name;  // "" if the operator has none
  bool is_keyword = false;
  bool is_list = false;      // of values
  bool has_literal = false;  // otherwise it is values, or None
  std::uint32_t ref_begin = 0, ref_end = 0;
  Pt2Literal literal = {};
};

struct Pt2Node {
  std::string_view name;
  std::string_view target;
  std::string_view scope;  // dotted path of the module; "" for the model
  SourceSpan span;
  SourceSpan results = {};   // the list of results
  SourceSpan metadata = {};  // the object
  std::uint32_t argument_begin = 0, argument_end = 0;
  std::uint32_t result_begin = 0, result_end = 0;  // in refs
  std::uint32_t body_begin = 0, body_end = 0;      // in bodies
  // A call of a body in the form of torch up to 2.7, which newer torch cannot read.
  bool is_old_body_call = false;
  bool lists_results = false;  // its results are in one list
};

enum class Pt2InputKind : std::uint8_t {
  parameter,
  buffer,
  tensor_constant,
  custom_obj,
  token,
  user_input,
  constant_input,
};
enum class Pt2OutputKind : std::uint8_t {
  user_output,
  loss_output,
  buffer_mutation,
  parameter_mutation,
  user_input_mutation,
  gradient_to_parameter,
  gradient_to_user_input,
  token,
};

struct Pt2Input {
  Pt2InputKind kind = Pt2InputKind::user_input;
  std::uint32_t value = kNoPt2;  // kNoPt2: a constant
  std::string_view target = {};  // full name of the lifted parameter, buffer, constant or object
  bool is_persistent = true;     // a buffer
  SourceSpan argument, spec;
};

struct Pt2Output {
  Pt2OutputKind kind = Pt2OutputKind::user_output;
  std::vector<Pt2Ref> refs = {};  // empty: a constant
  std::string_view target = {};   // the target of a mutation
  SourceSpan argument, spec;
};

struct Pt2Program {
  std::string_view text;
  std::vector<Pt2Node> nodes;
  std::vector<Pt2Value> values;
  std::vector<Pt2Argument> arguments;
  std::vector<Pt2Ref> refs;  // of arguments and of results
  std::vector<Pt2Size> sizes;
  std::vector<std::int64_t> integers;  // pools of literals
  std::vector<double> reals;
  std::vector<std::string_view> strings;
  std::vector<Pt2Input> inputs;
  std::vector<Pt2Output> outputs;
  // What nodes call: the graphs of control flow and of regions. One that cleave cannot read is empty.
  std::vector<Pt2Program> bodies;
  std::vector<std::pair<std::string_view, SourceSpan>> ranges;   // of symbols
  std::vector<std::pair<std::string_view, SourceSpan>> fields;   // other fields of the document
  std::vector<std::pair<std::string_view, SourceSpan>> modules;  // of the module call graph
  SourceSpan nodes_at, modules_at;  // the lists of nodes and of module calls
  NameTable value_table;
  StringArena arena;  // names written with escapes, and names made here

  std::string_view text_of(SourceSpan span) const { return text.substr(span.offset, span.length); }
  // The number of the value with that name, or kNoPt2.
  std::uint32_t find_value(std::string_view name) const;
};

// Whether the operator runs its body as it is, once: the region of a gradient mode or of autocast.
bool is_region(std::string_view target);

inline bool is_lifted(Pt2InputKind kind) {
  return kind != Pt2InputKind::user_input && kind != Pt2InputKind::constant_input;
}

// Streams the program's JSON, once. Errors name the record and the position in it. Linear. `file`
// is the archive, for messages.
Loaded<Pt2Program> read_pt2_program(const Pt2Archive& archive, const std::string& file,
                                    const ModelLimits& limits);

}  // namespace cleave
