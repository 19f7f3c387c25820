// Backends: descriptions of compilers, their runs, and tensors that go in and out.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/process.h"

namespace cleave {

// ---- piece files ----
//
// PieceFiles: a piece of a model as a backend gets it.

// A tensor file and the name of its value.
struct NamedFile {
  std::string name, file;
};

// A piece of a model in files. Paths are absolute.
struct PieceFiles {
  std::string model;
  std::string out;                                   // prefix of the result files
  std::vector<NamedFile> inputs = {}, outputs = {};  // for the stage run, TensorProto
  std::uint64_t seed = 0;
  // A worker exports a program of torch anew on `inputs`, so that its shapes are theirs.
  bool pins = false;
  // For the stage compile: a worker may leave what it compiled in files whose names begin as `out`
  // does.
  bool keeps = false;
};

// ---- backend ----
//
// Backend: a compiler, as a backend file describes it. A backend has up to three *stages*: check is
// a cheap refusal, compile makes an artefact, run computes outputs from inputs. Each stage is a
// program of its own, or a request to a *worker*, a permanent process that serves many requests.

enum class LowerStage : std::uint8_t { check, compile, run };

// "check", "compile", "run"
std::string_view lower_stage_name(LowerStage stage);
// The stage with that name.
std::optional<LowerStage> lower_stage_named(std::string_view name);

// A program for one stage. Its words may contain placeholders: see "placeholders" below.
struct BackendCommand {
  std::vector<std::string> argv = {};
  std::vector<std::string> produces = {};  // files that must exist after success
  double timeout_seconds = 600;
  std::uint64_t memory_bytes = 0;  // RLIMIT_AS; 0: no limit
};

enum class TensorFormat : std::uint8_t { pb, npy, raw };

// A worker, and the stages that it serves.
struct BackendServe {
  std::vector<std::string> argv;
  std::vector<std::string> ops = {"compile", "run"};
  double start_timeout_seconds = 60;
  double timeout_seconds = 600;        // of one call
  std::uint64_t memory_bytes = 0;      // RLIMIT_AS; 0: no limit
  std::uint32_t restart_after = 2000;  // calls

  bool does(std::string_view op) const;
};

struct BackendEnvironment {
  std::vector<std::pair<std::string, std::string>> set;
  std::vector<std::string> pass = {"PATH", "HOME"};  // copied from cleave's own environment
};

// What a backend file calls the formats of models: as their files end.
inline constexpr std::array<std::string_view, 3> kTakenFormats = {"onnx", "pt2", "tflite"};

// How outputs are compared with the reference's.
struct CompareTolerance {
  double rtol = 1e-3;
  double atol = 1e-4;  // for outputs whose largest number is 1 or more; of smaller ones its share
  std::int64_t integers = 0;  // for quantised outputs
  // The rounding of numbers near 1: `atol` shrinks no further, as what is added up on the way to a small
  // number may be near 1.
  double rounding = 0x1p-23;

  // `atol` for an output whose largest number is this.
  double atol_of(double largest) const;
};

// The rounding of numbers near 1 in this precision: "float16"; that of float32 for others.
double rounding_of(std::string_view compute);

struct Backend {
  std::string name;
  std::string path;    // of the backend file; "" for the short form
  std::string folder;  // the value of {here}, absolute
  std::string text;    // the file's bytes, which are part of cache keys
  std::vector<std::string> identity;
  std::optional<BackendCommand> check, compile, run;
  std::optional<BackendServe> serve;
  TensorFormat tensors = TensorFormat::pb;
  BackendEnvironment environment;
  std::vector<std::string> failed_if;  // regular expressions (LinePattern) on lines of output
  std::string message_begin;           // regular expression for the first line of the message
  std::string message_drop;            // regular expression for lines left out of the message
  CompareTolerance tolerance;
  std::string compute = "float32";
  std::string float32_backend;     // the same compiler in float32; "": none known
  unsigned jobs = 0;               // at once; 0: no own limit
  std::uint64_t model_bytes = 0;   // the largest model it accepts; 0: any
  std::uint64_t file_bytes = 0;    // RLIMIT_FSIZE; 0: no limit
  std::vector<std::string> takes;  // formats of models, of kTakenFormats; empty: not stated
  std::int64_t lowest_opset = 0, highest_opset = 0;  // of the default domain; 0: not stated
  std::string target = {};  // of several, the one whose partitions it compiles; set by the caller

