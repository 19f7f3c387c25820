#include "formats/run/jobs/tune_job.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <utility>

#include "core/base/append.h"
#include "core/base/quantity.h"
#include "core/base/white_space.h"
#include "core/measures/same_shape.h"
#include "formats/base/io/child.h"
#include "formats/base/io/output_folder.h"
#include "formats/base/io/temporary.h"
#include "formats/base/text/shell_word.h"
#include "formats/models/onnx/write/cutter.h"
#include "formats/models/onnx/write/piece_hash.h"
#include "formats/run/jobs/measured_shapes.h"
#include "formats/run/jobs/tune_journal.h"
#include "formats/run/jobs/write_models.h"

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
                      {"--budget gives it more"});
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
    if (result.end == ChildEnd::timed_out) return fault("took too long: --timeout gives it more");
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
      whole.acc_parts =
          static_cast<std::size_t>(std::count(devices.begin(), devices.end(), Device::acc));
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
  const auto found = std::min_element(
      job.wholes.begin(), job.wholes.end(),
      [](const TunedWhole& a, const TunedWhole& b) { return a.measured_us < b.measured_us; });
  return found == job.wholes.end() ? nullptr : &*found;
}

Result<TuneJob, Fault> run_tuning(const TuneRequest& request, const Progress& progress) {
  return Tuner(request, progress).run();
}

}  // namespace cleave
