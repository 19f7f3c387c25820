// Lowering with real compilers: parts cut, compiled, compared, searched.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "core/lowering/lowering.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/model.h"
#include "formats/base/process.h"
#include "formats/models/models.h"
#include "formats/onnx/write/writer.h"
#include "formats/run/backend/backend.h"

namespace cleave {

// ---- verdict store ----
//
// Known verdicts: those of this run, those in the journal of a killed run, and those in the cache
// shared by all runs.
//
//   journal   one line of JSON for each verdict, written when it is added; a last line that is cut off
//             is dropped. A run that was killed loses the compiles that were running. Other lines name
//             the run's temporary folders, which the next run removes. The journal is locked, so
//             that only one run at a time uses it.
//   cache     one file for each verdict, named by its key: cleave's version, backend file, the
//             backend's version, the files and variables that it works with, piece, and what was compared how.
//             A question that is asked once more, as before a rule is learned, is never answered from it. Timeouts
//             and crashes are not kept unless failures are trusted, since they may have other causes than the piece.
//
// Both may have been damaged since: a line with a field that cleave would not have written is no
// verdict.

// $XDG_CACHE_HOME/cleave/lower, else ~/.cache/cleave/lower; "" when neither is set.
std::string default_verdict_cache();

// The number of verdicts in the journal at `path`; 0 when there is none.
std::size_t count_journaled(const std::string& path);

class VerdictStore {
 public:
  // Folders of the cache are made when they are needed; "": no cache.
  explicit VerdictStore(std::string cache_folder, bool trusts_failures = false)
      : cache_(std::move(cache_folder)), trusts_failures_(trusts_failures) {}
  VerdictStore(const VerdictStore&) = delete;
  VerdictStore& operator=(const VerdictStore&) = delete;

  // Reads the journal and continues it; removes temporary folders that its earlier runs left when
  // they were killed. `folders`: absolute paths of those that this run has made. Error: the file is
  // not such a journal, cannot be written, or another run uses it.
  Status<Error> open_journal(const std::string& path, const std::vector<std::string>& folders = {});

  // The known verdict for the key. One from the journal is not a cache hit, since this run made it.
  // nullopt: the caller must ask and then add() the verdict; other threads that look for the key
  // wait for it, so that no piece is compiled twice.
  // `may_be_kept`: by an earlier run, in the cache.
  std::optional<Attempt> find(const std::string& key, bool may_be_kept = true);
  // Puts a verdict in the place of a refusal that the cache has for the key; else does nothing.
  void replace_kept(const std::string& key, const Attempt& attempt);
  // Adds a verdict, once for each key. The journal gets it when it is the compiler's answer: a fault
  // on our side, or of a run that is being stopped, is none. Error: the journal cannot be written.
  Status<Error> add(const std::string& key, const Attempt& attempt);
  // Lets another thread ask, if the verdict was not added.
  void release(const std::string& key);

 private:
  std::string cache_path(const std::string& key) const;
  std::optional<Attempt> find_in_cache(const std::string& key) const;

  bool is_worth_keeping(LowerVerdict verdict) const;
  void keep(const std::string& key, const Attempt& attempt) const;

  std::string cache_;
  bool trusts_failures_;
  std::optional<JournalFile> journal_;
  std::mutex mutex_;
  std::condition_variable added_;
  std::unordered_set<std::string> asked_;          // by a thread that has not added the verdict yet
  std::unordered_map<std::string, Attempt> seen_;  // in this run
  // from the previous run, and not asked for yet
  std::unordered_map<std::string, Attempt> journaled_;
};

// Releases a key for which find() knew nothing, when the caller's scope ends, however it ends.
class AskedKey {
 public:
  AskedKey(VerdictStore& store, std::string key) : store_(store), key_(std::move(key)) {}
  ~AskedKey() { store_.release(key_); }
  AskedKey(const AskedKey&) = delete;
  AskedKey& operator=(const AskedKey&) = delete;

 private:
  VerdictStore& store_;
  std::string key_;
};

// ---- reference run ----
//
// The reference's results for a model: each tensor of one run of the whole model, by the name of
// its value. Boundary shapes are pinned to these, and the values of pieces are compared with them.

struct ReferenceTensor {
  DType dtype = DType::unknown;
  std::vector<std::int64_t> shape;
  std::string file = {};          // a TensorProto
  bool is_small_integer = false;  // int32 or int64, of at most 16 elements
  // It holds infinities that constants of the model bring in, as a mask does, and no NaN.
  bool is_infinite_by_constants = false;
};

// The size that the reference took for an open dim of an input of the model.
struct TakenSize {
  std::string input;
  std::size_t axis = 0;
  std::int64_t size = 0;
  std::string why;  // "as given", "a picture", ...
};

struct ReferenceRequest {
  std::string folder;  // for tensors
  std::string inputs;  // a .npz file, or a folder of ONNX test data; "" draws them from `seed`
  std::uint64_t seed = 0;
};

struct ReferenceFault {
  std::string message;
  bool is_of_inputs = false;  // false: the reference does not start, or cannot run the model
  bool is_of_run = false;     // it opened the model, and no run came to an end
};

class ReferenceRun {
 public:
  // Runs the model once in the worker of `session`, which must serve "capture". Where the file does not hold
  // the nodes of the graph, as an If that was decided, a model of these runs, too, on the same inputs.
  static Result<ReferenceRun, ReferenceFault> make(BackendSession& session,
                                                   const LoadedModel& model,
                                                   const ReferenceRequest& request);

