// Lowers pieces, several at a time.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <thread>

#include <nlohmann/json.hpp>

#include "core/graph/graph.h"
#include "core/lowering/lowering.h"
#include "formats/base/files.h"
#include "formats/base/version.h"
#include "formats/onnx/write/writer.h"
#include "formats/pt2/pt2.h"
#include "formats/run/backend/backend.h"
#include "formats/run/lowering/lowering_job.h"

namespace cleave {

// ---- lowering pool ----
//
// How the pool is set up:
// 1. each lane makes its sessions, without starting anything;
// 2. one lane asks every backend for its version, which starts it, and runs the reference;
// 3. each lane makes its lowerers. A worker starts when its lane gets a job for it.

namespace {

namespace fs = std::filesystem;

std::size_t lane_count(const std::vector<Backend>& backends, std::size_t jobs) {
  for (const Backend& backend : backends) {
    if (backend.jobs > 0) jobs = std::min<std::size_t>(jobs, backend.jobs);
  }
  return std::max<std::size_t>(jobs, 1);
}

}  // namespace

struct LoweringPool::Lane {
  std::string folder;
  std::optional<PieceCutter> cutter;
  std::unique_ptr<BackendSession> reference;
  std::vector<std::unique_ptr<BackendSession>> sessions;
  std::vector<std::unique_ptr<PieceLowerer>> lowerers;
};

LoweringPool::LoweringPool(const LoadedModel& model, const std::vector<Backend>& backends,
                           const PoolOptions& options)
    : model_(model),
      backends_(backends),
      options_(options),
      store_(options.cache_folder, options.trusts_failures),
      turns_(lane_count(backends, options.jobs) > 1, options.warn),
      lanes_(lane_count(backends, options.jobs)) {
  lane_.resize(lanes_.count());
}

// A worker belongs to the thread that started it.
LoweringPool::~LoweringPool() {
  lanes_.on_each([this](std::size_t lane) { lane_[lane] = {}; });
}

Result<std::unique_ptr<LoweringPool>, Fault> LoweringPool::start(
    const LoadedModel& model, const std::vector<Backend>& backends, const PoolOptions& options) {
  std::unique_ptr<LoweringPool> pool(new LoweringPool(model, backends, options));
  if (auto fault = pool->set_up()) return *std::move(fault);
  return pool;
}

std::optional<Fault> LoweringPool::set_up() {
  if (!options_.journal.empty()) {
    const auto opened = store_.open_journal(options_.journal, options_.left_if_killed);
    if (!opened) return fault_of(FaultCause::output, opened.error().message);
  }
  lanes_.on_each([this](std::size_t lane) { make_sessions(lane); });
  std::optional<Fault> fault;
  lanes_.do_all({[&](std::size_t lane) {
    fault = identify(lane_[lane]);
    if (fault || !options_.reference) return;
    fault = run_reference(lane_[lane]);
    if (fault && fault->cause == FaultCause::program && options_.is_reference_optional) {
      do_without_reference(fault->message());
      fault.reset();
    }
  }});
  if (fault) return fault;
  for (Lane& lane : lane_) {
    auto cutter = PieceCutter::open(model_);
    if (!cutter) return fault_of(FaultCause::input, cutter.error().faults.front().message);
    lane.cutter.emplace(std::move(*cutter));
  }
  lanes_.on_each([this](std::size_t lane) { make_lowerers(lane); });
  return std::nullopt;
}

void LoweringPool::make_sessions(std::size_t lane) {
  Lane& own = lane_[lane];
  own.folder = options_.work_folder + "/lane_" + std::to_string(lane);
  std::error_code ignored;
  fs::create_directories(own.folder, ignored);
  for (const Backend& backend : backends_) {
    own.sessions.push_back(std::make_unique<BackendSession>(
        backend, SessionOptions{.launcher = options_.launcher, .folder = own.folder}));
  }
  if (options_.reference) {
    own.reference =
        std::make_unique<BackendSession>(*options_.reference, SessionOptions{.folder = own.folder});
  }
}

std::optional<Fault> LoweringPool::identify(Lane& lane) {
  for (const auto& session : lane.sessions) {
    const auto identity = session->identity();
    if (!identity) {
      const std::string& name = session->backend().name;
      return fault_of(FaultCause::program,
                      "backend \"" + name + "\" does not start: " + identity.error().message,
                      {"run cleave backend check for details"});
    }
    identities_.push_back(*identity);
    made_with_.push_back(session->made_with());
  }
  return std::nullopt;
}

std::optional<Fault> LoweringPool::run_reference(Lane& lane) {
  BackendSession& session = *lane.reference;
  const auto identity = session.identity();
  if (!identity) {
    const std::string packages = model_.format() == ModelFormat::tflite ? "ai-edge-litert numpy"
                                 : model_.format() == ModelFormat::pt2  ? "torch numpy"
                                                                        : "onnxruntime onnx numpy";
    return fault_of(FaultCause::program,
                    "the reference \"" + session.backend().name +
                        "\" does not start: " + identity.error().message,
                    {"pip install " + packages});
  }
  reference_ = session.backend().name + " " + *identity;
  std::vector<std::string> inputs = options_.inputs;
  if (inputs.empty()) inputs.emplace_back();
  for (const std::string& one : inputs) {
    const std::string folder = options_.work_folder + "/sample_" + std::to_string(samples_.size());
    std::error_code ignored;
    fs::create_directories(folder, ignored);
    tell(options_.progress, {"reference", "samples", samples_.size(), inputs.size()});
    auto run = ReferenceRun::make(session, model_, {folder, one, options_.seed});
    if (!run) {
      const auto& fault = run.error();
      if (fault.is_of_run && options_.is_reference_optional && has_given_sizes()) {
        return fault_of(FaultCause::input,
                        "no run of the model with the sizes given: " + fault.message,
                        {"no compiler is asked, since what it refuses then says nothing of an op: "
                         "give other sizes, inputs that fit, or --reference none to ask it all the "
                         "same"});
      }
      return fault_of(fault.is_of_inputs ? FaultCause::input : FaultCause::program, fault.message);
    }
    samples_.push_back(*std::move(run));
  }
  return std::nullopt;
}

// True when the user gave sizes, and with them no input is open: if no run takes them, they may be
// impossible.
bool LoweringPool::has_given_sizes() const {
  const ShapeBindings& given = model_.bindings;
  return !(given.dims.empty() && given.inputs.empty()) && open_inputs(model_.graph).empty();
}

void LoweringPool::do_without_reference(const std::string& why) {
  lack_of_reference_ = why;
  reference_.clear();
  samples_.clear();
}

void LoweringPool::make_lowerers(std::size_t lane) {
  Lane& own = lane_[lane];
  for (std::size_t i = 0; i < backends_.size(); ++i) {
    const PieceContext context{.model = model_,
                               .cutter = *own.cutter,
                               .store = store_,
                               .turns = turns_,
                               .samples = samples_,
                               .assumed = &assumed_,
                               .compares = options_.compares,
                               .is_strict_on_ties = options_.is_strict_on_ties,
                               .folder = own.folder,
                               .identity = identities_[i],
                               .made_with = made_with_[i]};
    BackendSession* const converter = reference_.empty() ? nullptr : own.reference.get();
    own.lowerers.push_back(std::make_unique<PieceLowerer>(context, *own.sessions[i], converter));
  }
}

const std::optional<AssumedShapes>& LoweringPool::assumed() {
  std::call_once(is_assumed_, [this] { assumed_ = assume_shapes(model_); });
  return assumed_;
}

ShapeBindings LoweringPool::pinned_sizes() {
  if (samples_.empty()) return assumed() ? assumed()->sizes : ShapeBindings();
  const Graph& graph = model_.graph;
  return sizes_of_inputs(graph, [&](ValueId input) -> std::optional<Sizes> {
    const ReferenceTensor* const tensor = samples_.front().find(graph.value(input).name);
    return tensor == nullptr ? std::nullopt : std::optional(tensor->shape);
  });
}

PieceLowerer& LoweringPool::lowerer(std::size_t lane, std::size_t backend) {
  return *lane_[lane].lowerers[backend];
}

std::optional<Fault> LoweringPool::fault_of_backend(std::size_t backend) {
  for (const Lane& lane : lane_) {
    if (lane.lowerers[backend]->has_compiled()) return std::nullopt;
  }
  std::optional<Attempt> refusal;
  lanes_.do_all(
      {[&](std::size_t lane) { refusal = lowerer(lane, backend).refusal_of_simple_models(); }});
  if (!refusal) return std::nullopt;
  const std::string words = first_line(refusal->message, 200);
  return fault_of(FaultCause::program,
                  "backend \"" + backends_[backend].name +
                      "\" compiles nothing of the model, and not even a model of one Add, one " +
                      "Relu or one Identity: " + verdict_words(*refusal) +
                      (words.empty() ? "" : ": " + words),
                  {"so it does not work here, and no node is to blame: run cleave backend check "
                   "for details"});
}

std::size_t LoweringPool::compiler_runs() const {
  std::size_t runs = 0;
  for (const Lane& lane : lane_) {
    for (const auto& lowerer : lane.lowerers) runs += lowerer->calls();
  }
  return runs;
}

std::size_t LoweringPool::cache_hits() const {
  std::size_t hits = 0;
  for (const Lane& lane : lane_) {
    for (const auto& lowerer : lane.lowerers) hits += lowerer->hits();
  }
  return hits;
}

double LoweringPool::backend_seconds() const {
  double seconds = 0;
  for (const Lane& lane : lane_) {
    for (const auto& session : lane.sessions) seconds += session->seconds();
    if (lane.reference) seconds += lane.reference->seconds();
  }
  return seconds;
}

// ---- piece lowerer ----
//
// Steps:
// 1. cut the piece out; pin or freeze its boundary and raise its opset as the remedies say;
// 2. look its key up; a known verdict is the answer;
// 3. otherwise check, compile, and run it on each sample; the first failure is the verdict.

namespace {

namespace fs = std::filesystem;

// Tolerances at which bfloat16 counts as right; see the comparison of lower precisions in the
// report.
constexpr double kLowerPrecision = 2e-2;

Error error_of(const Fault& fault) {
  return {fault.faults.front().file + ": " + fault.faults.front().message};
}

Status<Error> move_file(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) return Error{to + ": cannot be written: " + error.message()};
  return Done{};
}

void remove_piece(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  fs::remove(path + ".data", ignored);
}

std::string text_of_file(const std::string& path) {
  const auto source = SourceFile::open(path);
  return source ? std::string(source->bytes()) : std::string();
}

bool is_compiled(LowerVerdict verdict) {
  return verdict == LowerVerdict::lowered || verdict == LowerVerdict::nothing ||
         verdict == LowerVerdict::partly || verdict == LowerVerdict::wrong_values ||
         verdict == LowerVerdict::lower_precision || verdict == LowerVerdict::tie_order ||
         verdict == LowerVerdict::one_step;
}

// How long a busy device is waited for, from one try to the next.
constexpr std::array<std::chrono::milliseconds, 3> kBusyPauses = {std::chrono::milliseconds(300),
                                                                  std::chrono::milliseconds(1000),
                                                                  std::chrono::milliseconds(3000)};

// Merges the comparison of a second sample; keeps the worse result of each output.
void add_compared(std::vector<ComparedOutput>& all, std::vector<ComparedOutput> more) {
  if (all.empty()) return all.swap(more);
  for (ComparedOutput& one : more) {
    const auto old = std::ranges::find(all, one.name, &ComparedOutput::name);
    const auto rank = [](const ComparedOutput& output) {
      return std::pair(output.is_tested, output.rms);
    };
    if (old == all.end()) {
      all.push_back(std::move(one));
    } else if (rank(one) > rank(*old)) {
      *old = std::move(one);
    }
  }
}

Difference difference_of(LowerVerdict verdict) {
  switch (verdict) {
    case LowerVerdict::tie_order:
      return Difference::tie_order;
    case LowerVerdict::one_step:
      return Difference::one_step;
    case LowerVerdict::lower_precision:
      return Difference::lower_precision;
    case LowerVerdict::wrong_values:
      return Difference::wrong;
    default:
      return Difference::none;
  }
}

// Whether the file states that the tensor is laid out otherwise than row-major without gaps.
bool is_known_strided(const Pt2Model& model, ValueId value) {
  const std::uint32_t number = model.value_numbers[value];
  if (number == kNoPt2) return false;
  const auto layout = tensor_layout(model, model.program.values[number]);
  return layout && layout->layouts.contains(LayoutName::strided) &&
         !layout->layouts.contains(LayoutName::contiguous);
}

// Whether the value is quantised: every element is a multiple of its step.
bool has_steps(const Graph& graph, ValueId value) {
  const DType dtype = graph.value(value).dtype;
  return dtype == DType::int8 || dtype == DType::uint8 || is_dequantised(graph, value);
}

// True for pieces with an operator that rounds to steps of a scale.
bool quantises(const Graph& graph, const Piece& piece) {
  return std::ranges::any_of(piece.nodes, [&](NodeId node) {
    const std::string_view op = graph.op(node);
    return op == "QuantizeLinear" || op == "DynamicQuantizeLinear" || op.starts_with("QLinear");
  });
}

std::int64_t axis_of(const Graph& graph, NodeId node) {
  for (const Attribute& attribute : graph.attributes(node)) {
    if (graph.text(attribute.name) != "axis" || attribute.type != AttributeType::integer) continue;
    return graph.attribute_pools().integers_of(attribute).front();
  }
  return graph.op(node) == "TopK" ? -1 : 0;
}

}  // namespace

