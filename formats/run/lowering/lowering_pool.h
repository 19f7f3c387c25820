// LoweringPool: the resources for lowering pieces of a model. Each thread ("lane") has a session of
// every backend, one of the reference, and a cutter. All lanes share the known verdicts and the
// reference's values.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "formats/base/io/lanes.h"
#include "formats/base/text/fault.h"
#include "formats/run/lowering/lower_outcome.h"
#include "formats/run/lowering/piece_lowerer.h"

namespace cleave {

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
  std::vector<std::string> identities_;
  std::string reference_;
  std::string lack_of_reference_;
  std::vector<Lane> lane_;
  Lanes lanes_;  // last: its threads end before what they use
};

}  // namespace cleave
