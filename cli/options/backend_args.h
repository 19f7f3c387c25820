// Options of commands that run compilers: which ones, against which reference, and how far a
// culprit is searched for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "formats/base/model.h"
#include "formats/run/lowering/lowering_job.h"

namespace cleave {

// --reference, --inputs, --seed
struct ReferenceArgs {
  std::string name;
  std::vector<std::string> inputs;
  std::uint64_t seed = 0;

  // Reads the reference backend: `name`, or if that is empty the runtime of the model's format.
  // nullopt, after printing why, when it cannot be used.
  std::optional<Backend> load(ModelFormat format) const;
  // --reference none
  bool is_off() const { return name == "none"; }
  // Returns false, after printing which, when an input file is missing.
  bool has_inputs() const;
};

struct BackendArgs {
  std::vector<std::string> names;
  ReferenceArgs reference;
  PoolOptions pool;
  SearchSettings search;

  // --backend, --reference and --inputs, --jobs and the cache, --culprit and other options of searching, --compare and
  // of comparing. `culprits`, `most_runs`: unless --culprit and a limit are given.
  explicit BackendArgs(const Given& given, CulpritSearch culprits = CulpritSearch::node,
                       std::size_t most_runs = SearchSettings{}.most_runs);

  // For models of the format. Reads the backends, and the reference, if it is asked for or needed, into `pool`. nullopt,
  // after printing why, when one cannot be used.
  //
  // With several targets NAME=BACKEND is for the target of that name, and others are for those that have
  // none of their own.
  std::optional<std::vector<Backend>> load(ModelFormat format,
                                           const std::vector<std::string>& targets = {});
  // Where these nodes have open shapes, which may be pinned: makes the runtime of the format (ONNX Runtime,
  // torch) the reference if none was asked for, none is turned off, and it is known here. That it does not
  // start is no fault then.
  void use_default_reference(const LoadedModel& model, std::span<const NodeId> nodes);
  // Sets the rest of `pool`. `work` is the absolute path of an existing folder.
  void set_up(const std::string& work);

 private:
  std::optional<Backend> load_one(const std::string& text, ModelFormat format) const;

  std::string cache_;  // a folder, "off", or "" for the usual folder
  std::size_t jobs_ = 0;
  std::optional<std::int64_t> integers_;
};

}  // namespace cleave