void Turns::note(const Attempt& attempt) {
  const std::lock_guard lock(seen_mutex_);
  late_ = attempt.verdict == LowerVerdict::timed_out ? late_ + 1 : 0;
  if (late_ != 2 || !warn_) return;
  warn_("two compiles in a row " + verdict_words(attempt) +
        ": each further one that does so costs as long, and a search may ask for many. Ctrl-C "
        "stops, and the same "
        "command goes on later; a shorter \"timeout\" in the backend's file, --limit search-runs=N "
        "and "
        "--culprit none cost less");
}

bool Turns::is_first(const std::string& failure) {
  const std::lock_guard lock(seen_mutex_);
  return seen_.insert(failure).second;
}

PieceLowerer::PieceLowerer(PieceContext context, BackendSession& session, BackendSession* converter)
    : context_(std::move(context)), session_(session), converter_(converter) {
  random_ = random_values(context_.model.graph);
  shaped_by_data_ = values_shaped_by_data(context_.model.graph);
}

// The shape of the value in the reference run, or with the sizes that are assumed.
std::optional<Sizes> PieceLowerer::known_shape(ValueId value) const {
  if (!context_.samples.empty()) {
    const ReferenceTensor* const tensor = context_.samples.front().find(name(value));
    return tensor == nullptr ? std::nullopt : std::optional(tensor->shape);
  }
  if (context_.assumed == nullptr || !*context_.assumed) return std::nullopt;
  const auto& shapes = (*context_.assumed)->shapes;
  const auto found = shapes.find(std::string(name(value)));
  return found == shapes.end() ? std::nullopt : std::optional(found->second);
}

