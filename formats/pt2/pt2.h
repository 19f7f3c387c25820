// torch.export archives: reading, effects of operators, writing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/model.h"

namespace cleave {

// ---- zip directory ----
//
// The directory of a zip archive: its records and where their bytes are. Only the local header of
// each record is read, so an archive of any size is listed quickly.
//
// Archives may come from anywhere. Inconsistent ones are refused: ranges outside the file or
// overlapping, names that leave the folder or are repeated, counts that the directory has no room
// for; and records that cannot be copied byte for byte, since they are compressed or encrypted.

// What is wrong with an archive that torch.jit wrote.
inline constexpr std::string_view kTorchScript =
    "is a TorchScript file: export the model with torch.export.save or torch.onnx.export";

struct ZipRecord {
  std::string_view name;     // a view into the bytes
  std::uint64_t offset = 0;  // of the data, from the start of the archive
  std::uint64_t size = 0;
  std::uint32_t crc = 0;  // CRC-32 of the data, from the directory
};

// True for bytes that begin like a zip archive.
bool looks_like_zip(std::string_view bytes);

// The records in the order of the directory, without folders (names ending in '/'). Or what is
// wrong with the archive, as a text that follows its name. O(n log n) in records.
Result<std::vector<ZipRecord>, std::string> read_zip_directory(std::string_view bytes);

// Whether the data of the record has the CRC-32 in the directory. Reads all of it.
bool has_its_crc(std::string_view bytes, const ZipRecord& record);

// The CRC-32 that zip uses.
std::uint32_t zip_crc(std::string_view data);

// ---- archive ----
//
// A torch.export archive (.pt2) of any torch version: the text of the program, and where the bytes
// of each weight are. There are three containers, recognised by their records:
//
//   old     torch up to 2.7   serialized_exported_program.json, weights in two torch.save files
//   nested  torch 2.8         models/<model>.json, weights in two torch.save files
//   raw     from torch 2.9    models/<model>.json, one record per storage, two JSON configs
//
// A torch.save file is a zip archive of its own, stored, whose data.pkl is a pickle. Weights are
// never read: each is a range of the file.

enum class Pt2Container : std::uint8_t { old, nested, raw };

// The bytes of one storage, or of an object that only Python can read.
struct Pt2Record {
  std::string path;  // its name in the archive's config: "weight_3"
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;
};

// A parameter, buffer, constant or object by its full name.
struct Pt2Entry {
  std::string name;
  std::string config;  // its JSON in the archive's config
  std::uint32_t record = 0;
  std::int64_t first_element = 0;  // of a tensor: where it begins in the record
};

// One of the two tables of an archive.
struct Pt2Table {
  std::vector<Pt2Record> records;
  std::vector<Pt2Entry> entries;  // by name