  // Null for a value that is not in the run, or not a tensor.
  const ReferenceTensor* find(std::string_view name) const;
  std::size_t count() const { return tensors_.size(); }
  // In the order of the inputs and their axes.
  const std::vector<TakenSize>& taken() const { return taken_; }
  // Its inputs are random ones, and nobody gave them.
  bool is_drawn() const { return is_drawn_; }

 private:
  Status<ReferenceFault> add_run(BackendSession& session, const std::string& request);
  void add_folded_run(BackendSession& session, const LoadedModel& model,
                      const ReferenceRequest& request);
  bool has_all(const Graph& graph) const;

  std::unordered_map<std::string, ReferenceTensor> tensors_;
  std::vector<TakenSize> taken_;
  bool is_drawn_ = true;
};

// How the run's tensor differs from what the graph declares of the value, in type, rank or a size:
// "is float32 (2,2), and the model declares float32 (1,3)"; "" when it does not. Such a run is of
// another model, or of other sizes than the user said: no compiler is to blame for what it does with it.
std::string mismatch_text(const Graph& graph, ValueId value, const ReferenceTensor& tensor);

// True when all that the nodes read and give in the runs is finite, as far as it is known, or infinite by constants
// of the model, so that it is known what is right. Reads these
// tensors; linear in their elements.
bool has_finite_values(const Graph& graph, std::span<const NodeId> nodes,
                       std::span<const ReferenceRun> runs);

// Order of ties: outputs of TopK, ArgMax and ArgMin with other indices than the reference's, where
// the elements at these indices are equal. ONNX takes the lower index first; many compilers do not.
struct IndexOutput {
  std::string_view op;     // "TopK", "ArgMax", "ArgMin"
  std::int64_t axis = -1;  // the axis of `data` that indices refer to
  const Tensor& data;
  const Tensor& wants;  // int64 indices
  const Tensor& is;
};

// The first of the values of which a run has other than the graph declares, in words with the way out;
// "" when all are as declared. Linear in values and runs.
std::string mismatch_of(const Graph& graph, std::span<const ValueId> values,
                        std::span<const ReferenceRun> runs);

// How outputs differ of which each element is a whole number of steps: 8-bit integers, and floats
// that a DequantizeLinear makes of them, all multiples of its scale.
//
//   one_step  by one step, and only in a few elements (a twentieth; one at least): two right
//             computations may, since a value half way between two steps may fall to either
//   none      by no more steps than the tolerance for integers allows
//   other     in any other way
enum class StepDifference : std::uint8_t { none, one_step, other };

// `wants` and `is` differ beyond the tolerance. Linear.
StepDifference step_difference(const Tensor& wants, const Tensor& is,
                               const CompareTolerance& tolerance);

// How far the values are apart: the root of the mean square of the differences, as a share of that of the wanted values;
// of 8-bit integers, of what these are off their mean. nullopt where types or shapes differ, or one is not finite,
// but for equal infinities. Linear.
std::optional<double> share_apart(const Tensor& wants, const Tensor& is);

// True when the values differ little as a whole: the mean square of the differences is at most a hundredth
// of that of the wanted values, both as roots; of 8-bit integers, of what these are off their mean. Behind a quantisation right computations differ so, since
// one rounds up what the other rounds down; a fault differs by more. False when one is not finite. Linear.
bool is_of_rounding(const Tensor& wants, const Tensor& is);

// True when floats differ as those of a lower precision do: little as a whole (is_of_rounding), and no one
// of them by more than a fiftieth of the largest wanted. A small sum of large terms that cancel is off by
// a share of the terms, so that no tolerance of its own size holds for it. Linear.
bool is_of_lower_precision(const Tensor& wants, const Tensor& is);

// True when the value is what a DequantizeLinear makes, but for operators that only move elements or
// leave them out: its floats are steps of a scale.
bool is_dequantised(const Graph& graph, ValueId value);

// True when the shapes agree and each index of `is` refers to an element equal to that of `wants`.
// Linear in the indices. False for other ops, and for indices out of range.
bool is_tie_order(const IndexOutput& output);

// ---- inner shapes ----
//
// Shapes inside a piece, as a run of the reference has them: of the values between its nodes, and of
// what the bodies of Loop and Scan take and give. Some compilers do not infer these themselves, and
// refuse an operator for it that they take when they are written down.

struct InnerShapes {
  // By place; nullopt: it stays as it is.
  struct Body {
    std::vector<std::optional<Sizes>> inputs, outputs;
  };
  std::map<std::string, std::string> types;  // by value made in the piece: its TypeProto
  std::map<std::string, Body> bodies;        // by the first output of the node

  bool is_empty() const { return types.empty() && bodies.empty(); }
};

// Empty when all shapes are known and no node has a body: what is behind one, compilers may not see. Left
// out are shapes that depend on elements (NonZero and the like), and the branches of an If, of which the
// run took one. Linear in the nodes' operands.
InnerShapes inner_shapes(const Graph& graph, std::span<const NodeId> nodes,
                         const ReferenceRun& run);

// ---- piece change ----
//
// Changes to a piece other than to its nodes: boundary shapes pinned to those of a run, inputs
// frozen to constants, inputs that are equal to others left out, shapes inside stated. Weights are copied from file to
// file.

struct PieceChange {
  std::unordered_map<std::string, std::vector<std::int64_t>> shapes;  // of inputs and outputs
  std::unordered_map<std::string, Tensor> frozen;                     // inputs
  // Inputs that become copies of others: (input, the other).
  std::vector<std::pair<std::string, std::string>> copies = {};
  InnerShapes inner = {};