  const BackendCommand* command(LowerStage stage) const;
  // True when a program or the worker does the stage.
  bool has(LowerStage stage) const;
  // False when the file states formats, and not this one.
  bool may_take(std::string_view format) const;
  // "tract 0.21": the name and what the backend calls itself, which may be "".
  std::string title(std::string_view identity_text) const;
};

// ---- tensor ----
//
// Tensors sent to a backend and received from it: one per file, as ONNX's TensorProto or numpy's
// .npy.

struct Tensor {
  std::string name = {};
  DType dtype = DType::unknown;
  std::vector<std::int64_t> dims = {};
  std::string bytes = {};  // dense, little-endian, as raw_data of a TensorProto

  std::uint64_t count() const;  // of elements; 1 for a scalar; 2^64-1 for all that are more
};

// "float32 (2,3)"
std::string tensor_type_text(const Tensor& tensor);

// A TensorProto with raw_data.
std::string encode_tensor(const Tensor& tensor);
// nullopt unless the bytes are a TensorProto with its elements inside, as numbers of fixed size.
std::optional<Tensor> decode_tensor(std::string_view bytes);

// A .npy file of version 1.0. nullopt for dtypes that numpy does not have.
std::optional<std::string> encode_npy(const Tensor& tensor);
// nullopt unless the bytes are such a file, in C order, little-endian.
std::optional<Tensor> decode_npy(std::string_view bytes);

// Compares an output of a backend with the reference's: dtype and shape first, then elements.
//
//   floats              |wants - is| <= atol + rtol * |wants|; NaN equals NaN, infinities by sign.
//                       atol is that of a tensor with such numbers: see CompareTolerance
//   integers and bools  exactly, or by the tolerance for quantised outputs
struct TensorDifference {
  enum class What : std::uint8_t { none, dtype, shape, values, not_comparable };
  What what = What::none;
  std::uint64_t differing = 0;
  std::uint64_t total = 0;
  double wants = 0, is = 0;   // at the largest difference
  double largest = 0;         // |wants - is| there
  bool has_distance = false;  // floats of one shape: the rest is known, over those that are finite
  double most_apart = 0;      // the largest |wants - is|
  double largest_wanted = 0;
  double rms = 0;  // of wants - is, as a share of that of wants; 0 when all of these are 0
  // False: all floats that are wanted are within the tolerance of 0, so that zeros pass.
  bool is_tested = true;
  bool is_finite = true;  // false: there are floats, and no one that is wanted is finite

  bool is_same() const { return what == What::none || what == What::not_comparable; }
};

// The tolerance with `atol` as it holds for this tensor. Linear in the elements.
CompareTolerance tolerance_for(const Tensor& wants, CompareTolerance tolerance);

// Strings, complex numbers and types below 8 bits are not comparable. Linear in the elements.
TensorDifference compare_tensors(const Tensor& wants, const Tensor& is,
                                 const CompareTolerance& tolerance);

// "12 of 18 differ: wants 0.0973 is 0.358", "shape (1,1,1,1) is (1,1,2,2)"; "" if they are equal.
std::string difference_text(const TensorDifference& difference, const Tensor& wants,
                            const Tensor& is);

// The element as a number; `at` is below count(). 0 for types that compare_tensors() does not take.
double element_at(const Tensor& tensor, std::uint64_t at);

// ---- tensor files ----
//
// Tensor files for programs that run a piece: converts cleave's TensorProto files to and from the
// format of the backend.

struct NamedFile;

// The tensor in a TensorProto file; the error names the file.
Result<Tensor, Error> read_tensor_file(const std::string& path);

class TensorFiles {
 public:
  struct Given {
    std::string path;
    std::string shape;  // "2x3"; "" for a scalar
  };

