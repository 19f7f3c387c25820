// Learns times: calibration and tuning.
#include "formats/run/jobs/tune_job.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <utility>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/measures/measures.h"
#include "formats/base/files.h"
#include "formats/base/process.h"
#include "formats/base/text.h"
#include "formats/lists/costs.h"
#include "formats/onnx/write/writer.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// ---- calibrate job ----

namespace {

struct KernelsOfModel {
  std::vector<Kernel> kernels;
  std::size_t unused = 0;
};

KernelsOfModel kernels_of(const Graph& graph, const PerNode<double>& measured,
                          std::uint32_t model) {
  KernelsOfModel found;
  const PerNode<NodeCost> costs = node_costs(graph);
  for (const NodeId node : graph.nodes()) {
    if (measured.empty() || measured[node] <= 0) continue;
    if (!costs[node].flops || !costs[node].bytes) {
      ++found.unused;
      continue;
    }
    found.kernels.push_back({.op = op_key(graph.op(node)),
                             .us = measured[node],
                             .flops = *costs[node].flops,
                             .bytes = *costs[node].bytes,
                             .model = model});
  }
  return found;
}

class Calibrator {
 public:
  Calibrator(const CalibrateRequest& request, const Progress& progress)
      : request_(request), progress_(progress) {}

  Result<CalibrateJob, Fault> run() && {
    for (std::uint32_t i = 0; i < request_.models.size(); ++i) {
      if (auto fault = add_model(i)) return *std::move(fault);
    }
    if (kernels_.empty()) {
      return fault_of(FaultCause::input,
                      Error{"the profiles have no time of a node with known FLOPs and sizes",
                            std::nullopt,
                            {"--dim binds symbolic dims"}});
    }
    job_.calibration = calibrate(kernels_, request_.models.size());
    return std::move(job_);
  }

 private:
  std::optional<Fault> add_model(std::uint32_t i) {
    const ModelRequest& from = request_.models[i];
    auto model = read_model(from.path, from.bindings, from.limits, progress_);
    if (!model) return input_fault(std::move(model).error());
    const CostSource source{.path = request_.profiles[i]};
    auto costs = read_costs_and_shapes({&source, 1}, *model);
    if (!costs) return input_fault(std::move(costs).error());
    const Graph seen = model->graph.with_shapes(observed_shapes(*costs));
    KernelsOfModel found = kernels_of(seen, costs->cpu_us, i);
    job_.kernels.push_back(found.kernels.size());
    job_.unused.push_back(found.unused);
    for (Kernel& kernel : found.kernels) kernels_.push_back(std::move(kernel));
    job_.warnings.insert(job_.warnings.end(), costs->warnings.begin(), costs->warnings.end());
    return std::nullopt;
  }

  const CalibrateRequest& request_;
  const Progress& progress_;
  std::vector<Kernel> kernels_;
  CalibrateJob job_;
};

}  // namespace

Result<CalibrateJob, Fault> run_calibration(const CalibrateRequest& request,
                                            const Progress& progress) {
  return Calibrator(request, progress).run();
}

}  // namespace cleave

// ---- tune job ----

extern char** environ;

namespace cleave {

namespace {

using Clock = std::chrono::steady_clock;

// The command with the path in place of each `what`.
std::string with_path(std::string command, std::string_view what, const std::string& path) {
  const std::string word = shell_word(path);
  for (std::size_t at = 0; (at = command.find(what, at)) != std::string::npos;) {
    command.replace(at, what.size(), word);
    at += word.size();
  }
  return command;
}

std::string_view last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text.substr(text.rfind('\n') + 1);
}

// The microseconds in a line such as "1.25" or "1.25 ms".
std::optional<double> time_of_line(std::string_view line) {
  const auto quantity = parse_quantity(trimmed(line));
  if (!quantity || !(quantity->unit.empty() || quantity->unit == "ms")) return std::nullopt;
  const double us = quantity->value * 1e3;
  return us >= 0 && us <= kMostMicroseconds ? std::optional(us) : std::nullopt;
}

class Tuner {
 public:
  Tuner(const TuneRequest& request, const Progress& progress)
      : request_(request), progress_(progress), start_(Clock::now()) {}

