// What only this room uses: pickles, arguments, sizes, documents.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/split/split.h"
#include "formats/base/json.h"
#include "formats/base/model.h"
#include "formats/pt2/pt2.h"

namespace cleave {

// ---- pickle ----
//
// Reads the pickle that torch.save writes for a dict of tensors; torch up to 2.8 stores weights
// that way. For each tensor it finds where its data is and how it is laid out.
//
// A pickle is a program that builds Python objects by calling functions by name. This reader calls
// none: it understands tensors, parameters and ordered dicts, and refuses every other name.

struct PickledTensor {
  std::string name;         // its key in the dict
  std::string storage;      // key of the record that holds the data; tensors may share one
  std::string device;       // "cpu", "cuda:0"
  int scalar_type = 0;      // torch's number; 0 if unknown
  std::int64_t offset = 0;  // in elements, from the start of the storage
  std::vector<std::int64_t> sizes, strides;
  bool requires_grad = false;
  bool is_parameter = false;
};

// The tensors in the order of the dict; or what is wrong with the pickle, as a text that follows
// its name. Linear in the bytes.
Result<std::vector<PickledTensor>, std::string> read_pickled_tensors(std::string_view pickle);

// ---- size ranges ----
//
// Ranges of symbols: the sizes that torch.export made the program for. torch refuses to run it with others.

// Adds a fault for each symbol whose size in `bound` is outside its range.
void report_sizes_out_of_range(const Pt2Program& program, const ShapeBindings& bound,
                               JsonFaults& faults);

// ---- size expression ----
//
// Sizes that depend on symbols, as sympy writes them: "Mul(Integer(2), Symbol('s77', ...))". Turns
// them into a number if the symbols are known, and into readable text: "2*s77".

// The value of a symbol, if known.
using SymbolValue = std::function<std::optional<std::int64_t>(std::string_view symbol)>;

struct SizeText {
  std::string text;                       // "2*s77"; unchanged if not understood
  std::vector<std::string_view> symbols;  // views into the expression; may repeat
  std::optional<std::int64_t> value;      // if all symbols are known, and it is 0 or more
};

// Understands Symbol, Integer, Mul, Add, Pow, FloorDiv, Mod, Min and Max; other expressions have no
// value. Linear; nested at most 100 deep.
SizeText read_size_expression(std::string_view expression, const SymbolValue& value_of);

// The size that the user gave for a symbol, if any.
std::optional<std::int64_t> bound_size(const Pt2Model& model, std::string_view symbol);

// The expression of a number that depends on symbols, from its entry in the tables of values; "" if it has none.
std::string_view number_expression(const Pt2Program& program, const Pt2Value& value);

// Calls visit(r) for each value that the node reads, in order: it is program.refs[r].
void each_ref(const Pt2Program& program, const Pt2Node& node, const auto& visit) {
  for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
    const Pt2Argument& argument = program.arguments[a];
    for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) visit(r);
  }
}

// Where the text has `"as_name": ` before the name of a ref, so that a number can be in its place; nullopt elsewhere.
std::optional<std::uint64_t> symbol_argument(const Pt2Program& program, const Pt2Ref& ref);

// The names of the symbols in any text of this form. Linear.
std::vector<std::string_view> symbols_in(std::string_view text);

// The outermost terms that are not linear in the symbols, as they are in the text: "FloorDiv(Symbol('s77'), Integer(2))" of
// "Add(FloorDiv(Symbol('s77'), Integer(2)), Integer(1))". From a size without any, torch finds its symbol, if it has one.
// Linear; of text that is nested more than 100 deep, or no expression, all of it.
std::vector<std::string_view> rounded_terms(std::string_view expression);

// ---- arguments ----
//
// Reads the arguments of a program's nodes: unions of 31 kinds, each an object with one key.
//
//   {"as_tensor": {"name": "x"}}   {"as_ints": [1, 1]}   {"as_sym_ints": [{"as_name": "s"}, ...]}

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