  // The entry with that name, or null.
  const Pt2Entry* find(std::string_view name) const;
};

struct Pt2Archive {
  Pt2Container container = Pt2Container::raw;
  std::string program_name;  // name of the program's record
  // The program as JSON, readable for 64 bytes beyond its end. A view into the source, or into
  // `own_program` if the source's text is not JSON (torch up to 2.7 writes Infinity and NaN).
  std::string_view program;
  std::vector<char> own_program;
  Pt2Table weights;         // parameters and persistent buffers
  Pt2Table constants;       // other buffers, tensor constants, objects
  Pt2Record sample_inputs;  // size 0: there is none
};

// True for bytes that begin like a zip archive.
bool looks_like_pt2(std::string_view bytes);

// Reads the directory, the position of the program and the tables; refuses other kinds of archives
// by name. `program`: which one of several; empty: "model", or the only one. `source` must outlive the
// result. Linear in the records and the tables.
Loaded<Pt2Archive> read_pt2_archive(const SourceFile& source, std::string_view program = {});

// The tables of weights: from the JSON config of a raw archive, or from the pickle of a torch.save
// file in an old one, whose tensors get the config that a raw archive would have for them.

// The record of an archive that a config names; null if there is none.
using FindZipRecord = std::function<const ZipRecord*(std::string_view path)>;

// Both return the table with its entries sorted by name, or what is wrong with the record, as a
// text that follows its name. O(n log n).
Result<Pt2Table, std::string> read_config_table(const SourceFile& source, const ZipRecord& config,
                                                const FindZipRecord& find_record);

// `file` is a record of `bytes` that is itself a zip archive; `prefix` + key names its records.
Result<Pt2Table, std::string> read_saved_table(std::string_view bytes, const ZipRecord& file,
                                               std::string_view prefix);

// Numbers that JSON does not have: torch up to 2.7 writes Infinity, -Infinity and NaN bare, later
// versions as strings, "Infinity", which JSON readers accept.

// The text with such numbers in quotes, followed by 64 zero bytes; empty when there are none.
// Linear.
std::vector<char> with_quoted_numbers(std::string_view json);

// ---- program ----
//
// Pt2Program: the contents of a program's JSON, by number and position: nodes with their arguments
// and results, values with their types, the signature. The text is kept, and everything has its
// position in it, so that a writer can copy what it does not change.
//
//   value   anything with a name: a graph input, a result of a node
//   ref     one read of a value, with the position of the name
//   lifted  an input whose data is in the archive: parameter, buffer, constant, object

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

// ---- op schemas ----
//
// What a user states of operators of his own, in torch's words, one a line; torch prints it as
// `torch.ops.mylib.scale_.default._schema`:
//
//   mylib::scale_(Tensor(a!) self, float by) -> Tensor(a!)      # writes `self`, and returns it
//   mylib::shift(Tensor x) -> Tensor                            # writes nothing

// The schema as a line of the table of torch's operators (scripts/dev/torch_operators.py), without
// defaults. The error says what is wrong with it.
Result<std::string> operator_line(std::string_view schema);

// Adds the operators of the file to those that find_torch_operator() knows, for the whole process: to be
// called before a model is read. Refuses lines that are no schemas, and operators of torch, whose
// effects are known.
Status<Diagnostics> state_torch_operators(const std::string& path);

// The line of an operator that was stated, "mylib.shift.default"; empty if none was.
std::string_view stated_operator_line(std::string_view name);

// ---- shared memory ----
//
// Inputs of a program that are views of one memory in its archive: a buffer `stack` and a buffer `c0` that is `stack[0]`.

// Two values of the program, inputs whose bytes overlap.
struct Pt2Overlap {
  std::uint32_t first, second;
};

// Enough pairs to join all lifted tensors that overlap and are read, in order of their bytes: one that nothing reads is left
// out, since nobody sees what is written to it. A tensor counts as all bytes from its first element to its last.
// O(n log n) in the inputs.
std::vector<Pt2Overlap> overlapping_inputs(const Pt2Archive& archive, const Pt2Program& program);

// ---- effects ----
//
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

// Torch's own operators, from a table made from torch's schemas: names and defaults of arguments,
// which arguments they write, and which ones their results share memory with. Of operators that a user
// registered only those that are stated ("op schemas" above) are included.
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

// `overlaps` are inputs that share memory ("shared memory" above): with it each node that uses one of them when another is written,
// by an operator or at the end of the program, is in one partition. Linear in nodes and refs, near enough.
Pt2Effects find_effects(const Pt2Program& program, std::span<const Pt2Overlap> overlaps = {});

// ---- roles ----
//
// What the nodes of a program are to its graph:
//
//   node      what a split puts on one side or the other
//   constant  computes on parameters alone, as w.t() or a norm's sqrt(var + eps): each partition that
//             reads its result has a copy, so that no weight crosses between partitions
//   check     asserts something of values (_assert_tensor_metadata, _assert_scalar), or is read by
//             such a node alone: it goes where its values are made, and costs nothing
//   known     computes sizes of which all symbols are bound (sym_size, and arithmetic on it), or asserts something of these
//             alone: it is nowhere, and what reads a size has the number

enum class Pt2Role : std::uint8_t { node, constant, check, known };

// Whether an operator only asserts something of what it reads.
bool is_check(std::string_view target);

// By node. `is_written` says by value whether the program writes the input. Linear.
std::vector<Pt2Role> find_roles(const Pt2Program& program, const Pt2Effects& effects,
                                const std::vector<bool>& is_written);

// By node of the program: its id in the graph; kNone for checks and known ones. Ids of constants come after those of
// nodes.
std::vector<NodeId> graph_ids(const std::vector<Pt2Role>& roles);

// ---- model ----
//
// A torch.export archive as read: what its writer needs besides the graph.

struct Pt2Model {
  Pt2Archive archive;
  Pt2Program program;
  Pt2Effects effects;
  std::vector<Pt2Role> roles;  // by node of the program
  std::vector<NodeId>
      node_ids;  // by node of the program, in the graph; kNone for checks and known ones
  std::map<std::string, std::int64_t, std::less<>> symbol_sizes;  // that the user gave
  std::unordered_map<std::uint32_t, std::int64_t>
      known_sizes;                        // by value: what known nodes compute
  PerValue<std::uint32_t> value_numbers;  // of the graph's values, in program.values

