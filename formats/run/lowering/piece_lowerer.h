// PieceLowerer: cuts a piece out of the model, changes it by the given remedies, and passes it to
// one backend: check, compile, and, with reference values, run and compare. A backend is not asked
// again for a known verdict.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "core/lowering/oracle.h"
#include "formats/base/io/sha256.h"
#include "formats/models/open_shapes.h"
#include "formats/run/backend/self_test.h"
#include "formats/run/backend/session.h"
#include "formats/run/lowering/piece_change.h"
#include "formats/run/lowering/piece_cutter.h"
#include "formats/run/lowering/reference_run.h"
#include "formats/run/lowering/verdict_store.h"

namespace cleave {

// Turns: lanes run backends beside each other, and a lane that needs the machine for itself waits until
// it has it.
class Turns {
 public:
  explicit Turns(bool has_others) : has_others_(has_others) {}
  // False with one lane: nothing ever runs beside a piece.
  bool has_others() const { return has_others_; }
  // Held while a backend runs.
  std::shared_lock<std::shared_mutex> beside_others() { return std::shared_lock(mutex_); }
  std::unique_lock<std::shared_mutex> alone() { return std::unique_lock(mutex_); }
  // True the first time that a failure of this kind is met: it was not yet seen alone.
  bool is_first(const std::string& failure);

 private:
  bool has_others_;
  std::shared_mutex mutex_;
  std::mutex seen_mutex_;
  std::set<std::string> seen_;  // failures
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
  std::string hash;       // see piece_hash.h; "" when there is none
  std::optional<ValueId> first_wrong;
};

class PieceLowerer {
 public:
  // `converter`: the reference's session, which raises opsets; null: there is none.
  PieceLowerer(PieceContext context, BackendSession& session, BackendSession* converter);

  // Error: a failure of cleave itself to write the piece or the journal.
  Result<PieceResult, Error> lower(const Piece& piece);

  // The same as an answer to the culprit search. An error becomes `unresolved` and is kept.
  Answer answer(const Piece& piece);
  const std::optional<Error>& error() const { return error_; }

  // Whether the backend refuses models of one Add, one Relu and one Identity in the model's opset:
  // then its answer about the Add; nullopt when it takes one of them, and for a model of another
  // format than ONNX.
  std::optional<Attempt> refusal_of_simple_models();
  // True when the backend has compiled a piece of the model.
  bool has_compiled() const { return has_compiled_; }

  std::size_t calls() const { return calls_; }  // of the backend, for all pieces so far
  std::size_t hits() const { return hits_; }    // pieces with a known verdict

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
  Result<Made, Error> make(const Piece& piece);
  Status<Error> merge_inputs(Made& made, std::span<const ValueId> same) const;
  PieceChange change_of(const CutPiece& cut, const Piece& piece) const;
  Result<bool, Error> state_inside(const std::string& path, const Piece& piece) const;
  void pin_program(Made& made) const;
  PieceFiles files_of(const Made& made, std::string out) const;
  std::optional<Sizes> known_shape(ValueId value) const;
  Result<bool, Error> raise_opset(Made& made, std::int64_t opset);
  Sha256 key_begin() const;
  std::optional<std::string> key_of(const Made& made, const Piece& piece) const;
  Compared ask_in_turn(const Made& made, const Piece& piece);
  Compared ask(const Made& made, const Piece& piece);
  bool is_new_failure(const Attempt& attempt);
  std::string mismatch_at(const Made& made, const Piece& piece) const;
  bool is_cut_at(ValueId input, const Piece& piece) const;
  Attempt compile(const PieceFiles& files);
  Attempt compile_simple(const TestModel& model);
  Compared run_sample(const Made& made, const Piece& piece, const ReferenceRun& sample);
  Compared compare(const Made& made, const PieceFiles& files, const ReferenceRun& sample,
                   const Piece& piece) const;
  bool has_values(const Made& made) const;
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

}  // namespace cleave