  bool empty() const {
    return shapes.empty() && frozen.empty() && copies.empty() && inner.is_empty();
  }
};

// Writes the model at `from` to `to` with the changes. Omits types stated for inner nodes where shapes
// change, since they may be open. Linear in the bytes.
Status<Fault> write_changed_piece(const std::string& from, const std::string& to,
                                  const PieceChange& change);

// The TypeProto with these dims, when it is that of a tensor; else as it is.
std::string type_with_shape(std::string_view type, const std::vector<std::int64_t>& dims);

// ---- piece cutter ----
//
// PieceCutter: cuts pieces out of a model, as models of its own format that compilers take.

class PieceCutter {
 public:
  // Whether pieces of models of the format can be cut: of all that are not native JSON.
  static bool can_cut(ModelFormat format);
  // The model must be of such a format, and outlive this. Errors: those of OnnxCutter::open().
  static Result<PieceCutter, Fault> open(const LoadedModel& model);

  // Writes the model of `nodes`, which are in model order and convex. Linear in the piece and the
  // bytes written for ONNX, in the model's nodes for torch, in its tables for TensorFlow Lite.
  Result<CutPiece, Fault> write(std::span<const NodeId> nodes, const OutputPath& output);

 private:
  explicit PieceCutter(const LoadedModel& model) : model_(&model) {}
  Result<CutPiece, Fault> write_pt2(const Partition& piece, const OutputPath& output) const;
  const LoadedModel* model_;
  std::optional<OnnxCutter> onnx_;  // of an ONNX model
  std::vector<ValueId> values_;     // of a program of torch: by number in it
};

// How names of files with pieces of the model end: ".onnx", ".tflite", ".pt2".
std::string_view piece_ending(const LoadedModel& model);

// ---- piece lowerer ----
//
// PieceLowerer: cuts a piece out of the model, changes it by the given remedies, and passes it to
// one backend: check, compile, and, with reference values, run and compare. A backend is not asked
// again for a known verdict.

// Turns: lanes run backends beside each other, and a lane that needs the machine for itself waits until
// it has it.
class Turns {
 public:
  Turns(bool has_others, std::function<void(const std::string&)> warn)
      : has_others_(has_others), warn_(std::move(warn)) {}
  // False with one lane: nothing ever runs beside a piece.
  bool has_others() const { return has_others_; }
  // Held while a backend runs.
  std::shared_lock<std::shared_mutex> beside_others() { return std::shared_lock(mutex_); }
  std::unique_lock<std::shared_mutex> alone() { return std::unique_lock(mutex_); }
  // True the first time that a failure of this kind is met: it was not yet seen alone.
  bool is_first(const std::string& failure);
  // Counts compiles in a row that took too long: of the second one the user is told what it costs to go on.
  void note(const Attempt& attempt);

 private:
  bool has_others_;
  std::shared_mutex mutex_;
  std::mutex seen_mutex_;
  std::set<std::string> seen_;                    // failures
  std::function<void(const std::string&)> warn_;  // or empty
  std::size_t late_ = 0;                          // in a row
};

// The context of lowering pieces. All that it refers to must outlive the lowerer.
struct PieceContext {
  const LoadedModel& model;
  PieceCutter& cutter;  // of the model
  VerdictStore& store;
  Turns& turns;                           // of all lanes
  std::span<const ReferenceRun> samples;  // empty: no freezing or comparison
  // Shapes to pin when there are no samples. Its content may be made later.
  const std::optional<AssumedShapes>* assumed = nullptr;
  bool compares = false;
  bool is_strict_on_ties = false;  // equal values in another order are wrong values
  std::string folder;              // for files of pieces
  std::string identity;            // of the backend
  std::string made_with;           // see BackendSession::made_with()
};

// An input with the shape that it was pinned to.
struct PinnedShape {
  ValueId input;
  Sizes shape;
  bool is_of_data = false;  // the shape depends on data: another sample may have another
};

// The nodes that the backend names in a refusal.
std::vector<NamedNode> named_in(const Attempt& attempt);

struct PieceResult {
  Attempt attempt;
  bool is_unchanged = false;  // the remedies do not change this piece: the backend was not asked
  bool can_run = true;        // every input and output has a reference value
  std::vector<PinnedShape> pinned = {};  // in the order of the inputs
  std::size_t frozen = 0;
  std::size_t calls = 0;  // of the backend; 0: the verdict was known
  std::string hash;       // of piece_hash(); "" when there is none
  std::optional<ValueId> first_wrong;
};

// How far the values of what is quantised are from those of the model in floats: the roots of the mean squares, as
// shares, over some runs, of the output that is furthest from the reference's share.
struct FloatDistance {
  double backend = 0;
  double reference = 0;
  double most = 1;  // times the reference's
  std::size_t runs = 0;
  // True where the backend is about as far off as the reference: so are two right computations that round ties each in
  // its own way. Where even the reference is far off, the distances say nothing.
  bool is_alike() const { return reference < 0.5 && backend <= most * reference; }
};

// The result as an answer to the culprit search.
Answer answer_of(const PieceResult& result);

class PieceLowerer {
 public:
  // `converter`: the reference's session, which raises opsets; null: there is none.
  PieceLowerer(PieceContext context, BackendSession& session, BackendSession* converter);

  // Error: a failure of cleave itself to write the piece or the journal.
  Result<PieceResult, Error> lower(const Piece& piece);

  // The same, or without the remedies where these do not change the piece.
  Result<PieceResult, Error> lower_changed(Piece piece);