PieceChange PieceLowerer::change_of(const CutPiece& cut, const Piece& piece) const {
  PieceChange change;
  const Remedies& remedies = piece.remedies;
  if (context_.model.format() != ModelFormat::onnx) return change;
  const Graph& graph = context_.model.graph;
  if (remedies.state_inside && !context_.samples.empty()) {
    change.inner = inner_shapes(graph, piece.nodes, context_.samples.front());
  }
  if (!remedies.pin_shapes && !remedies.freeze_values && !remedies.freeze_cuts) return change;
  bool is_changed = false;
  for (const ValueId input : cut.inputs) {
    const ReferenceTensor* const tensor =
        context_.samples.empty() ? nullptr : context_.samples.front().find(name(input));
    const bool is_made = graph.value(input).kind != ValueKind::input;
    const bool is_small = tensor != nullptr && tensor->is_small_integer;
    const bool is_of_cut = is_made && remedies.freeze_cuts && is_cut_at(input, piece);
    if (is_small && is_made && (remedies.freeze_values || is_of_cut)) {
      auto value = read_tensor_file(tensor->file);
      if (value) change.frozen.emplace(name(input), *std::move(value));
      is_changed = true;
    } else if (remedies.pin_shapes && is_open(graph, input)) {
      const auto shape = known_shape(input);
      if (shape) change.shapes.emplace(name(input), *shape);
      is_changed = is_changed || shape;
    }
  }
  for (const ValueId output : cut.outputs) {
    if (!is_changed) break;
    const auto shape = is_open(graph, output) ? known_shape(output) : std::nullopt;
    if (shape) change.shapes.emplace(name(output), *shape);
  }
  return change;
}