  Result<TuneJob, Fault> run() && {
    if (auto fault = read()) return *std::move(fault);
    auto cutter = OnnxCutter::open(*model_);
    if (!cutter) return std::move(cutter).error();
    auto journal = TuneJournal::open(request_.journal, request_.command);
    if (!journal) return fault_of(FaultCause::output, std::move(journal).error());
    journal_.emplace(*std::move(journal));
    folder_ = Temporary::folder_in(std::filesystem::temp_directory_path().string());
    if (!folder_.is_there()) {
      return fault_of(FaultCause::output, "the folder for temporary files cannot be written",
                      {"set TMPDIR to another"});
    }
    std::map<std::vector<bool>, std::size_t> seen;  // rounds by their placement
    while (true) {
      auto job = place();
      if (!job) return std::move(job).error();
      take_plan(acc_nodes(*job));
      const auto [earlier, is_new] = seen.try_emplace(acc_nodes(*job), made_.rounds.size());
      if (!is_new) {
        made_.last = earlier->second;
        break;
      }
      auto went_on = time_parts(*job, *cutter);
      if (!went_on) return std::move(went_on).error();
      if (!*went_on) {
        made_.end = TuneEnd::budget;
        break;
      }
    }
    made_.from_journal = journal_->used_before();
    find_best();
    if (made_.acc_times.empty()) return without_times();
    if (!request_.whole_command.empty() && made_.end == TuneEnd::repeats) {
      if (auto fault = time_wholes()) return *std::move(fault);
    }
    return std::move(made_);
  }

 private:
  Fault without_times() const {
    if (made_.end == TuneEnd::budget) {
      return fault_of(FaultCause::request, "the budget ended before a partition was timed",
                      {"--limit time=TIME gives it more"});
    }
    return fault_of(FaultCause::request,
                    "no partition is on the accelerator, so there is nothing to time",
                    {"cleave preview shows why"});
  }

  std::optional<Fault> read() {
    const ModelRequest& from = request_.split.model;
    if (const auto fine = check_cost_targets(request_.split); !fine) {
      return fault_of(FaultCause::request, fine.error());
    }
    auto model = read_model(from.path, from.bindings, from.limits, progress_);
    if (!model) return input_fault(std::move(model).error());
    model_.emplace(*std::move(model));
    if (model_->format() != ModelFormat::onnx) {
      return input_fault(
          {diagnostic_of(from.path, "is not an ONNX model: only these can be cut and run")});
    }
    auto costs = read_costs_and_shapes(costs_of(request_.split), *model_);
    if (!costs) return input_fault(std::move(costs).error());
    costs_ = *std::move(costs);
    made_.warnings = model_->warnings;
    append(made_.warnings, costs_.warnings);
    append(made_.warnings, idle_request_warnings(request_.split));
    if (costs_.acc_us.empty()) costs_.acc_us = PerNode<double>(model_->graph.node_count(), -1);
    return std::nullopt;
  }

  void take_plan(const std::vector<bool>& is_acc) {
    made_.plan.clear();
    for (const NodeId node : model_->graph.nodes()) {
      made_.plan.push_back({std::string(model_->graph.node(node).name), is_acc[index(node)]});
    }
  }

  // Splits by cost, or by priority if the first round lacks the times that this needs. The times of nodes
  // are shares of what was measured, so a little gain is none.
  Result<SplitJob, Fault> place() {
    constexpr double kLeastGain = 0.03;
    SplitRequest request = request_.split;
    request.options.place = PlaceBy::cost;
    if (!request.options.min_gain) request.options.min_gain = kLeastGain;
    auto job = run_split(request, progress_, {.model = &*model_, .costs = &costs_});
    if (!job && made_.rounds.empty()) {
      request.options.place_by_priority();
      job = run_split(request, progress_, {.model = &*model_, .costs = &costs_});
    }
    return job;
  }