  // The same as answers to the culprit search. An error becomes `unresolved` and is kept.
  Answer answer(const Piece& piece);
  Answer answer_changed(const Piece& piece);
  const std::optional<Error>& error() const { return error_; }

  // Whether the backend refuses models of one Add, one Relu and one Identity in the model's opset:
  // then its answer about the Add; nullopt when it takes one of them, and for a model of another
  // format than ONNX.
  std::optional<Attempt> refusal_of_simple_models();
  // True when the backend has compiled a piece of the model.
  bool has_compiled() const { return has_compiled_; }

  std::size_t calls() const { return calls_; }  // of the backend, for all pieces so far
  std::size_t hits() const { return hits_; }    // pieces with a known verdict

  // Runs a piece that quantises on the samples once more, and the model in floats, without QuantizeLinear; then on inputs
  // near to these until it is about as far off as the reference, or a limit is reached. nullopt where that cannot be
  // told, as of outputs that are all indices.
  std::optional<FloatDistance> distance_to_float(const Piece& piece, const AskingLimits& limits);

  // How many times as far off the piece is as its own rounding explains, on the reference's values; above 1: it is wrong. 0
  // where that cannot be told, as above. A run of the backend and one of the reference.
  double beyond_rounding(const Piece& piece);

  // Compiles the piece, whatever is known of it, and lets a worker keep what it makes in files whose
  // names begin as `out` does. The backend must have a worker that compiles. `same`: by value, the first one
  // that is equal to it; of equal inputs the compiled piece reads one. Empty: none is known to be.
  Result<Attempt, Error> keep(const Piece& piece, const std::string& out,
                              std::span<const ValueId> same = {});

  // Writes the piece as it is handed to the backend; for findings and artefacts.
  Result<CutPiece, Error> write(const Piece& piece, const std::string& path);

 private:
  struct Made {
    std::string path;
    std::vector<ValueId> inputs, outputs;
    PieceResult result;
    bool is_pinned_by_worker = false;  // a program of torch: see PieceFiles::pins
  };
  struct Compared {
    Attempt attempt;
    std::optional<ValueId> first_wrong = {};
  };
  Answer answered(const Result<PieceResult, Error>& result);
  Result<Made, Error> make(const Piece& piece, std::string path = {});
  Status<Error> merge_inputs(Made& made, std::span<const ValueId> same) const;
  PieceChange change_of(const CutPiece& cut, const Piece& piece) const;
  void pin_program(Made& made) const;
  PieceFiles files_of(const Made& made, std::string out) const;
  PieceFiles files_to_run(const Made& made, const ReferenceRun& sample) const;
  std::optional<Sizes> known_shape(ValueId value) const;
  Result<bool, Error> raise_opset(Made& made, std::int64_t opset);
  Sha256 key_begin() const;
  std::optional<std::string> key_of(const Made& made, const Piece& piece) const;
  Compared ask_in_turn(const Made& made, const Piece& piece);
  Compared ask(const Made& made, const Piece& piece);
  bool is_new_failure(const Attempt& attempt);
  std::string mismatch_at(const Made& made, const Piece& piece) const;
  bool is_cut_at(ValueId input, const Piece& piece) const;
  Attempt compile_simple(const TestModel& model);
  Compared run_sample(const Made& made, const Piece& piece, const ReferenceRun& sample);
  Compared compare(const Made& made, const PieceFiles& files, const ReferenceRun& sample,
                   const Piece& piece) const;
  bool has_values(const Made& made) const;
  bool may_have_floats(const Piece& piece) const;
  bool add_float_run(const Made& made, std::size_t run, bool is_alone,
                     std::vector<FloatDistance>& squares);
  bool is_order_of_ties(const Piece& piece, const PieceFiles& files) const;
  bool is_random(ValueId value) const { return random_[index(value)]; }
  std::string_view name(ValueId value) const { return context_.model.graph.value(value).name; }

  PieceContext context_;
  BackendSession& session_;
  BackendSession* converter_;
  std::vector<bool> random_;          // by value: see random_values()
  std::vector<bool> shaped_by_data_;  // by value: its shape depends on data
  std::optional<Error> error_;
  std::uint64_t written_ = 0;
  bool has_compiled_ = false;
  std::size_t calls_ = 0;
  std::size_t hits_ = 0;
};

// ---- part artefacts ----
//
// The artefacts of a partition: what a backend made of it, kept in files of the output folder.

struct Artefact {
  std::string file;  // within the output folder: "artefacts/_run_on_acc_0.qnn.onnx"
  std::string role;  // "main", "data"
  std::uint64_t bytes = 0;
  std::string sha256;
};

struct PartArtefacts {
  std::vector<Artefact> files = {};
  std::vector<std::string> inputs = {}, outputs = {};            // of the main file, in its order
  std::vector<std::pair<std::string, std::string>> target = {};  // what it was made for
  std::string why = {};                                          // why there are none
};

// True for a backend whose worker compiles: it may keep what it makes.
bool may_keep(const Backend& backend);

struct ArtefactPaths {
  std::string folder;                  // where they go; made when there is one
  std::string work;                    // for the backend's output; must not exist
  std::string stem;                    // of their names
  std::span<const ValueId> same = {};  // see PieceLowerer::keep()
};

// Compiles the piece once more, and moves what the worker keeps to the folder. Error: the disk.
Result<PartArtefacts, Error> keep_artefacts(PieceLowerer& lowerer, const Piece& piece,
                                            const ArtefactPaths& place);

// ---- lower outcome ----
//
// The outcome of a lowering: the rounds, the verdict on each partition, and the findings on those
// that were not lowered.
//
//   round     a split, and the verdict of each backend on each accelerator partition
//   learned   deny rules made from culprits
//   remedy    a change that makes a partition compile without denying a node: see core/lowering

// Why a backend does not lower a partition, or only with a remedy.
struct LowerFinding {
  std::size_t round = 1;
  std::size_t backend = 0;
  std::string part;
  Finding finding;
  std::optional<ValueVerdict> values = {};  // for wrong values
  std::vector<NodeId> deciders = {};        // for ValueVerdict::rounding_decides
  std::optional<NodeId> necessary = {};     // for ValueVerdict::together: the one to be denied
  std::string rule = {};                    // the learned rule in words; "": none
  std::size_t cases = 0;                    // that the rule is made of
  bool is_weak = false;                     // these are so few that the rule may be wrong
  bool has_open_shapes = false;             // its nodes had them when they were refused
  bool is_cut_from_qdq = false;  // it was tried without its QuantizeLinear or DequantizeLinear

