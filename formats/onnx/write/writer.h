// Writing ONNX: parts, the root that runs them, and other models made from one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/model.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/read/reader.h"

namespace cleave {

// ---- source ----
//
// OnnxSource: the model as a source that writers copy from. Records are copied unchanged, except
// for OnnxEdits.

// Messages inside nodes and functions that cannot be copied unchanged: tensors whose elements are
// in another file, since the written files are elsewhere; and nodes that write the default domain
// as "ai.onnx", since in a function only "" works; and what bodies state of values with a dim that the
// user gave a size, which the value outside has then, too.
struct OnnxEdit {
  std::string_view payload;
  std::optional<ByteRange> elements;  // of a tensor; nullopt: a node, or a stated value
  std::string made = {};              // of a stated value: the new message
};

using OnnxDimSizes = std::unordered_map<std::string_view, std::int64_t>;

class OnnxEdits {
 public:
  // Finds the elements of an external tensor; nullopt on a fault.
  using Finder = std::function<std::optional<ByteRange>(const OnnxTensor&)>;

  OnnxEdits() = default;
  // `dims`: sizes by symbol.
  OnnxEdits(const OnnxModel& model, const OnnxDimSizes& dims, const Finder& find);

  // True when some edit is for a message within these bytes. O(log edits).
  bool are_within(std::string_view bytes) const;
  // The edit for exactly this message, or null.
  const OnnxEdit* of(std::string_view payload) const;

 private:
  void add_node(const OnnxNode& node, const Finder& find);
  void add_attribute(const OnnxAttribute& attribute, const Finder& find);
  void add_tensor(const OnnxTensor& tensor, const Finder& find);
  void add_stated(const OnnxValueInfo& value);
  std::vector<OnnxEdit>::const_iterator first_from(const char* begin) const;

  OnnxDimSizes dims_;
  std::vector<OnnxEdit> edits_;  // by address
};

// The position of a tensor's elements, as another file refers to it.
struct OnnxLocation {
  std::string_view file;  // relative to the file that refers to it
  std::uint64_t offset = 0;
};

// True for a field, by number and payload, that is not copied.
using OnnxFieldTest = std::function<bool(std::uint32_t number, std::string_view payload)>;

class OnnxSource {
 public:
  // Finds the external data of all tensors, also those inside nodes. `model` must outlive this.
  static Loaded<OnnxSource> open(const LoadedModel& model);

  std::span<const ByteSource> files() const { return files_; }

  // Adds bytes of the model's file, or of what folding made, unchanged.
  void add_bytes(BytePieces& out, std::string_view bytes) const;
  // Adds a record of the model's file that is the field with that number.
  void add_record(BytePieces& out, std::uint32_t field, const OnnxRecord& record) const;
  // Adds the message of a record as the given field, with `appended` after its own fields: in
  // protobuf the last one wins. Leaves out the fields for which `left_out` is true.
  void add_message(BytePieces& out, std::uint32_t field, std::string_view payload,
                   std::string_view appended = {}, const OnnxFieldTest& left_out = nullptr) const;

  // The elements of an initializer (index into the graph's) as raw bytes; nullopt if they are not
  // stored that way: strings, numbers in varints, sparse tensors.
  const std::optional<ByteRange>& elements(std::uint32_t initializer) const {
    return elements_[initializer];
  }
  // Bytes of an initializer written with its elements inside.
  std::uint64_t size(std::uint32_t initializer) const;

  // Adds an initializer to a GraphProto. Returns the offset of its elements() in `out`.
  std::optional<std::uint64_t> add_initializer(BytePieces& out, std::uint32_t initializer) const;
  // The same without its elements(), which are in another file.
  void add_initializer_at(BytePieces& out, std::uint32_t initializer,
                          const OnnxLocation& location) const;
  // Adds a Constant node for the initializer, which must not be sparse, as field `field` of a graph
  // or function.
  void add_constant_node(BytePieces& out, std::uint32_t field, std::uint32_t initializer) const;