// Notes what the export on the first sample's values changes: open inputs get their shapes, and
// strided ones become contiguous. Nothing, when a value is not known.
void PieceLowerer::pin_program(Made& made) const {
  const Pt2Model* const program = context_.model.pt2();
  if (program == nullptr || context_.samples.empty()) return;
  bool is_changed = false;
  std::vector<PinnedShape> pinned;
  for (const ValueId input : made.inputs) {
    const ReferenceTensor* const tensor = context_.samples.front().find(name(input));
    if (tensor == nullptr) return;
    const bool is_pinned = is_open(context_.model.graph, input);
    if (is_pinned) pinned.push_back({input, tensor->shape, shaped_by_data_[index(input)]});
    is_changed = is_changed || is_pinned || is_known_strided(*program, input);
  }
  if (!is_changed) return;
  made.result.pinned = std::move(pinned);
  made.is_pinned_by_worker = true;
}

// The piece for a backend, with the values that it is pinned to.
PieceFiles PieceLowerer::files_of(const Made& made, std::string out) const {
  PieceFiles files{.model = made.path, .out = std::move(out), .pins = made.is_pinned_by_worker};
  if (!files.pins) return files;
  for (const ValueId input : made.inputs) {
    files.inputs.push_back(
        {std::string(name(input)), context_.samples.front().find(name(input))->file});
  }
  return files;
}

// True when the input is made within the piece that this one is cut out of.
bool PieceLowerer::is_cut_at(ValueId input, const Piece& piece) const {
  const NodeId producer = context_.model.graph.value(input).producer;
  return piece.whole == nullptr ||
         std::binary_search(piece.whole->begin(), piece.whole->end(), producer);
}

Result<bool, Error> PieceLowerer::raise_opset(Made& made, std::int64_t opset) {
  const auto now = imported_opset(context_.model.graph, "");
  if (converter_ == nullptr || !now || *now >= opset) return false;
  if (context_.model.format() != ModelFormat::onnx) return false;
  const std::string raised = made.path + ".opset.onnx";
  const nlohmann::json request = {{"model", made.path}, {"out", raised}, {"opset", opset}};
  const WorkerAnswer answer = converter_->request("convert", request.dump());
  const auto json = nlohmann::json::parse(answer.text, nullptr, false);
  if (answer.kind != WorkerAnswer::Kind::line || json.value("ok", nlohmann::json()) != true) {
    return false;
  }
  std::error_code is_not_there;
  fs::rename(raised, made.path, is_not_there);
  return !is_not_there;
}

Result<PieceLowerer::Made, Error> PieceLowerer::make(const Piece& piece, std::string path) {
  Made made;
  made.path = std::move(path);
  if (made.path.empty()) {
    made.path = context_.folder + "/piece_" + std::to_string(written_++);
    made.path += piece_ending(context_.model);
  }
  auto cut = context_.cutter.write(piece.nodes, {made.path, made.path});
  if (!cut) return error_of(cut.error());
  const PieceChange change = change_of(*cut, piece);
  bool is_changed = !change.empty();
  made.inputs = std::move(cut->inputs);
  made.outputs = std::move(cut->outputs);
  if (is_changed) {
    const std::string changed = made.path + ".changed.onnx";
    const auto written = write_changed_piece(made.path, changed, change);
    if (!written) return error_of(written.error());
    if (const auto moved = move_file(changed, made.path); !moved) return moved.error();
    made.result.frozen = change.frozen.size();
    for (const ValueId input : made.inputs) {
      const auto pinned = change.shapes.find(std::string(name(input)));
      if (pinned == change.shapes.end()) continue;
      made.result.pinned.push_back({input, pinned->second, shaped_by_data_[index(input)]});
    }
    std::erase_if(made.inputs,
                  [&](ValueId input) { return change.frozen.contains(std::string(name(input))); });
  }
  if (piece.remedies.opset) {
    const auto raised = raise_opset(made, *piece.remedies.opset);
    if (!raised) return raised.error();
    is_changed = is_changed || *raised;
  }
  if (piece.remedies.pin_shapes) pin_program(made);
  is_changed = is_changed || made.is_pinned_by_worker;
  made.result.is_unchanged = piece.remedies != Remedies{} && !is_changed;
  return made;
}

bool PieceLowerer::has_values(const Made& made) const {
  for (const ReferenceRun& sample : context_.samples) {
    for (const auto* const values : {&made.inputs, &made.outputs}) {
      for (const ValueId value : *values) {
        if (sample.find(name(value)) == nullptr) return false;
      }
    }
  }
  return !context_.samples.empty();
}

// The part of a key that does not depend on the piece.
Sha256 PieceLowerer::key_begin() const {
  const Backend& backend = session_.backend();
  Sha256 key;
  for (const int number : {kVersionMajor, kVersionMinor, kVersionPatch}) {
    key.add_number(static_cast<std::uint64_t>(number));
  }
  for (const std::string& text :
       {backend.name, backend.text, context_.identity, context_.made_with}) {
    key.add_text(text);
  }
  return key;
}

std::optional<std::string> PieceLowerer::key_of(const Made& made, const Piece& piece) const {
  std::optional<std::string> hash;
  if (const auto source = SourceFile::open(made.path)) {
    const bool is_onnx = context_.model.format() == ModelFormat::onnx;
    hash = is_onnx ? piece_hash(source->bytes()) : sha256_hex(source->bytes());
  }
  if (!hash) return std::nullopt;
  const Backend& backend = session_.backend();
  Sha256 key = key_begin();
  key.add_text(*hash);
  key.add_number(piece.attempt);
  key.add_number(made.is_pinned_by_worker ? 1 : 0);
  if (context_.compares || made.is_pinned_by_worker) {
    key.add_number(static_cast<std::uint64_t>(piece.tolerance * 1000));
    key.add_number(static_cast<std::uint64_t>(backend.tolerance.integers));
    key.add_number(context_.is_strict_on_ties ? 1 : 0);
    for (const ReferenceRun& sample : context_.samples) {
      for (const ValueId input : made.inputs) {
        const ReferenceTensor* const tensor = sample.find(name(input));
        key.add_text(tensor == nullptr ? "" : sha256_hex(text_of_file(tensor->file)));
      }
    }
  }
  return std::move(key).hex();
}

