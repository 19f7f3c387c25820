// Reads the arguments of a program's nodes: unions of 31 kinds, each an object with one key.
//
//   {"as_tensor": {"name": "x"}}   {"as_ints": [1, 1]}   {"as_sym_ints": [{"as_name": "s"}, ...]}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/graph/dtype.h"
#include "formats/base/json/cursor.h"
#include "formats/models/pt2/program.h"

namespace cleave {

// Torch's numbers for element types, layouts and memory formats in archives.

// DType::unknown for numbers that are not in the table, and for complex32, which no other format
// has.
DType dtype_from_torch(std::int64_t number);

// "strided", "coo", ...; "unknown".
std::string_view layout_name(std::int64_t number);

// "contiguous", "channels_last", ...; "unknown".
std::string_view memory_format_name(std::int64_t number);

// The first fault, and its offset in the text.
struct Pt2Fault {
  std::uint64_t offset;
  std::string message;
};

class Pt2Arguments {
 public:
  Pt2Arguments(JsonCursor& cursor, Pt2Program& program, const ModelLimits& limits)
      : cursor_(cursor), program_(program), limits_(limits) {}

  // What was read of an argument; its refs are the last ones in program.refs.
  struct Read {
    std::uint32_t ref_begin = 0;
    Pt2ValueKind kind = Pt2ValueKind::tensor;  // of the refs
    bool is_list = false;
    bool is_none = false;
    bool has_literal = false;
    Pt2Literal literal = {};
  };
  // Reads the union at the cursor.
  Read read();

  // The number of the value with that name; adds the name if it is new.
  std::uint32_t value_named(std::string_view name);
  // The string at the cursor; "" and a fault if it is not a string.
  std::string_view take_name();
  std::string_view kept(JsonString text);

  // The graphs among the arguments that were read since the last call, in order.
  std::vector<SourceSpan> take_graphs() { return std::exchange(graphs_, {}); }

  void fail(std::uint64_t offset, std::string message);
  bool is_over() const { return fault_.has_value() || cursor_.fault().has_value(); }
  const std::optional<Pt2Fault>& fault() const { return fault_; }

  // Steps into the object at the cursor; then its keys, none after a fault. The same for lists.
  void enter(JsonType wanted);
  std::optional<std::string_view> next_key();
  bool next_item();
  // Visits each key of the object at the cursor, each item of the list; `visit` takes the value.
  void each_field(const auto& visit) {
    enter(JsonType::object);
    while (const auto key = next_key()) visit(*key);
  }
  void each_item(const auto& visit) {
    enter(JsonType::list);
    while (next_item()) visit();
  }
  // 0 and a fault if it is not a whole number.
  std::int64_t take_integer();
  // From `begin` to the end of the value that was taken last.
  SourceSpan span_from(std::uint64_t begin) const;

 private:
  void read_kind(std::string_view kind, Read& read);
  bool read_values(std::string_view kind, Read& read);
  bool read_literal(std::string_view kind, Read& read);
  bool read_enumerator(std::string_view kind, Read& read);
  void read_ref();
  void read_optional_ref();
  void read_symbol(Read& read);
  void read_symbols(Read& read);
  void read_named_arguments(Read& read);
  void add_ref();
  void take_integer(Read& read);
  void take_real();
  void read_list(AttributeType type, Read& read);
  std::string device_text();

  JsonCursor& cursor_;
  Pt2Program& program_;
  const ModelLimits& limits_;
  std::optional<Pt2Fault> fault_;
  std::vector<SourceSpan> graphs_;
  int depth_ = 0;
};

// What the readers of a program's parts share.
struct Pt2Reading {
  JsonCursor& cursor;
  Pt2Arguments& arguments;
  Pt2Program& program;
  const ModelLimits& limits;
};

// Reads a graph's tables of values: types, sizes and strides by name.
//
//   {"x": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_expr": {"expr_str": "Symbol('s0')", ...}}], ...}}

// Reads the table at the cursor into the program's values; `table` is its number in
// kPt2ValueTables.
void read_value_table(const Pt2Reading& reading, std::uint8_t table);

// Reads a program's signature: what each input and output of the graph is to the caller.
//
//   {"input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}}, ...],
//    "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "add"}}}}, ...]}

// Adds the signature at the cursor to the program's inputs and outputs.
void read_pt2_signature(const Pt2Reading& reading);

// The modules around a node, as torch records them: "key,path,type;key,path,type", outermost first.

// The dotted path of the innermost module: "layers.0.attn"; "" for the model itself. Also
// understands the older form "L['self'].layers.0.attn". A view into `stack`.
std::string_view innermost_scope(std::string_view stack);

}  // namespace cleave