  // `prefix` is the start of the paths of new files.
  TensorFiles(TensorFormat format, std::string prefix)
      : format_(format), prefix_(std::move(prefix)) {}

  // Converts the TensorProto file for the backend's input number `at`.
  Result<Given, Error> give(const std::string& file, std::size_t at) const;
  // Where the backend writes its output number `at`.
  std::string output_path(std::size_t at) const;
  // Makes the TensorProto file of an output from the file that the backend wrote.
  Status<Error> take(const std::string& path, const NamedFile& output) const;

 private:
  TensorFormat format_;
  std::string prefix_;
};

}  // namespace cleave

// ---- line pattern ----
//
// LinePattern: a regular expression on lines of a compiler's output. It is RE2's: the time of a match is
// linear in the line, whatever the pattern.

namespace re2 {
class RE2;
}

namespace cleave {

class LinePattern {
 public:
  // Error: why the text is none, as the rest of a sentence that begins with the text.
  static Result<LinePattern, std::string> parse(std::string_view text);

  // Whether the pattern matches some part of the line. Lines are bytes, in whatever encoding.
  bool matches(std::string_view line) const;

 private:
  explicit LinePattern(std::shared_ptr<const re2::RE2> pattern) : pattern_(std::move(pattern)) {}

  std::shared_ptr<const re2::RE2> pattern_;
};

// ---- lower verdict ----
//
// LowerVerdict: what became of a piece that a compiler was asked about. AnswerJudge says how an answer
// becomes one.

enum class LowerVerdict : std::uint8_t {
  lowered,
  nothing,    // it has no work for the backend: it only renames or views values
  partly,     // it compiles, and the backend leaves some nodes to another: see Attempt::left
  refused,    // exit status or message: a compiler's "no"
  no_output,  // success, but an output file that it should write is missing
  crashed,    // by a signal
  timed_out,
  out_of_memory,
  too_large,  // the piece is beyond the backend's largest model
  wrong_values,
  lower_precision,  // wrong at float32's tolerance, right at bfloat16's
  tie_order,        // equal elements in another order than the reference's
  one_step,         // a few quantised values are one step off the reference's
  not_run,          // there are no inputs to run it on
  flaky,            // the piece got different verdicts
  lost,             // the machine that it ran on failed
  no_room,          // the disk is full
  driver,           // a fault on our side of the backend: no information about the piece
};

// "lowered", "refused", "no output", ...
std::string_view verdict_name(LowerVerdict verdict);
// The verdict with that name.
std::optional<LowerVerdict> verdict_named(std::string_view name);

// True for verdicts that mean that the backend cannot handle the piece.
bool is_refusal(LowerVerdict verdict);
// True for a verdict that may come by chance rather than from the piece: it takes more to believe it.
bool may_be_chance(LowerVerdict verdict);
// True for verdicts that count as lowered for the exit status.
bool is_success(LowerVerdict verdict);

// ---- placeholders ----
//
// The words of a backend's command name what differs from run to run: {model} is the piece to compile, {out} the
// path of its results without an ending. A word that names a list is repeated for each of the list:
//
//   --input=@{inputs}   ->   --input=@in_0.npy --input=@in_1.npy

struct PlaceholderValues {
  std::string model = {}, out = {}, workdir = {}, here = {};
  std::string cleave = {};  // the folder with cleave's scripts; "": not known, and the word stays
  std::vector<std::string> inputs = {}, outputs = {};            // paths of tensor files
  std::vector<std::string> input_names = {}, output_names = {};  // of the piece's values
  std::vector<std::string> shapes = {};                          // of the inputs: "2x3"
  std::uint64_t seed = 0;
};

// The first {word} that is not a placeholder: its offset in `text`; npos when there is none. Braces
// around anything but letters and underscores are plain text.
std::size_t find_unknown_placeholder(std::string_view text);

// "{model}, {out}, ...": all placeholders, for messages.
std::string placeholder_list();

// The words with placeholders replaced by values. A word with a list has one copy per item, none
// for an empty list; several lists in one word advance together.
std::vector<std::string> expand_words(const std::vector<std::string>& words,
                                      const PlaceholderValues& values);

// ---- backend file ----
//
// Backend files: `cleave.backend`, a JSON object that describes a compiler (Backend, above).
//
//   {"format": "cleave.backend", "version": 1, "name": "tract",
//    "serve": {"argv": ["python3", "{here}/tract_worker.py"]}}

struct LoadedBackend {
  Backend backend;
  std::vector<Diagnostic> warnings;
};

// Reads one file. On error: every fault with its line and column, at most 20.
Loaded<LoadedBackend> read_backend_file(const std::string& path);
// Parses a text as if read from `path`.
Loaded<LoadedBackend> parse_backend(const std::string& path, std::string_view bytes);

// The short form of --backend, `NAME='cmd {model} -o {out}'`: a backend with one compile command.
// The text is split into words as a shell does it, but without a shell. Error: what is wrong with
// it.
Result<Backend, std::string> parse_short_backend(std::string_view text);
// True for a text in the short form rather than a path.
bool is_short_backend(std::string_view text);

// Splits words as a shell would: blanks, '...', "..." and \. nullopt when a quote is not closed.
std::optional<std::vector<std::string>> shell_words(std::string_view text);

// Where backend files are found by name: $CLEAVE_BACKENDS (folders separated by ":"), those
// installed with the program, and samples/backends of the sources that it was built in. Never the
// working folder: that may be anybody's, and backend files name commands.

// The folders that exist, in the order of search.
std::vector<std::string> backend_folders();

// The folder with cleave's own samples and scripts, {cleave} in words of commands; "" when it is not known.
// `here`: the folder of the backend file, which may be one of cleave's own.
std::string cleave_folder(const std::string& here);

// The paths of the *.json files in these folders, sorted by name within each folder.
std::vector<std::string> backend_files();

// The backend that --backend gives: a file, a short form, or the name of a file in one of the
// folders without ".json", or the name that such a file states.
Loaded<LoadedBackend> find_backend(const std::string& text);

// ---- worker ----
//
// Worker: a backend's permanent process that answers requests, JSON objects one per line, so that
// the compiler is loaded once. scripts/backends/worker.py is the other side.
//
//   -> {"op": "compile", "model": "piece.onnx"}
//   <- {"ok": false, "stage": "convert", "error": "unsupported op Loop"}
//
// It is started at the first call, and again after it died, hung, or has served its number of
// calls.

struct WorkerOptions {
  ChildCommand command;  // its timeout applies to each call
  double start_timeout_seconds = 60;
  std::uint32_t restart_after = 2000;
};

struct WorkerAnswer {
  enum class Kind : std::uint8_t {
    line,         // an answer
    died,         // the worker ended during the call
    timed_out,    // and was killed
    not_started,  // no program, or no greeting
    garbled,      // a line that is not a JSON object
  };
  Kind kind = Kind::not_started;
  std::string text = {};   // the line; otherwise the worker's standard error
  bool is_signal = false;  // died: by a signal
  int code = 0;            // the signal or exit status; not_started: errno, 0 for no greeting
  double seconds = 0;
};

class Worker : Pinned {
 public:
  explicit Worker(WorkerOptions options) : options_(std::move(options)) {}
  ~Worker();