  // True where a quantised operator computes wrong values as a whole: its scales decide, of which no rule of its op speaks.
  bool is_wrong_as_quantised() const {
    return values && finding.kind == FindingKind::culprit &&
           finding.within.size() > finding.nodes.size();
  }
};

struct LoweredPart {
  std::string name;
  std::vector<NodeId> nodes;  // model order
  std::size_t backend = 0;
  Attempt attempt;         // with the remedy that works, if there is one; else without remedies
  Remedies remedies = {};  // those that make it pass
  bool is_lowered = false;
  std::vector<PinnedShape> pinned = {};  // inputs
  std::size_t frozen = 0;                // inputs
  bool needs_sizes = false;              // refused as it is, but compiles with assumed shapes
  std::string hash = {};
  std::optional<std::size_t> finding = {};  // its first one; an index into LowerOutcome::findings
  std::optional<PartArtefacts> artefacts = {};  // nullopt: they were not asked for
};

// A split of the model bound to sizes, against that of the last round.
struct BoundSplit {
  bool is_same = false;               // the same nodes in each accelerator partition
  std::vector<ValueId> other_shapes;  // pinned inputs that have no such shape in it
};

// What one of several targets has in a round.
struct RoundOfTarget {
  std::size_t parts = 0;
  std::size_t nodes = 0;
};

struct LowerRound {
  std::size_t acc_parts = 0;
  std::size_t acc_nodes = 0;
  std::vector<RoundOfTarget> targets = {};  // of several
  // By partition, then by backend. Of several targets: by the backends of the partition's.
  std::vector<LoweredPart> parts;
  std::vector<Rule> learned;      // from this round
  bool has_learned_size = false;  // from this round: a lower one of LowerOutcome::limits
  double seconds = 0;
};

// What a list gets.
struct Learned {
  std::vector<Rule> rules = {};  // deny rules
  PartLimits limits = {};
  // Of several targets: what the lists of each get; the fields above have all of it. A node that one
  // is denied goes to the next that takes it.
  std::vector<Learned> by_target = {};

  bool is_empty() const { return rules.empty() && !limits.is_any(); }
};

struct LowerOutcome {
  std::vector<std::string> identities;  // by backend
  std::string reference;                // its identity; "": none
  std::string lack_of_reference;        // why the one that is the default was not used
  std::vector<TakenSize> taken;         // by the reference, for open dims
  std::vector<LowerRound> rounds;
  std::vector<LowerFinding> findings;
  std::vector<Rule> learned;                    // target by target
  std::vector<Learned> learned_by_target = {};  // of several targets
  std::vector<std::string> targets = {};        // their names
  PartLimits limits = {};  // larger partitions fail, whatever their nodes: of the learned list
  Learned denied;          // what of it the last round's split was made with
  std::size_t nodes = 0;
  std::size_t nodes_lowered = 0;  // by every backend
  std::size_t compiler_runs = 0;
  std::size_t artefact_runs = 0;  // further runs, to keep what was compiled
  std::size_t cache_hits = 0;
  std::size_t samples = 0;     // the number of inputs on which values were compared
  bool takes_nothing = false;  // the lists accept no node from the start: nothing was compiled
  bool is_clean = false;
  // By the best earlier run of the same, where it is kept and better.
  std::optional<std::size_t> lowered_before = {};
  bool is_eroding = false;       // round after round the readers of the last culprit fail
  bool is_driver_fault = false;  // no backend got as far as a verdict
  // With which sizes of the open inputs partitions compiled: those of the reference run, else those
  // that were assumed, which are then a proposal. Empty: no shape had to be pinned.
  ShapeBindings sizes = {};
  // What the same split has when the model is bound to these sizes; nullopt without sizes.
  std::optional<BoundSplit> bound = {};
  double seconds = 0;  // in all
  double backend_seconds =
      0;  // of these spent waiting for backends and the reference, by each lane