std::vector<NamedNode> named_in(const Attempt& attempt) {
  std::vector<NamedNode> named;
  if (attempt.verdict != LowerVerdict::refused) return named;
  for (const LeftOut& one : attempt.left) named.push_back({one.node, one.why});
  return named;
}

Result<PieceResult, Error> PieceLowerer::lower(const Piece& piece) {
  auto made = make(piece);
  if (!made) return made.error();
  PieceResult result = made->result;
  const auto key = key_of(*made, piece);
  std::optional<Attempt> known;
  if (key && !result.is_unchanged) known = context_.store.find(*key, piece.attempt == 0);
  result.hash = key.value_or("");
  result.can_run = has_values(*made);
  if (result.is_unchanged) {
    result.attempt.verdict = LowerVerdict::not_run;
  } else if (known) {
    result.attempt = *std::move(known);
    result.calls = result.attempt.is_cached ? 0 : 1;
  } else {
    const AskedKey asked(context_.store, result.hash);
    const std::size_t before = session_.calls();
    made->result.can_run = result.can_run;
    Compared compared;
    if (std::string mismatch = mismatch_at(*made, piece); !mismatch.empty()) {
      compared.attempt = {.verdict = LowerVerdict::driver, .message = std::move(mismatch)};
    } else {
      compared = ask_in_turn(*made, piece);
    }
    result.attempt = std::move(compared.attempt);
    result.first_wrong = compared.first_wrong;
    result.calls = session_.calls() - before;
    if (key) {
      const auto added = context_.store.add(*key, result.attempt);
      if (!added) return added.error();
      if (piece.attempt >
          0) {  // what was kept of this piece may say otherwise, and was made elsewhere
        Piece first = piece;
        first.attempt = 0;
        context_.store.replace_kept(key_of(*made, first).value_or(""), result.attempt);
      }
    }
  }
  has_compiled_ = has_compiled_ || is_compiled(result.attempt.verdict);
  calls_ += result.calls;
  hits_ += result.attempt.is_cached ? 1 : 0;
  remove_piece(made->path);
  return result;
}

// A value at the piece's boundary of which the reference has other than the piece declares; "" where
// nothing is taken from the reference.
std::string PieceLowerer::mismatch_at(const Made& made, const Piece& piece) const {
  const bool runs =
      context_.compares && made.result.can_run && session_.backend().has(LowerStage::run);
  if (!runs && !piece.remedies.pin_shapes && !piece.remedies.freeze_values &&
      !piece.remedies.freeze_cuts) {
    return {};
  }
  std::string text = mismatch_of(context_.model.graph, made.inputs, context_.samples);
  if (text.empty()) text = mismatch_of(context_.model.graph, made.outputs, context_.samples);
  return text;
}

bool PieceLowerer::is_new_failure(const Attempt& attempt) {
  Answer answer{.stage = verdict_words(attempt), .message = attempt.message};
  return context_.turns.is_first(session_.backend().name + " " +
                                 failure_signature(answer, MessageNames()));
}

// Beside other lanes a compiler may fail for want of the device, of memory or of time. So the first
// failure of each kind is repeated alone, and one that tells of a busy device always, a few times.
PieceLowerer::Compared PieceLowerer::ask_in_turn(const Made& made, const Piece& piece) {
  Compared compared;
  if (piece.attempt > 0) {
    const auto turn = context_.turns.alone();
    compared = ask(made, piece);
  } else {
    const auto turn = context_.turns.beside_others();
    compared = ask(made, piece);
  }
  context_.turns.note(compared.attempt);
  const std::string before = verdict_words(compared.attempt);
  const auto has_failed = [&] {
    return is_refusal(compared.attempt.verdict) &&
           compared.attempt.verdict != LowerVerdict::wrong_values;
  };
  const auto is_busy = [&] { return has_failed() && tells_of_busy(compared.attempt.message); };
  if (piece.attempt == 0 && context_.turns.has_others() && has_failed() && !is_busy() &&
      is_new_failure(compared.attempt)) {
    const auto turn = context_.turns.alone();
    compared = ask(made, piece);
    if (!has_failed()) compared.attempt.before = before;
  }
  for (const auto pause : kBusyPauses) {
    if (!is_busy()) return compared;
    const auto turn = context_.turns.alone();
    std::this_thread::sleep_for(pause);
    compared = ask(made, piece);
    if (!has_failed()) compared.attempt.before = before;
  }
  if (is_busy()) compared.attempt.verdict = LowerVerdict::driver;
  return compared;
}