  // Sends a request, a JSON object on one line, and waits for the answer.
  WorkerAnswer call(const std::string& request);
  // Starts the worker when it is not running. nullopt when it runs, else why it does not.
  std::optional<WorkerAnswer> start();
  // The version in its greeting; "" before it has started.
  const std::string& version() const { return version_; }
  // True when the worker has answered no call since it was started.
  bool is_fresh() const { return calls_ == 0; }
  // Ends the process, if there is one.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  enum class Wait : std::uint8_t { line, end, late };

  Wait wait_for_line(double seconds, std::string& line);
  bool send(std::string_view bytes, double seconds);
  void take_error_output();
  WorkerAnswer answer_of_end(WorkerAnswer::Kind kind);

  WorkerOptions options_;
  std::unique_ptr<SpawnedChild> child_;
  std::string version_;
  std::string pending_;  // read but not yet returned
  KeptOutput err_;       // of the current call
  std::uint32_t calls_ = 0;
};

// ---- attempt ----
//
// Attempt: the outcome of passing one piece to one backend, once.

// What a worker kept of a piece that it compiled, as it says: see PieceFiles::keeps.
struct KeptFiles {
  struct File {
    std::string name;  // beside PieceFiles::out
    std::string role;  // "main" for the one to load, "data" for what it refers to
  };
  std::vector<File> files = {};
  std::vector<std::string> inputs = {}, outputs = {};  // of the main file, in its order
  // What they were made for: "soc_model", "57".
  std::vector<std::pair<std::string, std::string>> target = {};
  std::string note = {};  // why there are no files
};

// A node that a backend compiles around, or names when it refuses the piece: it is none of what the backend
// runs.
struct LeftOut {
  std::string node;      // its name in the piece
  std::string op = {};   // as the backend calls it, or a part of it: "aten.native_layer_norm"
  std::string why = {};  // "" when the backend does not say
};

// An output of floats that was compared with the reference's. Of several samples: the one that is further
// apart for its size.
struct ComparedOutput {
  std::string name = {};
  double most_apart = 0;  // the largest difference
  double largest = 0;     // the largest number of the reference
  double rms = 0;         // of the difference, as a share of that of the reference
  // False: all that is wanted is within the tolerance of 0, so that this comparison says nothing.
  bool is_tested = true;
  bool is_finite = true;  // false: all that is wanted is NaN or infinite
};

struct Attempt {
  LowerVerdict verdict = LowerVerdict::driver;
  LowerStage stage = LowerStage::compile;
  std::string detail = {};   // "SIGSEGV", "exit 3", "2 s" of a timeout; may be empty
  std::string message = {};  // the backend's words; "" when it is lowered
  double seconds = 0;
  std::optional<std::uint64_t> artefact_bytes = {};
  bool is_cached = false;
  std::string before =
      {};  // how an earlier try failed, when this is the answer to a repeat; not stored
  // In the backend's order; of LowerVerdict::partly all, of a refusal those that it names.
  std::vector<LeftOut> left = {};
  std::vector<ComparedOutput> compared = {};  // of the stage run, in the piece's order
  KeptFiles kept = {};
};

// True when a backend's words say that it could not have the device for itself.
bool tells_of_busy(std::string_view message);

// The verdict with what is known of it: "crashed (SIGSEGV)", "timed out after 2 s".
std::string verdict_words(const Attempt& attempt);

// The line of the message that says what is wrong, for tables; cut to `columns`. See essential_lines();
// the place of a panic in Rust is left out, too.
std::string first_line(std::string_view message, std::size_t columns);
// The same for files that are the same after each run: names of temporary files are "{model}", and addresses
// "0x...".
std::string lasting_line(std::string_view message, std::size_t columns);

// ---- verdict of answer ----
//
// AnswerJudge: how a compiler's answer becomes a verdict.
//
//   exit status 0        is success only with every file of "produces" and no line of "failed_if";
//                        without "produces", a compile command that mentions {out} must write it
//   a signal, a status   a crash, out of memory, or a refusal in the compiler's words
//   a worker's line      what it says; what it leaves out makes "partly"

class AnswerJudge {
 public:
  // `backend` must outlive this. `is_launched`: it runs on another machine, which may be lost.
  AnswerJudge(const Backend& backend, bool is_launched);