  static std::vector<bool> acc_nodes(const SplitJob& job) {
    const Partition& partition = job.split().partition;
    std::vector<bool> is_acc;
    for (const NodeId node : job.graph().nodes()) {
      is_acc.push_back(partition.is_acc(partition.part_of[node]));
    }
    return is_acc;
  }

  bool is_over_budget() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    return request_.budget_seconds > 0 && seconds > request_.budget_seconds;
  }

  // False: the budget is spent.
  Result<bool, Fault> time_parts(const SplitJob& job, OnnxCutter& cutter) {
    const Partition& partition = job.split().partition;
    // By the declared shapes, which the pieces have.
    const SameShapes shapes = find_same_shapes(model_->graph, partition, job.split().boundaries);
    TunedRound round{.acc_parts = shapes.acc_parts, .distinct = shapes.distinct};
    PerPart<double> us(partition.count(), 0);
    for (const PartId part : partition.parts()) {
      if (!partition.is_acc(part)) continue;
      if (shapes.like[part] == part) {
        auto time = time_of(partition, part, cutter, round);
        if (!time) return std::move(time).error();
        if (!*time) {
          name_times();
          return false;
        }
        us[part] = **time;
      }
      us[part] = us[shapes.like[part]];
      share_out(job, part, us[part]);
    }
    add_round(job, round);
    return true;
  }

  // nullopt: the journal does not have it, and the budget is spent.
  Result<std::optional<double>, Fault> time_of(const Partition& partition, PartId part,
                                               OnnxCutter& cutter, TunedRound& round) {
    const std::string path = folder_.path() + "/piece.onnx";
    const auto written = cutter.write(partition.nodes(part), {path, path});
    if (!written) return written.error();
    const auto source = SourceFile::open(path);
    if (!source) return input_fault(source.error());
    const auto hash = piece_hash(source->bytes());
    if (hash) {
      if (const auto known = journal_->find(*hash)) {
        ++round.known;
        return known;
      }
    }
    if (is_over_budget()) return std::optional<double>();
    auto time = run_command(with_path(request_.command, "{model}", path),
                            std::string(partition.name(part)));
    if (!time) return std::move(time).error();
    ++round.timed;
    if (hash) {
      if (auto kept = journal_->add(*hash, *time); !kept) {
        return fault_of(FaultCause::output, std::move(kept).error());
      }
    }
    return std::optional(*time);
  }

  Result<double, Fault> run_command(const std::string& text, const std::string& name) const {
    ChildCommand command{.argv = {"/bin/sh", "-c", text},
                         .folder = std::filesystem::current_path().string(),
                         .timeout_seconds = request_.timeout_seconds};
    for (char** one = environ; *one != nullptr; ++one) command.environment.emplace_back(*one);
    const ChildResult result = run_child(command);
    const auto fault = [&](const std::string& what) {
      const std::string said(last_line(result.err.empty() ? result.out : result.err));
      std::vector<std::string> notes;
      if (!said.empty()) notes.push_back("it says: " + said);
      return fault_of(FaultCause::program, "the command for " + name + " " + what,
                      std::move(notes));
    };
    if (result.end == ChildEnd::timed_out)
      return fault("took too long: --limit command-time=20min gives it more");
    if (result.end != ChildEnd::exited || result.code != 0) return fault("failed");
    const auto us = time_of_line(last_line(result.out));
    if (!us) return fault("must print milliseconds on its last line");
    return *us;
  }