 private:
  explicit OnnxSource(const LoadedModel& model);
  Diagnostics find_external_data(const LoadedModel& model);
  const OnnxTensor& tensor(std::uint32_t initializer) const;
  void add_fields(BytePieces& out, std::string_view payload, const OnnxFieldTest& left_out) const;
  std::uint64_t add_tensor_fields(BytePieces& out, std::string_view payload,
                                  const ByteRange& elements) const;

  std::string_view bytes_;  // of the model's file
  const OnnxModel* model_;
  std::vector<ByteSource> files_;  // the model's, then those of external data
  std::vector<std::optional<ByteRange>> elements_;
  OnnxEdits edits_;
};

// Weights that stay where they are (--weights reference): written files refer to the bytes in the
// model's own file, or in its files of external data, so that a split does not copy them.
//
// A runtime reads external data only from the folder of the file that refers to it, or below: not
// through "..", an absolute path or a link. So the output folder must contain the files of the
// weights: it is the model's own folder, or one above it.

// Weights of up to this many bytes are copied in any case, so that a tool that reads one file finds
// shapes and scales in it.
inline constexpr std::uint64_t kSmallReference = 1024;

// By file of `source`: its path relative to `folder`. Empty for a file without weights above
// kSmallReference bytes. Error: names the file outside `folder`, and the folder to give instead.
Result<std::vector<std::string>, std::string> onnx_references(const LoadedModel& model,
                                                              const OnnxSource& source,
                                                              const std::string& folder);

// ---- context nodes ----
//
// A compiled partition in a model: the nodes of an EPContext model, which a provider of ONNX Runtime
// wrote, as nodes of the root. They name the file of the compiled part, and read and give the values
// of the partition's boundary under their own names. Or they hold what is in that file (embed_mode 1).

struct OnnxContext {
  std::vector<std::string> nodes = {};  // NodeProtos
  // ValueInfoProtos of what they give, by the order of `names`.
  std::vector<std::string> infos = {};
  std::vector<std::string> names = {};
  std::vector<std::string> inputs = {};  // of the whole part

  bool empty() const { return nodes.empty(); }
};

struct ContextPlace {
  std::string_view part;    // in front of the names of nodes and inner values
  std::string_view folder;  // in front of the names of files, with a slash at the end; or ""
  // Gives the content of a file that a node names, by its name in the folder, which is then written into the
  // node; nullopt if it cannot be read. Null: nodes go on to name files.
  std::function<std::optional<std::string>(std::string_view file)> content = {};
};

// Reads an EPContext model. Error: what else it holds; a model of CPU nodes, or with weights, is
// none; or which file cannot be read.
Result<OnnxContext, std::string> read_context_model(std::string_view model,
                                                    const ContextPlace& place);

// ---- node tags ----
//
// Tags that written nodes carry about the split, for readers of the files: the node's partition,
// its device, and why it is not on the accelerator, as metadata_props; the stage of a pipeline as a
// device configuration. Each is written from the IR version on that has the field.
//
//   cleave.partition = _run_on_cpu_3    cleave.device = cpu
//   cleave.reason = the list does not have op "Sin"
//
// In annotated.onnx `layer_ann` is written for any IR version: ONNX Runtime, which reads it, does
// the same.

struct OnnxTagOptions {
  // Why a node is not on the accelerator; "" for none. An empty function: write no reasons.
  std::function<std::string(NodeId)> reason;
  bool pipeline_stages = false;  // partitions are stages of a pipeline, in order
  // Leaves out the stack traces that torch's exporter writes beside each node: they are nearly half
  // of a file without its weights, and each file of each phase would repeat them.
  bool without_traces = false;
};

class OnnxNodeTags {
 public:
  // `devices` are by partition, as the user names them; empty: none given. All must outlive this.
  OnnxNodeTags(const LoadedModel& model, const Partition& partition,
               const std::vector<std::string>& devices, const OnnxTagOptions& options)
      : model_(model), partition_(partition), devices_(devices), options_(options) {}