PieceLowerer::Compared PieceLowerer::ask(const Made& made, const Piece& piece) {
  const PieceFiles files = files_of(made, made.path + ".out");
  Compared compared{.attempt = {.verdict = LowerVerdict::lowered}};
  Attempt& attempt = compared.attempt;
  double seconds = 0;
  const bool runs =
      context_.compares && made.result.can_run && session_.backend().has(LowerStage::run);
  for (const LowerStage stage : {LowerStage::check, LowerStage::compile}) {
    if (attempt.verdict != LowerVerdict::lowered || !session_.backend().has(stage)) continue;
    // A worker compiles the piece when it runs it.
    const bool is_part_of_run = stage == LowerStage::compile && runs &&
                                session_.backend().command(LowerStage::run) == nullptr;
    if (is_part_of_run) continue;
    attempt = session_.run(stage, files);
    seconds += attempt.seconds;
  }
  for (const ReferenceRun& sample : context_.samples) {
    if (!runs || attempt.verdict != LowerVerdict::lowered) break;
    std::vector<ComparedOutput> before = std::move(attempt.compared);
    compared = run_sample(made, piece, sample);
    add_compared(before, std::move(attempt.compared));
    attempt.compared = std::move(before);
    seconds += attempt.seconds;
  }
  attempt.seconds = seconds;
  return compared;
}

PieceFiles PieceLowerer::files_to_run(const Made& made, const ReferenceRun& sample) const {
  PieceFiles files{.model = made.path, .out = made.path + ".out", .pins = made.is_pinned_by_worker};
  for (const ValueId input : made.inputs) {
    files.inputs.push_back({std::string(name(input)), sample.find(name(input))->file});
  }
  for (const ValueId output : made.outputs) {
    const std::string file = made.path + ".result_" + std::to_string(files.outputs.size()) + ".pb";
    files.outputs.push_back({std::string(name(output)), file});
  }
  return files;
}

namespace {

// Such as the labels beside scores: how far numbers of them are apart says nothing.
bool is_index(DType dtype) {
  return dtype == DType::int32 || dtype == DType::int64 || dtype == DType::boolean;
}

}  // namespace

std::optional<FloatDistance> PieceLowerer::distance_to_float(const Piece& piece,
                                                             const AskingLimits& limits) {
  // Measured on five quantised models with Qualcomm's compiler: of one run the two distances are 0.5 to 2 times each other,
  // since a few early ties decide most of a run, and the reference's own vary by a fifth. Of 16 runs near one input they
  // are up to 1.33 times each other, of 16 runs on inputs of their own 1.10 to 1.22 (attention, 18 times 16 runs). So runs
  // have inputs of their own where none were given.
  constexpr std::size_t kMostRuns = 16;
  // There LayerNormalization is a step off in a quarter of its elements. Further off is no chance, whatever steps a
  // backend states.
  constexpr double kMostNearest = 1.25;
  if (!may_have_floats(piece)) return std::nullopt;
  const auto made = make(piece);
  if (!made) return std::nullopt;
  FloatDistance distance{.most = kMostNearest};
  std::vector<FloatDistance> squares(made->outputs.size());  // sums over the runs
  const std::size_t most_runs = has_values(*made) ? std::min(kMostRuns, limits.most_runs) : 0;
  while (distance.runs < most_runs && add_float_run(*made, distance.runs, false, squares)) {
    const auto runs = static_cast<double>(++distance.runs);
    const auto factor = [](const FloatDistance& one) {
      return one.backend / std::max(one.reference, std::numeric_limits<double>::min());
    };
    const FloatDistance& furthest = *std::ranges::max_element(
        squares, [&](const auto& one, const auto& other) { return factor(one) < factor(other); });
    distance.backend = std::sqrt(furthest.backend / runs);
    distance.reference = std::sqrt(furthest.reference / runs);
    if (distance.is_alike() || (limits.is_time_up && limits.is_time_up())) break;
  }
  remove_piece(made->path);
  if (distance.runs == 0) return std::nullopt;
  return distance;
}

bool PieceLowerer::may_have_floats(const Piece& piece) const {
  return converter_ != nullptr && context_.model.onnx() != nullptr &&
         quantises(context_.model.graph, piece);
}

double PieceLowerer::beyond_rounding(const Piece& piece) {
  // Of one run two right computations are 0.5 to 2 times as far off as each other: see above. A hundredth is what
  // is_of_rounding() allows a single quantiser.
  constexpr double kMostOfOneRun = 2, kLeast = 0.01;
  if (!may_have_floats(piece)) return 0;
  const auto made = make(piece);
  if (!made) return 0;
  std::vector<FloatDistance> squares(made->outputs.size());
  double most = 0;
  if (has_values(*made) && add_float_run(*made, 0, true, squares)) {
    for (const FloatDistance& one : squares) {
      const double rounding = std::max(std::sqrt(one.reference), kLeast);
      most = std::max(most, std::sqrt(one.backend) / (kMostOfOneRun * rounding));
    }
  }
  remove_piece(made->path);
  return most;
}