  Learned learned_list() const { return {learned, limits, learned_by_target}; }
};

// ---- lowering pool ----
//
// LoweringPool: the resources for lowering pieces of a model. Each thread ("lane") has a session of
// every backend, one of the reference, and a cutter. All lanes share the known verdicts and the
// reference's values.

struct PoolOptions {
  std::optional<Backend> reference = {};
  bool is_reference_optional =
      false;  // without it the run goes on, and says why: nobody asked for it
  std::vector<std::string> inputs = {};  // one sample each; empty: one random sample
  std::uint64_t seed = 0;
  bool compares = false;
  bool is_strict_on_ties = false;  // equal values in another order are wrong values
  bool trusts_failures = false;    // timeouts, crashes and lack of memory are cached, too
  std::size_t jobs = 1;            // lanes; fewer where a backend states less
  std::vector<std::string> launcher = {};
  std::string cache_folder = {};  // "": none
  std::string journal = {};       // "": none
  std::string work_folder = {};   // absolute; must exist
  // Absolute paths of temporary folders of the run: if it is killed, the next one removes them.
  std::vector<std::string> left_if_killed = {};
  Progress progress = {};
  std::function<void(const std::string&)> warn =
      nullptr;  // tells the user at once; any thread calls it
};

class LoweringPool {
 public:
  // Starts a session of each backend and runs the reference, if there is one. Pieces of the
  // model must be cuttable (see PieceCutter); model, backends and options must outlive the pool.
  static Result<std::unique_ptr<LoweringPool>, Fault> start(const LoadedModel& model,
                                                            const std::vector<Backend>& backends,
                                                            const PoolOptions& options);
  ~LoweringPool();
  LoweringPool(const LoweringPool&) = delete;
  LoweringPool& operator=(const LoweringPool&) = delete;

  Lanes& lanes() { return lanes_; }
  // Call it only in a job of that lane.
  PieceLowerer& lowerer(std::size_t lane, std::size_t backend);

  // The fault of a backend that refuses even models of one simple op, and has compiled nothing of
  // the model: what it says of the model says nothing. Asks it only when it has compiled nothing.
  std::optional<Fault> fault_of_backend(std::size_t backend);

  const std::vector<Backend>& backends() const { return backends_; }
  const std::vector<std::string>& identities() const { return identities_; }  // by backend
  const std::string& reference() const { return reference_; }                 // "": none
  // Why there is none, when it was optional.
  const std::string& lack_of_reference() const { return lack_of_reference_; }
  const std::vector<ReferenceRun>& samples() const { return samples_; }
  // The shapes of the model with assumed sizes of its open inputs, made at the first call; nullopt
  // when no input is open or none can be assumed. Any thread may call it.
  const std::optional<AssumedShapes>& assumed();
  // The sizes of open inputs that shapes are pinned to: the reference's, else those assumed.
  ShapeBindings pinned_sizes();
  std::size_t compiler_runs() const;
  std::size_t cache_hits() const;
  double backend_seconds() const;  // spent waiting for backends and the reference, by all lanes

 private:
  struct Lane;
  LoweringPool(const LoadedModel& model, const std::vector<Backend>& backends,
               const PoolOptions& options);
  std::optional<Fault> set_up();
  void make_sessions(std::size_t lane);
  std::optional<Fault> identify(Lane& lane);
  std::optional<Fault> run_reference(Lane& lane);
  bool has_given_sizes() const;
  void do_without_reference(const std::string& why);
  void make_lowerers(std::size_t lane);

  const LoadedModel& model_;
  const std::vector<Backend>& backends_;
  const PoolOptions& options_;
  VerdictStore store_;
  Turns turns_;
  std::vector<ReferenceRun> samples_;
  std::once_flag is_assumed_;
  std::optional<AssumedShapes> assumed_;
  std::vector<std::string> identities_;  // by backend
  std::vector<std::string> made_with_;   // by backend: read once, for all lanes
  std::string reference_;
  std::string lack_of_reference_;
  std::vector<Lane> lane_;
  Lanes lanes_;  // last: its threads end before what they use
};

// ---- part search ----
//
// PartSearch: the culprit search on one partition that a backend does not lower, with the remedies
// that may help it.

enum class CulpritSearch : std::uint8_t { none, hint, node, minimal };

struct SearchSettings {
  CulpritSearch culprits = CulpritSearch::node;
  std::size_t most_findings = 5;
  std::size_t most_runs = 64;   // of the backend, for one partition
  double most_seconds = 0;      // for one partition; 0: no limit
  bool pins_shapes = true;      // needs a reference
  bool freezes_values = false;  // needs a reference
  bool assumes_sizes = false;   // of open inputs, to pin shapes without a reference
};

// A partition that failed, and how it failed.
struct PartFailure {
  LoweredPart& part;
  const PieceResult& result;
};

struct PartFindings {
  std::vector<LowerFinding> findings;  // round is not set
  bool is_remedied = false;            // the partition as a whole compiles with a remedy
  bool blames_nothing = false;  // values differ, and no node is to blame: it says nothing of others
};

class PartSearch {
 public:
  // All must outlive this. `asked` is called before each question with the number of backend runs.
  PartSearch(const Graph& graph, LoweringPool& pool, const SearchSettings& settings)
      : graph_(graph), pool_(pool), settings_(settings) {}

  // Searches for culprits. If a remedy works, the part gets its result. Call it in a job of `lane`.
  //
  // With assumed sizes a part only compiles if the model gets such sizes: it needs them, and is not
  // lowered.
  PartFindings search(const PartFailure& failed, std::size_t lane,
                      const std::function<void(std::size_t runs)>& asked) const;
  // Takes note of a limit that later searches need not find again.
  void know(std::size_t backend, SizeLimit limit) { known_[backend].push_back(std::move(limit)); }

 private:
  PartFindings take_left(const PartFailure& failed, PieceLowerer& lowerer) const;
  static void excuse_ties(LoweredPart& part, PieceLowerer& lowerer, AskingLimits limits,
                          PartFindings& found);
  static void excuse_precision(LoweredPart& part, const PartFindings& found);
  bool may_pin() const;
  void drop_if_assumed(Finding& finding, const Oracle& plain) const;
  void drop_if_untyped(Finding& finding) const;
  void mark_open(LowerFinding& found) const;
  void change_cuts(FailedPartition& partition, const Oracle& oracle) const;
  void confirm(const LoweredPart& part, PieceLowerer& lowerer, PartFindings& found) const;
  static void take_second_try(LoweredPart& part, PieceLowerer& lowerer, const PartFindings& found);
  static bool fails_again(Piece piece, std::uint32_t times, PieceLowerer& lowerer);
  std::vector<Remedies> hypotheses(std::size_t backend) const;
  bool take_remedy(LoweredPart& part, Finding& finding, PieceLowerer& lowerer) const;