  // The partition's device as the user named it, else its side of the split; empty if it has
  // neither.
  std::string_view device_of(PartId part) const;

  // Fields to append to the NodeProto of a node, of the root's call of a partition, and of a node
  // in annotated.onnx. Empty for constants and markers, which are in no partition, and for older IR
  // versions.
  std::string of(NodeId node) const;
  std::string of_call(PartId part) const;
  std::string annotation(NodeId node) const;
  // Fields of a ModelProto: the device configuration that stages refer to.
  std::string model_fields() const;

  // The fields of the node's record that the tags replace; null when there are none.
  OnnxFieldTest replaced_in(const OnnxNode& record) const;

 private:
  bool has_metadata() const;
  bool has_stages() const;
  bool is_in_part(NodeId node) const;
  std::string stage_of(PartId part) const;
  std::string metadata_of(PartId part) const;

  const LoadedModel& model_;
  const Partition& partition_;
  const std::vector<std::string>& devices_;
  const OnnxTagOptions& options_;
};

// ---- writer ----
//
// Writes the split of an ONNX model: each partition as a stand-alone model, and the root, the whole
// split as one runnable model with partitions as model-local functions. Records are copied byte for
// byte; weights are copied from file to file without passing through memory.

enum class RootWeights {
  external,   // the root refers to weights in the partitions' files next to it
  inlined,    // the root is one self-contained file
  shared,     // root and partitions refer to one file with each weight once: see OnnxSharedWeights
  reference,  // root and partitions refer to the weights where they are: see onnx_references()
};

struct OnnxWritten {
  std::vector<std::string> files;       // names within the folder, in the order written
  std::vector<std::string> part_files;  // by part: its own file; "" if it is not written
  // partitions left out of the root, cut values without rank, ...
  std::vector<std::string> notes;
};

struct OnnxWriteOptions {
  std::optional<RootWeights> root_weights = {};  // nullopt: as the format has it, see weights()
  // also write annotated.onnx, the unsplit model with each node's partition
  bool annotate = false;
  OnnxTagOptions tags = {};  // what node tags contain
  // A model with more bytes is not written, since no protobuf library reads it: the partition's
  // weights then go to `<part>.onnx.data`.
  std::uint64_t largest_model = (std::uint64_t{1} << 31U) - 2;
  Progress progress = {};   // reports the bytes written, of an estimate of all
  std::string prefix = {};  // of all files but weights.bin
  // With RootWeights::shared: what weights.bin of several splits in one folder has. The first writes the file and
  // fills this; of any other, which would need another file, it is an error. Null: there is one split.
  std::optional<BytePieces>* common_weights = nullptr;
  // Partitions read an output of the model that another makes under its name_for_readers(), which that one gives as
  // well. A runtime that keeps what is of one name, such as a cache, then does not take it for that.
  bool names_for_readers = false;

  // Those of ONNX models.
  RootWeights weights() const { return root_weights.value_or(RootWeights::external); }
};

// "present.0.key.read" of an output of the model that a node makes; else the value's name.
std::string name_for_readers(const Graph& graph, ValueId value);

// The parts of a split to write.
struct OnnxPieces {
  const Partition& partition;
  const Boundaries& parts;
  // as the root calls the partitions; it contains all weights that it passes
  const Boundaries& root;
  const std::vector<std::string>& devices;  // by part, the name in metadata; empty: none
};

// Writes only a root, as `file`, in which partitions are compiled nodes: `contexts` has them by part,
// none for one that stays a call. All weights are inside.
Status<Fault> write_onnx_deployed(const LoadedModel& model, const OnnxPieces& pieces,
                                  std::span<const OnnxContext> contexts, const OutputFolder& folder,
                                  const std::string& file);

// Writes `<part>.onnx` for each partition (file names: formats/base/files.h), `root.onnx` and,
// if asked for, `annotated.onnx`. Errors: external data that is missing, has the wrong length, or
// is outside the model's folder; a model that would be too large; system errors; for
// RootWeights::reference, weights outside the output folder. Takes as long as copying the bytes
// written, and a few MB of memory whatever the weights.
Result<OnnxWritten, Fault> write_onnx_split(const LoadedModel& model, const OnnxPieces& pieces,
                                            const OnnxWriteOptions& options,
                                            const OutputFolder& folder);

// ---- split job ----
//
// The data shared by all files of one split, computed once, and the code that partitions and root
// have in common.

// Types of values in written files: ValueInfoProtos. The file's own is used if it agrees with the
// graph; otherwise one is made from the graph's dtype and shape.
class OnnxValueInfos {
 public:
  // `model` must outlive this.
  explicit OnnxValueInfos(const LoadedModel& model);