// Adds the squares of how far each output is off the model in floats; `is_alone`: off the piece in floats. The samples come
// first; each further round of them has their floats a little moved, so that other values are near a tie, and those that
// were drawn in another order. False when that cannot be told.
bool PieceLowerer::add_float_run(const Made& made, std::size_t run, bool is_alone,
                                 std::vector<FloatDistance>& squares) {
  const ReferenceRun& sample = context_.samples[run % context_.samples.size()];
  const std::size_t moved = run / context_.samples.size();
  PieceFiles files = files_to_run(made, sample);
  const std::string model = is_alone ? made.path : context_.model.source.path_again();
  nlohmann::json request = {{"model", fs::absolute(model).string()},
                            {"moved", moved},
                            {"drawn", sample.is_drawn()},
                            {"inputs", nlohmann::json::array()},
                            {"rounded", nlohmann::json::array()}};
  std::vector<std::string> written;
  const auto ask_for = [&](const char* field, const NamedFile& value, const std::string& file) {
    request[field].push_back({{"name", value.name}, {"file", file}});
    written.push_back(file);
    return file;
  };
  const auto& inputs = context_.model.graph.inputs();
  for (const ValueId input : is_alone ? made.inputs : std::vector(inputs.begin(), inputs.end())) {
    const ReferenceTensor* const tensor = sample.find(name(input));
    if (tensor != nullptr)
      request["inputs"].push_back({{"name", name(input)}, {"file", tensor->file}});
  }
  for (std::size_t i = 0; moved > 0 && i < files.inputs.size(); ++i) {
    NamedFile& input = files.inputs[i];
    input.file = ask_for("rounded", input, made.path + ".moved_" + std::to_string(i) + ".pb");
  }
  std::vector<std::string> wanted;
  for (const NamedFile& output : files.outputs) {
    written.push_back(output.file);
    ask_for("outputs", output, output.file + ".float");
    wanted.push_back(moved > 0 ? ask_for("rounded", output, output.file + ".rounded")
                               : sample.find(output.name)->file);
  }
  const WorkerAnswer answer = converter_->request("float", request.dump());
  const auto json = nlohmann::json::parse(answer.text, nullptr, false);
  bool is_told =
      answer.kind == WorkerAnswer::Kind::line && json.value("ok", nlohmann::json()) == true;
  if (is_told) {
    is_told = session_.run(LowerStage::run, files).verdict == LowerVerdict::lowered;
    calls_ += 1;
  }
  bool is_any_told = false;
  for (std::size_t i = 0; is_told && i < wanted.size(); ++i) {
    const auto exact = read_tensor_file(files.outputs[i].file + ".float");
    const auto own = read_tensor_file(files.outputs[i].file);
    const auto rounded = read_tensor_file(wanted[i]);
    is_told = exact && own && rounded;
    if (!is_told || is_index(exact->dtype)) continue;
    const auto backend = share_apart(*exact, *own), reference = share_apart(*exact, *rounded);
    is_told = backend && reference;
    is_any_told = true;
    squares[i].backend += std::pow(backend.value_or(0), 2);
    squares[i].reference += std::pow(reference.value_or(0), 2);
  }
  std::error_code ignored;
  for (const std::string& file : written) fs::remove(file, ignored);
  return is_told && is_any_told;
}

PieceLowerer::Compared PieceLowerer::run_sample(const Made& made, const Piece& piece,
                                                const ReferenceRun& sample) {
  const PieceFiles files = files_to_run(made, sample);
  Compared compared{.attempt = session_.run(LowerStage::run, files)};
  if (compared.attempt.verdict == LowerVerdict::lowered) {
    const double seconds = compared.attempt.seconds;
    compared = compare(made, files, sample, piece);
    compared.attempt.seconds = seconds;
    const bool is_wrong = compared.attempt.verdict == LowerVerdict::wrong_values;
    if (is_wrong && !context_.is_strict_on_ties && is_order_of_ties(piece, files)) {
      compared.attempt.verdict = LowerVerdict::tie_order;
    }
  }
  std::error_code ignored;
  for (const NamedFile& output : files.outputs) fs::remove(output.file, ignored);
  return compared;
}

PieceLowerer::Compared PieceLowerer::compare(const Made& made, const PieceFiles& files,
                                             const ReferenceRun& sample, const Piece& piece) const {
  Compared compared{.attempt = {.verdict = LowerVerdict::lowered, .stage = LowerStage::run}};
  Attempt& attempt = compared.attempt;
  CompareTolerance tolerance = session_.backend().tolerance;
  tolerance.rtol *= piece.tolerance;
  tolerance.atol *= piece.tolerance;
  tolerance.rounding *= piece.tolerance;
  const CompareTolerance lower = {
      .rtol = kLowerPrecision, .atol = kLowerPrecision, .rounding = tolerance.rounding};
  const bool rounds = quantises(context_.model.graph, piece);
  bool is_right_lower = true, is_right_stepwise = true;
  for (std::size_t i = 0; i < made.outputs.size(); ++i) {
    if (is_random(made.outputs[i])) continue;
    const auto wants = read_tensor_file(sample.find(name(made.outputs[i]))->file);
    const auto is = read_tensor_file(files.outputs[i].file);
    if (!is) return {{.verdict = LowerVerdict::driver, .message = is.error().message}};
    if (!wants) continue;  // strings and the like
    const auto difference = compare_tensors(*wants, *is, tolerance);
    if (difference.has_distance) {
      attempt.compared.push_back({std::string(name(made.outputs[i])), difference.most_apart,
                                  difference.largest_wanted, difference.rms, difference.is_tested,
                                  difference.is_finite});
    }
    if (difference.is_same()) continue;
    const StepDifference steps =
        has_steps(context_.model.graph, made.outputs[i])
            ? step_difference(*wants, *is, tolerance_for(*wants, tolerance))
            : StepDifference::other;
    if (steps == StepDifference::none) continue;
    const bool is_step =
        steps == StepDifference::one_step || (rounds && is_of_rounding(*wants, *is));
    is_right_stepwise = is_right_stepwise && is_step;
    is_right_lower = is_right_lower && (compare_tensors(*wants, *is, lower).is_same() ||
                                        is_of_lower_precision(*wants, *is));
    if (attempt.verdict == LowerVerdict::wrong_values) continue;
    attempt.verdict = LowerVerdict::wrong_values;
    attempt.message =
        std::string(name(made.outputs[i])) + ": " + difference_text(difference, *wants, *is);
    compared.first_wrong = made.outputs[i];
  }
  const bool is_wrong = attempt.verdict == LowerVerdict::wrong_values;
  if (is_wrong && is_right_stepwise) {
    attempt.verdict = LowerVerdict::one_step;
  } else if (is_wrong && is_right_lower && session_.backend().compute != "bfloat16") {
    attempt.verdict = LowerVerdict::lower_precision;
  }
  return compared;
}