  Attempt of_program(const ChildResult& result, const BackendCommand& command,
                     const PlaceholderValues& values) const;
  Attempt of_worker(const WorkerAnswer& answer, const PieceFiles& piece) const;

  // True for a line of "failed_if".
  bool is_failure(std::string_view line) const;
  bool has_failures() const { return !failed_if_.empty(); }
  // True when the words are those of a launcher whose machine failed.
  bool is_lost(std::string_view text) const;

 private:
  bool has_failure(std::string_view output) const;
  std::string message_of(std::string_view err, std::string_view out) const;

  const Backend& backend_;
  bool is_launched_;
  std::vector<LinePattern> failed_if_;
  std::optional<LinePattern> begin_, drop_;
};

// The size of a regular file; nullopt when there is none.
std::optional<std::uint64_t> bytes_of_file(const std::string& path);

// ---- session ----
//
// BackendSession: one backend, for one thread. Runs its stages on pieces, with its worker or with
// programs of their own.
//
//   worker died          tries the same piece once more in a fresh worker before calling it a crash
//   worker is too slow   ends it, and starts a new one for the next piece

struct SessionOptions {
  std::vector<std::string> launcher =
      {};                   // words before each command: for another machine or a container
  std::string folder = {};  // for files that backends write; absolute, must exist
};

class BackendSession {
 public:
  // `backend` must outlive this.
  BackendSession(const Backend& backend, SessionOptions options);