  // Divides the partition's time among its nodes in proportion to their times on the accelerator,
  // else on the CPU; equally when none is known.
  void share_out(const SplitJob& job, PartId part, double us) {
    has_timed_ = true;
    const auto nodes = job.split().partition.nodes(part);
    const TimeBasis& basis = job.time().basis;
    const double work = std::max(us - basis.machine.launch_us.value_or(0), 0.0);
    double sum = 0;
    std::vector<double> weights;
    for (const NodeId node : nodes) {
      weights.push_back(basis.times.acc.of(node).value_or(basis.times.cpu.of(node).value_or(0)));
      sum += weights.back();
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const double share = sum > 0 ? weights[i] / sum : 1 / static_cast<double>(nodes.size());
      costs_.acc_us[nodes[i]] = work * share;
    }
  }

  // Adds a round with the time of an inference by the present times of nodes.
  void add_round(const SplitJob& job, TunedRound round) {
    const TimeBasis& before = job.time().basis;
    const TargetTimes times = measured_targets(job.graph(), before.machine, costs_).times;
    const Latency found = latency(job.graph(), job.split().partition, job.split().boundaries,
                                  {times, before.machine, job.time().residency});
    round.total_us = found.total_us;
    round.all_cpu_us = found.all_cpu_us;
    made_.rounds.push_back(round);
    name_times();
  }

  // Keeps the present times of nodes as the result.
  void name_times() {
    std::vector<NamedTime> acc_times;
    if (!has_timed_) return;
    for (const NodeId node : model_->graph.nodes()) {
      if (costs_.acc_us[node] < 0) continue;
      acc_times.push_back({std::string(model_->graph.node(node).name), costs_.acc_us[node]});
    }
    made_.acc_times = std::move(acc_times);
  }

  // ---- whole splits ----

  // Times the three splits, and takes the fastest. Two that are the same are timed once.
  std::optional<Fault> time_wholes() {
    using What = TunedWhole::What;
    const ListsRead nothing{{SupportList{}}, {}};
    std::map<std::vector<bool>, double> timed;
    std::vector<std::vector<bool>> placements;  // by whole
    for (const What what : {What::plan, What::greedy, What::cpu}) {
      SplitRequest request = request_.split;
      request.options.place_by_priority();
      auto job = what == What::plan ? place()
                                    : run_split(request, progress_,
                                                {.model = &*model_,
                                                 .costs = &costs_,
                                                 .lists = what == What::cpu ? &nothing : nullptr});
      if (!job) return std::move(job).error();
      TunedWhole whole{.what = what, .predicted_us = job->time().asked().total_us};
      const auto& devices = job->split().partition.devices;
      whole.acc_parts = static_cast<std::size_t>(std::ranges::count(devices, Device::acc));
      const auto [time, is_new] = timed.try_emplace(acc_nodes(*job), 0);
      if (is_new) {
        auto us = time_whole(*job);
        if (!us) return std::move(us).error();
        time->second = *us;
      }
      whole.measured_us = time->second;
      made_.wholes.push_back(whole);
      placements.push_back(time->first);
    }
    take_plan(placements[static_cast<std::size_t>(fastest(made_) - made_.wholes.data())]);
    return std::nullopt;
  }

  Result<double, Fault> time_whole(const SplitJob& job) {
    const std::string path = folder_.path() + "/split";
    auto folder = OutputFolder::create(path, true);
    if (!folder) return output_fault(std::move(folder).error());
    const Boundaries& boundaries = job.split().boundaries;
    auto models = write_models(
        *model_, {.partition = job.split().partition, .parts = boundaries, .root = boundaries}, {},
        *folder);
    if (!models) return std::move(models).error();
    Report report = job.report(models->notes);
    report.part_files = models->part_files;
    auto written = folder->write_manifest([&](const TakeText& take) { report_json(report, take); });
    if (written) written = folder->commit();
    if (!written) return output_fault(std::move(written).error());
    return run_command(with_path(request_.whole_command, "{split}", path), "the whole split");
  }

  void find_best() {
    for (std::size_t i = 1; i < made_.rounds.size(); ++i) {
      const auto& best = made_.rounds[made_.best].total_us;
      const auto& now = made_.rounds[i].total_us;
      if (now && (!best || *now < *best)) made_.best = i;
    }
  }