  const Graph& graph_;
  LoweringPool& pool_;
  const SearchSettings& settings_;
  std::map<std::size_t, std::vector<SizeLimit>> known_;  // by backend
};

// ---- rule book ----
//
// RuleBook: the evidence of a lowering, backend by backend, and the deny rules that it speaks for.

class RuleBook {
 public:
  // `backends`: their names and versions, for the reasons of rules. Graph and facts must outlive
  // this.
  RuleBook(const Graph& graph, const OpFacts& facts, std::vector<std::string> backends)
      : graph_(graph), facts_(facts), backends_(std::move(backends)), evidence_(backends_.size()) {}

  // Records that the backend accepts a piece with these nodes.
  void add_passed(std::size_t backend, std::span<const NodeId> nodes) {
    evidence_[backend].add_passed(graph_, nodes);
  }

  // Adds the round's findings on these backends to the evidence and makes all rules from it, sorted.
  // `findings` are those of all rounds; a finding of this round that leads to a rule gets its words.
  // Each backend is asked for once a round.
  std::vector<Rule> learn(std::vector<LowerFinding>& findings, std::size_t round,
                          std::span<const std::size_t> backends);
  // The same for all backends.
  std::vector<Rule> learn(std::vector<LowerFinding>& findings, std::size_t round);

 private:
  void learn_from(std::size_t backend, std::vector<LowerFinding>& findings, std::size_t round);
  void take_back(std::size_t backend, std::vector<LowerFinding>& findings) const;
  void deny_left(std::size_t backend, std::vector<LowerFinding>& findings);
  void deny_large(std::size_t backend, std::vector<LowerFinding>& findings);
  void learn_ops(std::size_t backend, std::vector<LowerFinding>& findings, std::size_t round);

  const Graph& graph_;
  const OpFacts& facts_;
  std::vector<std::string> backends_;
  std::vector<Evidence> evidence_;  // by backend
  std::vector<Rule> rules_;
};

// The limit of a list on whole partitions; nullopt for a limit of one tensor, which is a rule.
std::optional<PartLimit> part_limit_of(SizeOf of);

// "9,000 bytes of parameters at most, as it says; 22,408 are refused"
std::string limit_text(const SizeLimit& limit);

// True when three rounds in a row had the same failure, each at a reader of the culprit before.
// Then the cut causes the failure, not the nodes.
bool is_eroding(const Graph& graph, const LowerOutcome& outcome);

// ---- finding folder ----
//
// Finding folder: everything needed to file an issue about a finding, or to try it again.
//
//   model.onnx, .tflite  the smallest piece that was seen to fail
//   test_data_set_0/     its inputs and the reference's outputs, if the reference ran
//   command.sh           repeats the failure; with the files of write_repeat_files()
//   stderr.txt           the backend's message
//   README.md            what fails, versions, how to repeat it

// The script scripts/backends/repeat_finding.py, which is part of the program: each finding's folder
// gets a copy.

extern const std::string_view kRepeatScript;

// Repeat files: what a finding's folder needs to show the failure again without cleave.
//
//   backend.json   the backend file; of a backend given as a command, one made from it
//   backend/       the scripts that it names below {here} or {cleave}, such as the worker
//   repeat.py      passes the model to the backend, and compares values
//   command.sh     calls it; says what has to be installed
struct RepeatFiles {
  std::string folder;  // must exist
  const Backend& backend;
  std::string title;             // the backend and its version
  bool has_data = false;         // test_data_set_0 is there: the model is run, too
  bool compares_values = false;  // the failure is one of values; only with data
  bool pins = false;             // see PieceFiles::pins; only with data
};

// Writes them. Error: what cannot be written.
Status<Error> write_repeat_files(const RepeatFiles& files);

struct FindingFolder {
  std::string path;  // is made, with its parents
  const LowerFinding& finding;
  const LoadedModel& model;
  const Backend& backend;
  const std::string& identity;  // of the backend
  std::span<const ReferenceRun> samples;
  std::string_view command = "lower";  // of cleave, that found it
};

// Writes the folder. `lowerer` is that of the backend. Linear in the piece. Error: what cannot be
// written.
Status<Error> write_finding(const FindingFolder& folder, PieceLowerer& lowerer);

// ---- probe job ----
//
// Probes a backend: gives it each distinct node of some models alone, as a model of one node; a node
// that it refuses then with known values, and with its neighbours. The verdicts make a measured support
// list.
//
//   case     nodes with the same op, opset, dtypes, shapes and attributes: see core/lowering

inline constexpr std::size_t kProbeSearchRuns = 16;

struct ProbeInput {
  const std::vector<LoadedModel>& models;           // see PieceCutter
  const std::vector<OpFacts>& facts;                // by model
  const std::vector<Backend>& backends;             // one
  std::size_t most_search_runs = kProbeSearchRuns;  // for the neighbours of one refused case
};

// How a case that is refused alone is taken.
enum class CaseHelp : std::uint8_t {
  none,
  known,      // with `--fold write`: its inputs are constants then, or the node is none any more
  neighbors,  // together with nodes around it
};

struct ProbedCase {
  std::string text;  // of node_case()
  std::size_t model = 0;
  NodeId node = {};       // the first node of the case
  std::size_t nodes = 0;  // the number of nodes of the case, in all models
  Attempt attempt = {};
  bool is_pinned =
      false;  // asked with the sizes of ProbeOutcome::sizes, since it is refused with open ones

