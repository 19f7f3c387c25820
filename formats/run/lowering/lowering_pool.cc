// How the pool is set up:
// 1. each lane makes its sessions, without starting anything;
// 2. one lane asks every backend for its version, which starts it, and runs the reference;
// 3. each lane makes its lowerers. A worker starts when its lane gets a job for it.
#include "formats/run/lowering/lowering_pool.h"

#include <algorithm>
#include <filesystem>

namespace cleave {
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
      turns_(lane_count(backends, options.jobs) > 1),
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
                               .identity = identities_[i]};
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

}  // namespace cleave