  // The declaration of a value among the file's inputs, outputs and value_info; null if there is
  // none.
  const OnnxValueInfo* declared(ValueId value) const { return declared_[value]; }
  // False when the declaration of a tensor states another dtype or shape than the graph knows, as an
  // open dim does that was bound. True if there is no declaration or the dtype is not known.
  bool is_declared_as_known(ValueId value) const;
  // A ValueInfoProto with all that is known: dims under their names in the graph, no shape if the
  // rank is unknown, no type if that is unknown.
  std::string known(ValueId value) const;

  // True when a session can take or give the value with the type that known() states.
  bool has_type(ValueId value) const;
  // False for a tensor of unknown rank, and if has_type() is false.
  bool has_rank(ValueId value) const;

 private:
  const Graph& graph_;
  const OnnxModel& model_;
  PerValue<const OnnxValueInfo*> declared_;
};

// Quantization annotations: which initializers hold the scale and zero point of a value. Tools that
// quantize use them, runtimes do not; each written file keeps those of its values.
struct OnnxAnnotation {
  std::string_view field;                 // the whole record, a field of GraphProto
  std::vector<std::uint32_t> parameters;  // indices of initializers
};

class OnnxAnnotations {
 public:
  explicit OnnxAnnotations(const LoadedModel& model);

  bool empty() const { return annotations_.empty(); }
  // The annotations about the values, in the values' order.
  std::vector<const OnnxAnnotation*> about(const std::vector<ValueId>& values) const;

 private:
  std::vector<OnnxAnnotation> annotations_;
  std::unordered_multimap<std::uint32_t, std::uint32_t> by_value_;
};

// weights.bin, with RootWeights::shared: the weights of all partitions, each once, however many
// partitions read it. Small ones are written into each file all the same; see kSmallReference.
struct OnnxSharedWeights {
  static constexpr std::string_view kFile = "weights.bin";
  BytePieces data;
  std::vector<std::optional<std::uint64_t>>
      offsets;  // by initializer; empty: there is no such file
};

// Adds elements where a runtime can use them in place, and returns where: from 1 MiB on at a multiple of
// 4,096 bytes, a page; smaller ones at a multiple of 64, since pages of many small weights are mostly
// padding. (ONNX Runtime draws the same line for the weights that it writes.)
std::uint64_t add_aligned(BytePieces& data, const ByteRange& elements);

struct OnnxSplitJob {
  const LoadedModel& model;
  const Partition& partition;
  const Boundaries& boundaries;       // of the partitions' own files
  const Boundaries& root_boundaries;  // as the root calls the partitions
  const OnnxWriteOptions& options;
  OnnxSource source;
  OnnxValueInfos value_infos;
  OnnxFunctionCalls function_calls;
  OnnxAnnotations annotations;
  // The opset imports of every written model and function: the model's, with the default domain as
  // "".
  std::vector<std::pair<std::string_view, std::int64_t>> opsets;
  std::vector<std::string> files;  // by part: `<part>.onnx`
  // With RootWeights::reference: where weights are, by file of `source`; see onnx_references().
  std::vector<std::string> references;
  OnnxSharedWeights shared = {};
  OnnxNodeTags tags;

