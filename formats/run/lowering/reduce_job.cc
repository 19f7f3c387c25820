#include "formats/run/lowering/reduce_job.h"

#include <chrono>

#include "formats/run/lowering/finding_folder.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

class ReduceJob {
 public:
  ReduceJob(const ReduceInput& input, const ReduceOptions& options, LoweringPool& pool)
      : input_(input), options_(options), pool_(pool) {}

  Result<ReduceOutcome, Fault> run() {
    outcome_.identity = pool_.identities().front();
    outcome_.part.name = input_.name;
    outcome_.part.nodes = input_.nodes;
    std::optional<Fault> fault;
    pool_.lanes().do_all({[&](std::size_t lane) { fault = run_in(lane); }});
    if (!fault && is_refusal(outcome_.part.attempt.verdict)) fault = pool_.fault_of_backend(0);
    if (!fault && outcome_.finding) {
      pool_.lanes().do_all({[&](std::size_t lane) { fault = write(pool_.lowerer(lane, 0)); }});
    }
    if (fault) return *std::move(fault);
    outcome_.compiler_runs = pool_.compiler_runs();
    return std::move(outcome_);
  }

 private:
  std::optional<Fault> run_in(std::size_t lane) {
    PieceLowerer& lowerer = pool_.lowerer(lane, 0);
    const auto result = lowerer.lower({.nodes = input_.nodes});
    if (!result) return fault_of(FaultCause::output, result.error().message);
    LoweredPart& part = outcome_.part;
    part.attempt = result->attempt;
    part.hash = result->hash;
    part.is_lowered = is_success(result->attempt.verdict);
    if (!is_refusal(result->attempt.verdict)) return std::nullopt;
    const PartSearch search(input_.model.graph, pool_, options_.search);
    const auto asked = [&](std::size_t runs) {
      tell(options_.pool.progress, {"search", "runs", runs, options_.search.most_runs});
    };
    auto found = search.search({part, *result}, lane, asked);
    if (lowerer.error()) return fault_of(FaultCause::output, lowerer.error()->message);
    if (found.findings.empty()) return std::nullopt;
    outcome_.finding = std::move(found.findings.front());
    return std::nullopt;
  }

  std::optional<Fault> write(PieceLowerer& lowerer) const {
    if (options_.folder.empty()) return std::nullopt;
    const FindingFolder folder{.path = options_.folder,
                               .finding = *outcome_.finding,
                               .model = input_.model,
                               .backend = input_.backends.front(),
                               .identity = outcome_.identity,
                               .samples = pool_.samples(),
                               .command = "reduce"};
    const auto written = write_finding(folder, lowerer);
    if (written) return std::nullopt;
    return fault_of(FaultCause::output, written.error().message);
  }

  const ReduceInput& input_;
  const ReduceOptions& options_;
  LoweringPool& pool_;
  ReduceOutcome outcome_;
};

}  // namespace

Result<ReduceOutcome, Fault> reduce_piece(const ReduceInput& input, const ReduceOptions& options) {
  const Clock::time_point begin = Clock::now();
  auto pool = LoweringPool::start(input.model, input.backends, options.pool);
  if (!pool) return pool.error();
  auto outcome = ReduceJob(input, options, **pool).run();
  if (outcome) outcome->seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return outcome;
}

}  // namespace cleave