  const TuneRequest& request_;
  const Progress& progress_;
  std::optional<TuneJournal> journal_;
  Clock::time_point start_;
  std::optional<LoadedModel> model_;
  CostSet costs_;
  bool has_timed_ = false;
  Temporary folder_;
  TuneJob made_;
};

}  // namespace

const TunedWhole* fastest(const TuneJob& job) {
  const auto found = std::ranges::min_element(
      job.wholes,
      [](const TunedWhole& a, const TunedWhole& b) { return a.measured_us < b.measured_us; });
  return found == job.wholes.end() ? nullptr : &*found;
}

Result<TuneJob, Fault> run_tuning(const TuneRequest& request, const Progress& progress) {
  return Tuner(request, progress).run();
}

// ---- tune journal ----

namespace {

constexpr unsigned kVersion = 2;  // of the lines
constexpr std::size_t kHashDigits = 64;

bool is_hash(std::string_view text) {
  return text.size() == kHashDigits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

// A partition's hash, a point, and the command's hash.
bool is_key(std::string_view text) {
  return text.size() == 2 * kHashDigits + 1 && text[kHashDigits] == '.' &&
         is_hash(text.substr(0, kHashDigits)) && is_hash(text.substr(kHashDigits + 1));
}

struct TimeLine {
  std::string_view key;
  double us;
};

std::optional<TimeLine> time_line(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == line.npos || !is_key(line.substr(0, blank))) return std::nullopt;
  const auto us = parse_number<double>(line.substr(blank + 1));
  if (!us || !(*us >= 0 && *us <= kMostMicroseconds)) return std::nullopt;
  return TimeLine{line.substr(0, blank), *us};
}

}  // namespace

TuneJournal::TuneJournal(const std::string& command) : command_("." + sha256_hex(command)) {}

Result<TuneJournal, Error> TuneJournal::open(const std::string& path, const std::string& command) {
  TuneJournal journal(command);
  if (path.empty()) return journal;
  auto file = JournalFile::open(path, "cleave tune", kVersion);
  if (!file) return std::move(file).error();
  journal.file_.emplace(*std::move(file));
  for (const std::string_view line : lines_of(journal.file_->lines())) {
    const auto time = time_line(line);
    if (!time || !time->key.ends_with(journal.command_)) continue;
    journal.known_before_.emplace(time->key);
    journal.times_[std::string(time->key)] = time->us;
  }
  return journal;
}

std::optional<double> TuneJournal::find(const std::string& hash) {
  const auto found = times_.find(hash + command_);
  if (found == times_.end()) return std::nullopt;
  used_before_ += known_before_.erase(found->first);
  return found->second;
}

Status<Error> TuneJournal::add(const std::string& hash, double us) {
  const std::string key = hash + command_;
  times_[key] = us;
  if (!file_) return Done{};
  return file_->add(key + " " + shortest_text(us) + "\n");
}

// ---- tune text ----