  const Graph& graph() const { return model.graph; }
  const OnnxModel& onnx() const { return *model.onnx(); }
  // See OnnxNodes::read().
  const OnnxNode& record(NodeId node, OnnxNode& room) const {
    return onnx().graph.nodes.read(onnx().node_index[index(node)], room);
  }
  // The initializer that holds a parameter of the file, by index.
  std::uint32_t initializer(ValueId parameter) const {
    return onnx().tensor_index[index(parameter)];
  }
  // The place outside this file to which it refers for the initializer's elements; nullopt when
  // they are copied into it.
  std::optional<OnnxLocation> reference(std::uint32_t initializer) const;
};

// The model's opset imports, each domain once. Domains that nodes use but the model does not import
// are added with version 1, as ONNX Runtime assumes.
std::vector<std::pair<std::string_view, std::int64_t>> opset_imports(const OnnxModel& onnx);

// Adds a node or constant, with its tags, as the given field of a graph or function. If the file
// gives one name to several nodes, which no runtime accepts, it is written under its name in the
// graph. A node without a name keeps none.
void add_node(const OnnxSplitJob& job, BytePieces& out, std::uint32_t field, NodeId node);

// The fields of a ModelProto before its graph; at least `least_ir_version`.
std::string model_head(const OnnxSplitJob& job, std::int64_t least_ir_version);

struct OnnxModelTail {
  std::string made;                                 // fields of this file only
  std::vector<std::uint32_t> functions;             // the model's functions that this file needs
  std::vector<std::string_view> metadata_left_out;  // keys that `made` sets
};
// The fields after the graph: opset imports, metadata, functions, and what cleave does not know.
void add_model_tail(const OnnxSplitJob& job, BytePieces& out, const OnnxModelTail& tail);

// Adds a message, header and pieces, as a field of another.
void add_field(BytePieces& out, std::uint32_t field, const BytePieces& payload);

// ---- written models ----
//
// The models that a split is written as: a partition, the root that calls them all, the annotated original.

// One partition of a split as a model of its own: its inputs and outputs are the partition's
// boundary, its weights are inside.

// Where a partition's files hold the elements of an initializer.
struct OnnxPlacedWeight {
  std::uint32_t initializer;
  bool in_data;  // in `<part>.onnx.data`, else in `<part>.onnx`
  std::uint64_t offset;
};

struct OnnxPart {
  BytePieces model;
  BytePieces data;  // `<part>.onnx.data`, for weights that do not fit into the model; usually empty
  std::vector<OnnxPlacedWeight> weights;
};

// The partition's outputs: those of its boundary, or, if it has none, those of its last node, since
// a model must have outputs. Empty when no node of it has outputs.
std::vector<ValueId> part_outputs(const OnnxSplitJob& job, PartId part);

// Lays the partition's files out. Error: the model would be larger than protobuf can read even with
// its weights in a file of their own.
Result<OnnxPart, std::string> build_onnx_part(const OnnxSplitJob& job, PartId part);

// A partition as a model-local function of root.onnx.
struct OnnxFunctionBody {
  BytePieces pieces;                     // the FunctionProto
  std::vector<std::string_view> inputs;  // boundary inputs, then weights
  std::vector<std::uint32_t> weights;    // initializers passed as inputs
  // constants whose outputs are passed as inputs, too: they are in the root
  std::vector<NodeId> constants;
};

// root.onnx: the whole split as one model that runs. Each partition is a model-local function,
// called once, in order, from a main graph with the original's inputs and outputs:
//
//   main graph:  x, w1 -> _run_on_cpu_0 -> h -> _run_on_acc_1 (also w2) -> y
//
// Large weights are in the root and passed as inputs, so that they are written once and a runtime
// can share them. Small ones, and the constants that a partition needs, are made inside its
// function, so that a tool that reads a function alone sees them as constants.

// Where root.onnx and annotated.onnx have the weights: inside, in the files of partitions, or where
// they were before.

// Where the elements of each initializer are in the files of partitions.
struct OnnxWeightPlaces {
  struct Place {
    std::uint32_t file = kNowhere;  // index into `files`
    std::uint64_t offset = 0;
  };
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  std::vector<std::string> files;
  std::vector<Place> by_initializer;
};

// Lays root.onnx out; leaves out partitions without outputs. `contexts`, by part, or empty: compiled
// partitions, whose nodes take the places of their calls; inputs and outputs of the model then have
// the sizes that they are bound to. Error: the file would be larger than protobuf can read.
Result<BytePieces, std::string> build_onnx_root(const OnnxSplitJob& job,
                                                const OnnxWeightPlaces& places,
                                                std::span<const OnnxContext> contexts = {});

// annotated.onnx: the original unsplit model, each node with the name of its partition as
// `layer_ann` in its metadata_props. ONNX Runtime places nodes by it:
//
//   session.layer_assignment_settings = "gpu(_run_on_acc);cpu(_run_on_cpu)"
//
// All else is copied unchanged; weights follow the same rule as in root.onnx.

// Lays annotated.onnx out. Constants are in no partition and get no annotation. Error: the file
// would be larger than protobuf can read.
Result<BytePieces, std::string> build_onnx_annotated(const OnnxSplitJob& job,
                                                     const OnnxWeightPlaces& places);

// ---- cutter ----
//
// Cutter: writes pieces of an ONNX model as models of their own, one after another. Data about the
// whole model is computed once, so that a piece only costs its own size.

struct CutPiece {
  std::vector<ValueId> inputs, outputs;  // in the order of the written model
  // Inputs of unknown type: ONNX Runtime does not load the piece.
  std::vector<ValueId> untyped = {};
};

class OnnxCutter {
 public:
  // Linear in the model. `model` must be ONNX and outlive this. With RootWeights::reference,
  // weights stay where they are, for pieces written to the folder `references_from` (see
  // OnnxSource); otherwise they are copied. Errors: missing external data; with references, a
  // folder from which runtimes do not follow them.
  static Result<OnnxCutter, Fault> open(const LoadedModel& model, RootWeights weights,
                                        const std::string& references_from);
  // As above; copies weights.
  static Result<OnnxCutter, Fault> open(const LoadedModel& model) {
    return open(model, RootWeights::inlined, {});
  }