  // The id of a node that a split places; kNone for a constant or a check.
  NodeId placed(std::uint32_t node) const {
    return roles[node] == Pt2Role::node ? node_ids[node] : kNone<NodeId>;
  }
};

// ---- reader ----
//
// Reads torch.export archives (.pt2) into graphs, without PyTorch and without reading weights.

// What a program says about memory, for support rules: which of its parameters and buffers it
// writes, and how its tensors are laid out.

// By value of the program: an input that the program writes, in place or by a mutation in its
// signature, or that shares its record with one that it writes. Linear, near enough.
std::vector<bool> written_inputs(const Pt2Model& model);

// Finds what the operators of model.program do to memory, and what its nodes are to the graph: with Folding::off all of them
// are nodes. Needs the sizes that the user gave. Linear, near enough.
void find_meaning(Pt2Model& model, Folding folding = Folding::report);

// The layout of a tensor of the program; nullopt if the file does not state it, or not in terms of
// its sizes. Strides that depend on symbols without a size are unknown, but do not hide the layout:
// strides [8*s0, 8, 1] of sizes [2, s0, 8] are contiguous for any s0. Linear in the dims.
std::optional<TensorLayout> tensor_layout(const Pt2Model& model, const Pt2Value& value);

struct Pt2Loaded {
  std::unique_ptr<Pt2Model, DeletePt2Model> model;
  Graph graph;
  std::vector<Diagnostic> warnings;  // operators whose effects are unknown
  std::vector<std::string> notes;
};

// Linear. The graph's names are views into `source` and the model. An operator's name is its
// target: "torch.ops.aten.conv2d.default". `bindings` sets symbols, "s77", by --dim or by the shape
// of an input; other symbols keep their name, and a note lists the sizes that they were traced
// with.
Loaded<Pt2Loaded> read_pt2(const SourceFile& source, const ShapeBindings& bindings,
                           const ModelLimits& limits = {}, const Progress& progress = {});

// The constraints that operators with effects put on a split: their order, and sets of nodes that
// view written memory or are in one vmap region. Linear in both.
NodeTies pt2_ties(const Pt2Model& model);

// What the nodes of an order or a set have in common, as messages say it: "\"x\", which is written in
// place", "the generator of random numbers"; "nodes of one vmap region".
std::string shared_memory_text(const Pt2Model& model, const Pt2Order& order);
std::string whole_text(const Pt2Whole& whole);

// Defaults of arguments from torch's schemas, and the names that support lists use for its
// operators.
OpFacts torch_op_facts(const Pt2Model& model);

// ---- writer ----
//
// Writes the split of a torch.export archive: `<part>.pt2` for each partition, which
// torch.export.load reads, and `root.pt2`, the whole program with a module for each partition.
// Weights are copied from file to file without passing through memory.

// A zip archive in torch's layout, laid out before a byte is written: records are stored, their
// data at multiples of 64 bytes, so that readers can map it. Sizes and checksums are known
// beforehand; those of copied records come from the archive that they are copied from.
class ZipPieces {
 public:
  // `root` is the folder of all records.
  explicit ZipPieces(std::string root) : root_(std::move(root)) {}

  // Adds a record with this data.
  void add(std::string_view name, std::string_view data);
  // Adds a record copied from source 0 of the list that the pieces are written with.
  void add_copy(std::string_view name, const Pt2Record& record);

  // The archive with its directory; zip64 if a number needs it. The same records give the same
  // bytes.
  BytePieces finish() &&;

 private:
  struct Entry {
    std::string name;
    std::uint64_t header, size;
    std::uint32_t crc;
  };
  void add_header(std::string_view name, std::uint64_t size, std::uint32_t crc);
  std::string directory() const;

  std::string root_;
  BytePieces pieces_;
  std::vector<Entry> entries_;
};

struct Pt2WriteOptions {
  PartFiles files = PartFiles::one_a_part;
  // root.pt2 lists its weights, but only has those that no partition has. torch cannot load it as it is;
  // a reader takes the record of the same path from a partition.
  bool has_empty_root = false;
};

struct Pt2Written {
  std::vector<std::string> part_files;  // by part
  std::uint64_t root_copies = 0;        // bytes of weights in root.pt2 that are in partitions, too
  std::string chain;                    // JSON: how the partitions are called; see pt2_chain_json()
};

// A bundle, bundle.pt2, is one archive with the root and the partitions as models. The files have
// the layout of torch 2.9 and later, whatever the model's. Errors: those of plan_pt2_split(), and
// system errors. Takes as long as copying the bytes written, and a few times the program's JSON of
// memory.
Result<Pt2Written, Fault> write_pt2_split(const LoadedModel& model, const Partition& partition,
                                          const Pt2WriteOptions& options,
                                          const OutputFolder& folder, const Progress& progress);

// The arguments and the results of a piece, in order, as numbers in Pt2Program::values.
struct Pt2PieceValues {
  std::vector<std::uint32_t> inputs, outputs;
};

// Writes one archive of the nodes of `piece`, a partition made by make_piece(). Its outputs are the
// values that other nodes read, or that the program returns; with `ends`, its inputs and outputs are as
// in find_piece_boundary(). Refuses ends that no program can have.
Result<Pt2PieceValues, Fault> write_pt2_piece(const LoadedModel& model, const Partition& piece,
                                              const OutputPath& output,
                                              const PieceEnds* ends = nullptr);

}  // namespace cleave