  const Backend& backend() const { return backend_; }
  // Runs one stage that the backend has.
  Attempt run(LowerStage stage, const PieceFiles& piece);
  // Checks and compiles, as far as the backend has these stages; the first failure counts.
  Attempt compile(const PieceFiles& piece);
  // The number of calls of the backend so far.
  std::size_t calls() const { return calls_; }
  // Time spent waiting for the backend, its start included, so far.
  double seconds() const { return seconds_; }

  // The backend's version: the output of `identity`, else the worker's greeting. Error: why it does
  // not start.
  Result<std::string, Error> identity();

  // A hash of the files that the backend's words name, and of the variables that it passes: a verdict holds for these.
  std::string made_with() const;

  // Sends another request to the worker, as JSON without "op": for the reference. The backend must
  // have a worker.
  WorkerAnswer request(std::string_view op, const std::string& fields);

 private:
  ChildCommand child(const std::vector<std::string>& words, PlaceholderValues values) const;
  PlaceholderValues values_of(const PieceFiles& piece) const;
  Attempt run_stage(LowerStage stage, const PieceFiles& piece);
  Result<std::string, Error> ask_identity();
  Attempt run_command(const BackendCommand& command, const PlaceholderValues& values);
  Attempt run_with_files(const PieceFiles& piece);
  Attempt run_worker(LowerStage stage, const PieceFiles& piece);
  Worker& worker();

  const Backend& backend_;
  SessionOptions options_;
  std::unique_ptr<Worker> worker_;
  AnswerJudge judge_;
  std::size_t calls_ = 0;
  double seconds_ = 0;
};

// ---- self test ----
//
// Tests a backend: that it accepts what every backend must accept, computes it correctly, and
// refuses what is not a model. With a backend that accepts garbage everything would seem to lower.

// Three small models with inputs and correct outputs for testing a backend; and two that it must
// refuse.
struct TestModel {
  std::string name;                               // "Add"
  std::string bytes;                              // of the model's file
  std::vector<Tensor> inputs = {}, outputs = {};  // in the model's order; empty: must be refused
};

// Models of one Add, one Relu and one Identity in that opset: hardly a compiler refuses all of them.
std::vector<TestModel> models_of_one_op(std::int64_t opset);

// The same for TensorFlow Lite, in int8, which NPUs take, with scales of 1, so that outputs are exact
// (formats/run/backend/tensor.cc).
std::vector<TestModel> tflite_models_to_take();
std::vector<TestModel> tflite_models_to_refuse();

struct SelfTestStep {
  enum class Outcome : std::uint8_t { passed, failed, skipped };
  std::string name;  // "compiles Add"
  Outcome outcome = Outcome::passed;
  std::string detail = {};  // what is wrong, or why it was skipped
  double seconds = 0;
};

struct SelfTest {
  std::string identity;  // the backend's version as it reports it
  std::vector<SelfTestStep> steps;
  bool passed() const;
};

// Runs the test in a new folder of `options.folder`. Ends early when the backend does not start.
SelfTest test_backend(const Backend& backend, const SessionOptions& options);

}  // namespace cleave