// ---- split plan ----
//
// The inputs, outputs and state of each partition of a split program, so that the partitions run
// one after another compute what the program does, including its state and its in-place writes.
//
//   native    a write in the only partition that uses its target: the partition's file keeps the
//             state across calls, as the program does
//   lifted    state that several partitions use: an ordinary input and output, kept by the caller
//   repeated  a node computed again in a partition that reads its result, because truth values and
//             real symbols cannot cross
//
// A constant is in each partition that reads its result, a check in one that makes what it reads.

struct Pt2Part {
  PartId part;
  std::vector<std::uint32_t> nodes;          // of the program, in order, with repeated ones
  std::vector<std::uint32_t> repeated;       // of these, in order
  std::vector<std::uint32_t> lifted_inputs;  // values in its archive
  // Of these, tied parameters that the program reads by a later name: the first one, which torch gives them.
  std::map<std::uint32_t, std::string_view> first_names;
  std::vector<std::uint32_t> inputs;            // values that the caller passes
  std::vector<std::uint32_t> native_mutations;  // outputs of the program, by number
  std::vector<std::uint32_t> outputs;           // values that the caller receives
  std::vector<std::uint32_t> written_inputs;    // those of `inputs` that it writes in place
};

// `target` gets `value` after the last partition.
struct Pt2Mutation {
  std::string_view kind;    // "buffer", "parameter", "user_input"; "gradient", "token"
  std::string_view target;  // full name of the target, or the input's
  std::uint32_t value = 0;
};

struct Pt2Plan {
  std::vector<Pt2Part> parts = {};   // in call order
  std::vector<std::uint32_t> state;  // values that the caller keeps
  std::vector<Pt2Mutation> mutations;
};

// `partition` may be a piece of the program: then what the other nodes read leaves it, and writes of
// state by other nodes are left out. Refuses, with a remedy: partitions that wait for each other because of in-place operators,
// written memory with views in several partitions, values that cannot cross, tokens. Linear in
// nodes and refs.
Result<Pt2Plan> plan_pt2_split(const Pt2Model& model, const Partition& partition);

// ---- documents ----
//
// The JSON documents that are written: a partition as a program of its own, and the root, which is
// the whole program with its nodes in modules, one per partition, so that torch.export.unflatten
// gives a submodule for each.

// The JSON of a node as it is written: as it was read, except for names changed by in-place
// operators, calls of bodies in the form of torch up to 2.7, and notes on the partition.
enum class Pt2Names : std::uint8_t {
  as_read,    // the names valid after in-place operators; nodes may run separately
  as_in_file  // nodes run in the memory that they share
};

// Appends the node, with the operator `target` instead of its own unless that is "".
void append_pt2_node(std::string& out, const Pt2Model& model, std::uint32_t node, Pt2Names names,
                     std::string_view target = {});

// The same, with the node in the module `module` of the root and with a note naming the partition.
void append_pt2_root_node(std::string& out, const Pt2Model& model, std::uint32_t node,
                          std::string_view module, std::string_view name);

// How a split program is called: JSON for the manifest, for drivers of the partitions.
//
//   order     the partitions, each with `inputs` and `outputs`, names of values in the order of its
//             arguments and results, and `writes_inputs`, those that it writes in place
//   inputs    the program's own, in flat order; null for one that is a constant
//   outputs   the program's own: a value's name, or the constant
//   state     values that the caller keeps: a buffer or parameter that several partitions use
//   mutations what is written after all partitions have run: `target` becomes `value`

// `names` are those of the partitions, `files` their files, `models` their models within a bundle;
// `models` is empty when each partition has its own file.
struct Pt2ChainNames {
  const std::vector<std::string>& names;
  const std::vector<std::string>& files;
  const std::vector<std::string>& models;
};
std::string pt2_chain_json(const Pt2Model& model, const Pt2Plan& plan, const Pt2ChainNames& names);

// The program of a partition. Its arguments are a flat tuple in the order of `part.inputs`, its
// results one in the order of `part.outputs`.
std::string pt2_part_document(const Pt2Model& model, const Pt2Part& part);

// `modules` are the names of the partitions' modules, `names` those of the partitions. Nodes are in
// the order of the partitions.
std::string pt2_root_document(const Pt2Model& model, const Pt2Plan& plan,
                              const std::vector<std::string>& modules,
                              const std::vector<std::string>& names);

}  // namespace cleave