namespace {

std::string time_text(const std::optional<double>& us) {
  return us ? duration_text(*us) : std::string("not known");
}

std::string factor_text(double factor) { return fixed_text(factor, 2) + "x"; }

std::string headline(const TuneJob& job) {
  if (job.rounds.empty()) return "the budget was spent in the first round: latency not known";
  const TunedRound& best = job.rounds[job.best];
  std::string line =
      "latency " + time_text(best.total_us) + " after " + counted(job.rounds.size(), "round");
  if (job.best + 1 != job.rounds.size()) line += ", in round " + count_text(job.best + 1);
  if (best.all_cpu_us && best.total_us && *best.total_us > 0) {
    const bool is_slower =
        *best.total_us > *best.all_cpu_us && time_text(best.total_us) != time_text(best.all_cpu_us);
    line += is_slower ? ", slower than the CPU alone (" + time_text(best.all_cpu_us) + ")"
                      : ", all on the CPU " + time_text(best.all_cpu_us) + " (" +
                            factor_text(*best.all_cpu_us / *best.total_us) + ")";
  }
  if (!best.total_us) line += ": --costs FILE gives the times on the CPU";
  return line + (job.end == TuneEnd::budget ? "; the budget is spent" : "; the placement repeats");
}

// What a reader may take for granted but is not so; a line each.
std::string remarks(const TuneJob& job) {
  std::string text;
  if (job.end == TuneEnd::repeats && job.last != job.best) {
    text += as_line("--place cost with these times gives the placement of round " +
                    count_text(job.last + 1) + " (" + time_text(job.rounds[job.last].total_us) +
                    "), not that of round " + count_text(job.best + 1) +
                    ": the times of its partitions do not add up from nodes");
  }
  if (job.end == TuneEnd::budget) {
    text += as_line("--place cost with these times may give a placement that was not timed");
  }
  if (job.from_journal > 0) {
    text += as_line(counted(job.from_journal, "time is", "times are") +
                    " from the journal of an earlier run: remove it to start afresh");
  }
  return text;
}

std::string name_of(TunedWhole::What what) {
  switch (what) {
    case TunedWhole::What::plan:
      return "the plan";
    case TunedWhole::What::greedy:
      return "all that the lists accept";
    case TunedWhole::What::cpu:
      break;
  }
  return "the CPU alone";
}

// What was measured as a whole, and which placement to take.
std::string wholes_text(const TuneJob& job) {
  if (job.wholes.empty()) {
    return as_line(
        "not measured as a whole: --run 'COMMAND {split}' compares the plan with the CPU alone");
  }
  const TunedWhole& plan = job.wholes.front();
  const TunedWhole& best = *fastest(job);
  std::string line = "measured as a whole, the plan takes " + duration_text(plan.measured_us) +
                     ", predicted " + time_text(plan.predicted_us);
  if (best.measured_us < plan.measured_us) {
    line += ": it is not the fastest; " + name_of(best.what) + " takes " +
            duration_text(best.measured_us) + ": ";
    line += best.what == TunedWhole::What::cpu ? "do not split this model for this accelerator"
                                               : "split without --place cost";
  }
  for (const TunedWhole& whole : job.wholes) {
    // Clocks, caches and a busy machine account for tens of percent. Twice, or half, is another
    // machine, another number of threads, or another model. Chosen, not measured.
    constexpr double kTooFarOff = 2;
    const bool is_cpu = whole.what == TunedWhole::What::cpu && whole.predicted_us;
    if (!is_cpu || *whole.predicted_us <= 0 || whole.measured_us <= 0) continue;
    const double factor = whole.measured_us / *whole.predicted_us;
    if (factor < kTooFarOff && factor > 1 / kTooFarOff) continue;
    line += "; the profile does not fit this machine now: the CPU alone takes " +
            duration_text(whole.measured_us) + " where it foresees " +
            time_text(whole.predicted_us) + ", so measure it again";
  }
  TextTable table({"as a whole", "partitions", "predicted", "measured"},
                  {Align::left, Align::right, Align::right, Align::right});
  for (const TunedWhole& whole : job.wholes) {
    table.add_row({name_of(whole.what), count_text(whole.acc_parts), time_text(whole.predicted_us),
                   duration_text(whole.measured_us)});
  }
  return as_line(line) + '\n' + table.text();
}

}  // namespace

std::string tune_text(const TuneJob& job) {
  std::string text = as_line(headline(job)) + remarks(job);
  if (job.rounds.empty()) return text;
  TextTable table(
      {"round", "partitions", "distinct", "timed", "known", "latency"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (std::size_t i = 0; i < job.rounds.size(); ++i) {
    const TunedRound& round = job.rounds[i];
    table.add_row({count_text(i + 1), count_text(round.acc_parts), count_text(round.distinct),
                   count_text(round.timed), count_text(round.known), time_text(round.total_us)});
  }
  return text + '\n' + table.text() + '\n' + wholes_text(job);
}

}  // namespace cleave
