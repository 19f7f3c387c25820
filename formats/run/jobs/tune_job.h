// Jobs that learn times: calibration and tuning.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/base.h"
#include "core/cost/cost.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/lists/costs.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// ---- calibrate job ----
//
// Calibration from files: profiles, and the models that ran.
//
//   CalibrateRequest request{.models = {{.path = "a.onnx"}}, .profiles = {"a.profile.json"}};
//   auto calibration = run_calibration(request);

struct CalibrateRequest {
  std::vector<ModelRequest> models;
  std::vector<std::string> profiles;  // one for each model, in the same order
};

struct CalibrateJob {
  Calibration calibration;
  std::vector<std::size_t> kernels;  // by model: how many were used
  std::vector<std::size_t> unused;   // by model: how many had unknown FLOPs or bytes
  Diagnostics warnings;
};

// A kernel is a measured node with a time above 0 whose FLOPs and bytes are known, also from shapes
// that the profile saw. Refuses a model or profile that cannot be read, with the faults of the
// first such file, and profiles without any kernel.
Result<CalibrateJob, Fault> run_calibration(const CalibrateRequest& request,
                                            const Progress& progress = {});

// ---- tune job ----
//
// Tuning: the accelerator partitions of a split are timed by a command of the user, the model is
// placed anew by these times, and so on until the placement repeats.
//
//   1. split by cost, or by priority while the accelerator has no times
//   2. time each distinct accelerator partition that was not timed before (same shapes run once)
//   3. divide each partition's time, less the launch, among its nodes in proportion to their
//      estimated times
//   4. repeat from 1, until a placement was seen before or the budget is spent
//   5. where a command runs whole splits: time the placement found, the one without --place cost, and the
//      model on the CPU alone. What parts add up to is a prediction; only this is a measurement. The fastest
//      is the plan that tuning ends with.
//
// A journal keeps the measured times, by hashes of the partition and of the command, so that a run
// that was stopped can continue. Times by another command are not used.

struct TuneRequest {
  SplitRequest split;  // its model, costs and numbers of devices
  // For /bin/sh: {model} is the path of a partition as an ONNX file. The last line that it prints is the time of one
  // run in milliseconds.
  std::string command;
  // The same for a whole split: {split} is its folder; "": there is none.
  std::string whole_command = {};
  std::string journal;           // its path; "": no journal is kept
  double budget_seconds = 0;     // no command is started later; 0: no limit
  double timeout_seconds = 600;  // of one command
};

struct TunedRound {
  std::size_t acc_parts = 0;
  std::size_t distinct = 0;
  std::size_t timed = 0;                // commands that were run
  std::size_t known = 0;                // distinct partitions whose time was in the journal
  std::optional<double> total_us = {};  // of an inference by the times after this round
  std::optional<double> all_cpu_us = {};
};

// A whole split, as it runs.
struct TunedWhole {
  enum class What : std::uint8_t { plan, greedy, cpu };
  What what = What::plan;  // the placement found, the one without --place cost, the CPU alone
  std::size_t acc_parts = 0;
  std::optional<double> predicted_us = {};
  double measured_us = 0;
};

struct PlacedNode {
  std::string node;
  bool is_acc = false;
};

enum class TuneEnd : std::uint8_t { repeats, budget };

struct TuneJob {
  std::vector<TunedRound> rounds;
  std::size_t best = 0;  // the round with the least time, the first on a tie
  std::size_t last = 0;  // TuneEnd::repeats: the round whose placement follows from `acc_times`
  std::size_t from_journal = 0;  // distinct partitions whose times an earlier run measured
  TuneEnd end = TuneEnd::repeats;
  std::vector<NamedTime> acc_times;  // of nodes, in model order
  std::vector<TunedWhole> wholes;    // in the order of TunedWhole::What; empty: none was timed
  bool lacks_wholes = false;         // the budget ended before all of them were timed
  // What to take, of each node in model order: the fastest whole, else the placement that these times lead to.
  std::vector<PlacedNode> plan;
  Diagnostics warnings;
};

// The whole that took the least time, the first on a tie; null when none was timed.
const TunedWhole* fastest(const TuneJob& job);

// Refuses what run_split() refuses, a model that is not ONNX, a command that fails or prints no
// number, and a run that ends without the time of any partition.
Result<TuneJob, Fault> run_tuning(const TuneRequest& request, const Progress& progress = {});

// ---- tune journal ----
//
// TuneJournal: the times that `cleave tune` measured, in a file of lines "key microseconds", so that
// a run that was stopped can continue with the same results: times are written with all their digits. A
// key is the hash of the partition, a point, and the hash of the command: another command may run on
// another machine. A line that is none of these is passed over.

// Longer times are taken for faults; so are times below 0.
constexpr double kMostMicroseconds = 1e15;

class TuneJournal {
 public:
  // Reads the file if it is there; "": times are kept in memory only. Error: the file is not such a
  // journal, another run uses it, or it cannot be written.
  static Result<TuneJournal, Error> open(const std::string& path, const std::string& command);

  // Microseconds of the partition with that hash by the same command; nullopt if it was not timed.
  std::optional<double> find(const std::string& hash);
  // Appends to the file at once. Error: it cannot be written.
  Status<Error> add(const std::string& hash, double us);
  // How many times of earlier runs find() returned, each counted once.
  std::size_t used_before() const { return used_before_; }

 private:
  explicit TuneJournal(const std::string& command);

  std::optional<JournalFile> file_;
  std::string command_;  // the end of each key
  std::map<std::string, double> times_;
  std::set<std::string> known_before_;  // keys of earlier runs that were not found yet
  std::size_t used_before_ = 0;
};

// ---- tune text ----
//
// The result of a tuning as text.

// `latency 9.5 ms after 3 rounds, all on the CPU 36.8 ms (3.9x)`, then a row for each round.
std::string tune_text(const TuneJob& job);

}  // namespace cleave