  CaseHelp help = CaseHelp::none;
  std::vector<std::uint32_t> constants = {};  // inputs that must be constant for it to be taken
  std::vector<NodeId> together = {};          // with these nodes it is taken

  bool is_taken() const;
  // Taken, for nothing of it was left once the compiler had folded what is known.
  bool is_folded() const { return attempt.verdict == LowerVerdict::nothing; }
  bool is_refused() const { return is_refusal(attempt.verdict); }
};

struct ProbeOutcome {
  std::string identity;              // of the backend
  std::string reference;             // "": there was none
  bool is_compared = false;          // values were compared with the reference's
  std::vector<ShapeBindings> sizes;  // by model: of open inputs, where a case was asked with them
  std::vector<ProbedCase> cases;     // in the order of models and nodes
  std::vector<Rule> allow;           // by domain and op: the opsets and dtypes that were accepted
  std::vector<Rule> deny;            // separate the refused cases from the accepted ones
  std::vector<Pattern> patterns;     // for cases that are taken with their neighbours
  std::size_t nodes = 0;
  std::size_t compiler_runs = 0;
  std::size_t cache_hits = 0;
  double seconds = 0;

  // Cases without a verdict, through a fault on our side of the backend.
  std::size_t count_unanswered() const;
};

// All of `input` must outlive the outcome. Refuses a backend that answers no case. No node of a refused case is supported by the rules.
// Cost: a compile for each case, and some more for each that is refused.
Result<ProbeOutcome, Fault> probe_models(const ProbeInput& input, const PoolOptions& options);

// ---- probe around ----
//
// What helps a node that a backend refuses alone, in this order:
//
//   known values   the inputs that are known before the model runs become constants, as with
//                  `--fold write`; or then the node is none any more
//   neighbours     the nodes around it: see "grown piece" in core/lowering/lowering.h

// Asks about refused cases again with what is known before the model runs.
class KnownValues {
 public:
  // A node that is taken with constants.
  struct Taken {
    const LoadedModel& model;  // with known nodes folded
    const OpFacts& facts;
    NodeId node;
  };

  KnownValues(const ProbeInput& input, const PoolOptions& options)
      : input_(input), options_(options) {}

  // `cases` are refused ones of the model. Sets their `help` and `constants`. Reads the model again, and
  // starts the backend again where one is to be asked about. Compiler runs are added to `outcome`.
  std::optional<Fault> ask(std::size_t model, std::span<ProbedCase* const> cases,
                           ProbeOutcome& outcome);

  const std::vector<Taken>& taken() const { return taken_; }

 private:
  struct Folded {
    LoadedModel model;
    OpFacts facts;
  };

  const ProbeInput& input_;
  const PoolOptions& options_;
  std::vector<std::unique_ptr<Folded>> folded_;
  std::vector<Taken> taken_;
};

// Learns patterns around refused cases.
class NeighborProbe {
 public:
  explicit NeighborProbe(const ProbeInput& input) : input_(input) {}

  // `cases` are refused ones of the model, and `case_of` gives the case of each of its nodes. Sets their
  // `help` and `together`. Asks about an occurrence of each pattern that is known, then grows another.
  void ask(LoweringPool& pool, std::size_t model, std::span<ProbedCase* const> cases,
           const std::vector<const ProbedCase*>& case_of);

  const std::optional<Error>& error() const { return error_; }
  // By op, those of the most nodes first; named.
  std::vector<Pattern> patterns(const std::function<std::string(const OpName&)>& reason) const;
  bool has_pattern(const OpName& op) const;
  // True for a node around which a pattern matches, and was refused.
  bool is_refused_at(std::size_t model, NodeId node) const {
    return refused_at_.contains({model, node});
  }

 private:
  struct OfOp {
    std::vector<LearnedPattern> patterns;
    std::vector<ProbedCase*> cases;
    std::set<NodeId> refused_at;
    std::optional<Error> error;
  };

  void ask_op(PieceLowerer& lowerer, std::size_t model, OfOp& of,
              const std::vector<const ProbedCase*>& case_of) const;

  const ProbeInput& input_;
  std::map<OpName, OfOp> ops_;
  std::set<std::pair<std::size_t, NodeId>> refused_at_;
  std::optional<Error> error_;
};

// ---- reduce job ----
//
// Reduces nodes that a backend does not lower to the smallest piece that still fails in the same
// way, and writes it as a folder to attach to an issue.

struct ReduceOptions {
  PoolOptions pool = {};
  SearchSettings search = {};
  std::string folder = {};  // where the finding is written; "": nowhere
};

struct ReduceInput {
  const LoadedModel& model;              // see PieceCutter
  const std::vector<Backend>& backends;  // one
  std::vector<NodeId> nodes;             // model order, convex
  std::string name;                      // their name in reports
};

struct ReduceOutcome {
  std::string identity;                      // of the backend
  LoweredPart part;                          // all nodes
  std::optional<LowerFinding> finding = {};  // nullopt: the backend lowers them
  std::size_t compiler_runs = 0;
  double seconds = 0;
};

// All of `input` must outlive the outcome.
Result<ReduceOutcome, Fault> reduce_piece(const ReduceInput& input, const ReduceOptions& options);

}  // namespace cleave