// For a single node that outputs indices: whether the wrong ones refer to equal elements.
bool PieceLowerer::is_order_of_ties(const Piece& piece, const PieceFiles& files) const {
  const Graph& graph = context_.model.graph;
  if (piece.nodes.size() != 1) return false;
  const NodeId node = piece.nodes.front();
  const auto operands = graph.operands(node);
  const auto outputs = graph.outputs(node);
  if (operands.empty() || outputs.size() == 0) return false;
  const ReferenceRun& sample = context_.samples.front();
  const ReferenceTensor* const data_file = sample.find(name(operands[0].value));
  if (data_file == nullptr) return false;
  const auto data = read_tensor_file(data_file->file);
  if (!data) return false;
  const std::string indices(name(outputs[outputs.size() - 1]));
  for (const NamedFile& output : files.outputs) {
    if (output.name != indices) continue;
    const auto wants = read_tensor_file(sample.find(indices)->file),
               is = read_tensor_file(output.file);
    return wants && is && is_tie_order({graph.op(node), axis_of(graph, node), *data, *wants, *is});
  }
  return false;
}

// Makes inputs that are equal to earlier ones copies of these.
Status<Error> PieceLowerer::merge_inputs(Made& made, std::span<const ValueId> same) const {
  if (same.empty() || context_.model.format() != ModelFormat::onnx) return Done{};
  PieceChange change;
  std::map<ValueId, ValueId> firsts;  // by what they are equal to
  for (const ValueId input : made.inputs) {
    const auto [first, is_new] = firsts.emplace(same[index(input)], input);
    if (!is_new) change.copies.emplace_back(name(input), name(first->second));
  }
  if (change.empty()) return Done{};
  const std::string changed = made.path + ".merged.onnx";
  const auto written = write_changed_piece(made.path, changed, change);
  if (!written) return error_of(written.error());
  return move_file(changed, made.path);
}

Result<Attempt, Error> PieceLowerer::keep(const Piece& piece, const std::string& out,
                                          std::span<const ValueId> same) {
  auto made = make(piece);
  if (!made) return made.error();
  if (const auto merged = merge_inputs(*made, same); !merged) return merged.error();
  PieceFiles files = files_of(*made, out);
  files.keeps = true;
  Attempt attempt = session_.run(LowerStage::compile, files);
  remove_piece(made->path);
  return attempt;
}

Attempt PieceLowerer::compile_simple(const TestModel& model) {
  Sha256 key = key_begin();
  key.add_text(model.bytes);
  const std::string name = std::move(key).hex();
  if (auto known = context_.store.find(name)) {
    calls_ += known->is_cached ? 0U : 1U;
    return *std::move(known);
  }
  const AskedKey asked(context_.store, name);
  const std::string path = context_.folder + "/simple_" + std::to_string(written_++) + ".onnx";
  const std::size_t before = session_.calls();
  Attempt attempt;  // says nothing when the model cannot be written
  if (write_file(path, model.bytes, true))
    attempt = session_.compile({.model = path, .out = path + ".out"});
  calls_ += session_.calls() - before;
  if (const auto added = context_.store.add(name, attempt); !added && !error_) {
    error_ = added.error();
  }
  return attempt;
}

std::optional<Attempt> PieceLowerer::refusal_of_simple_models() {
  std::optional<Attempt> first;
  if (context_.model.format() != ModelFormat::onnx) return first;
  const std::int64_t opset = imported_opset(context_.model.graph, "").value_or(17);
  for (const TestModel& model : models_of_one_op(opset)) {
    Attempt attempt = compile_simple(model);
    if (!is_refusal(attempt.verdict)) return std::nullopt;
    if (!first) first = std::move(attempt);
  }
  return first;
}

Answer answer_of(const PieceResult& result) {
  const Attempt& attempt = result.attempt;
  Answer answer{.how = verdict_words(attempt),
                .message = attempt.message,
                .difference = difference_of(attempt.verdict),
                .first_wrong = result.first_wrong,
                .runs = result.calls,
                .may_be_chance = may_be_chance(attempt.verdict),
                .named = named_in(attempt)};
  const bool is_refused = is_refusal(attempt.verdict);
  if (result.is_unchanged) {
    answer.outcome = OracleOutcome::unchanged;
  } else if (attempt.verdict == LowerVerdict::lowered) {
    answer.outcome = OracleOutcome::passes;
  } else if (is_refused || answer.difference != Difference::none) {
    answer.outcome = OracleOutcome::fails;
  }
  answer.stage = answer.difference == Difference::none ? lower_stage_name(attempt.stage) : "values";
  // Two crashes, or two timeouts, are the same failure.
  if (is_refused && attempt.verdict != LowerVerdict::refused && answer.stage != "values") {
    answer.stage = verdict_name(attempt.verdict);
  }
  return answer;
}

Result<PieceResult, Error> PieceLowerer::lower_changed(Piece piece) {
  auto result = lower(piece);
  if (!result || !result->is_unchanged) return result;
  piece.remedies = {};
  return lower(piece);
}

Answer PieceLowerer::answer(const Piece& piece) { return answered(lower(piece)); }

Answer PieceLowerer::answer_changed(const Piece& piece) { return answered(lower_changed(piece)); }

Answer PieceLowerer::answered(const Result<PieceResult, Error>& result) {
  if (result) return answer_of(*result);
  if (!error_) error_ = result.error();
  return {.stage = "driver", .message = result.error().message};
}

Result<CutPiece, Error> PieceLowerer::write(const Piece& piece, const std::string& path) {
  auto made = make(piece, path);
  if (!made) return made.error();
  return CutPiece{std::move(made->inputs), std::move(made->outputs)};
}

}  // namespace cleave