  OnnxCutter(OnnxCutter&&) noexcept;
  OnnxCutter& operator=(OnnxCutter&&) noexcept;
  ~OnnxCutter();

  // Writes the model of `nodes`, which are in model order and convex, to `output`, and weights that
  // do not fit to a file next to it, `<output>.data`, and the files that its EPContext nodes name to
  // where they name them. A piece whose values are not read outputs what its last node makes; with
  // `ends`, nodes need not be convex: see find_piece_boundary(). Linear in the piece's edges and the bytes written, plus clearing
  // about 10 bytes for each value of the model.
  Result<CutPiece, Fault> write(std::span<const NodeId> nodes, const OutputPath& output,
                                const PieceEnds* ends = nullptr);

 private:
  struct State;
  explicit OnnxCutter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// ---- context files ----
//
// The files that EPContext nodes name go along with the nodes.

// What becomes of files that are where the copies will be.
enum class OldFiles : std::uint8_t { stay, removed };

// Copies the files that the nodes name to the same place beside `model`, which is written. A file that
// is not in the model's folder, or not there, is left out: its reader has warned of it. Where old files
// stay, one with the same bytes needs no copy.
Status<Fault> copy_context_files(const OnnxSplitJob& job, std::span<const NodeId> nodes,
                                 const OutputPath& model, OldFiles old_files);

// ---- piece hash ----
//
// A hash of what a compiler sees of a piece: equal layers of a model, and the same piece cut from
// another file, have the same hash. It ignores names of nodes and values, documentation, metadata
// and the producer, and covers everything else.

// SHA-256 of the canonical form of a model: nodes in their order, values numbered in order of first
// use, attributes sorted by name, weights by content. nullopt if the bytes are not a model, or
// weights are in another file. Linear in the bytes, which are not copied.
std::optional<std::string> piece_hash(std::string_view model);

}  // namespace cleave
