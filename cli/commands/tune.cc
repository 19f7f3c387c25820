// cleave tune: times the accelerator partitions by a command, and places the model by these times; or learns from
// profiles of some models the times of ops, for models without a profile.
#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/lists/costs.h"
#include "formats/report/words/words.h"
#include "formats/run/jobs/tune_job.h"

namespace cleave {
namespace {

class TuneCommand : public Command {
 public:
  explicit TuneCommand(const Given& given)
      : given_(given),
        profiles_(given.texts("--learn")),
        models_(given.texts("MODEL")),
        output_(given.text("--output")),
        plan_(given.text("--plan")),
        force_(given.flag("--force")) {
    request_.split = given.split;
    request_.split.model.path = models_.front();
    for (const std::string& text : given.texts("--run")) {
      const bool is_whole = text.find("{split}") != text.npos;
      std::string& command = is_whole ? request_.whole_command : request_.command;
      if (!command.empty()) {
        refuse_option("--run", is_whole ? "is given twice with {split}: give one of each"
                                        : "is given twice with {model}: give one of each");
      }
      command = text;
    }
    request_.budget_seconds = given.limit("time").value_or(request_.budget_seconds);
    request_.timeout_seconds = given.limit("command-time").value_or(request_.timeout_seconds);
  }

  ExitCode run() override {
    if (!profiles_.empty()) return learn();
    if (models_.size() > 1 || request_.command.empty()) {
      print_error(models_.size() > 1
                      ? "one model is timed at a time: only --learn takes several"
                      : "--run needs a command with {model}, beside that with {split}",
                  {"try: cleave tune --help"});
      return ExitCode::usage;
    }
    record_words(request_.command);
    record_words(request_.whole_command);
    for (const std::string& path : {output_, plan_}) {
      if (const auto unwritable = refuse_unwritable(path, force_)) return *unwritable;
    }
    request_.journal = output_ + ".journal";
    const auto job = tune();
    if (!job) return refuse(job.error());
    print_diagnostics(job->warnings);
    auto written = write_file(output_, costs_json(job->acc_times, {}), force_);
    if (written && !plan_.empty()) written = write_file(plan_, verdicts_json(job->plan), force_);
    if (!written) return refuse(written.error(), ExitCode::cannot_write);
    print_info("wrote " + output_ + (plan_.empty() ? "" : " and " + plan_));
    write_stdout(tune_text(*job));
    return ExitCode::done;
  }

 private:
  ExitCode learn() {
    const auto refused = refuse_idle(
        given_, {{"--run", "--plan", "--limit time", "--limit command-time"}},
        "is for a model that is timed, and --learn takes profiles", "leave --learn out");
    if (refused) return *refused;
    if (models_.size() != profiles_.size()) {
      print_error("there are " + std::to_string(profiles_.size()) + " profiles and " +
                      std::to_string(models_.size()) + " models",
                  {"give one model for each profile, in the same order"});
      return ExitCode::usage;
    }
    if (const auto unwritable = refuse_unwritable(output_, force_)) return *unwritable;
    CalibrateRequest request{.models = {}, .profiles = profiles_};
    BoundModels bound(given_, models_.size() > 1);
    for (const std::string& path : models_) request.models.push_back(bound.request_for(path));
    if (!bound.are_all_bound()) return ExitCode::bad_input;
    const auto job = calibrate(request);
    if (!job) return refuse(job.error());
    print_diagnostics(job->warnings);
    if (!output_.empty()) {
      const auto written = write_file(output_, costs_json({}, job->calibration.times), force_);
      if (!written) return refuse(written.error(), ExitCode::cannot_write);
      print_info("wrote " + output_);
    }
    write_stdout(calibration_text(job->calibration, calibrated_models(*job)));
    return ExitCode::done;
  }

  Result<CalibrateJob, Fault> calibrate(const CalibrateRequest& request) const {
    ProgressBar bar("calibrating");
    return run_calibration(request, bar.observer());
  }

  std::vector<CalibratedModel> calibrated_models(const CalibrateJob& job) const {
    std::vector<CalibratedModel> models;
    for (std::size_t i = 0; i < models_.size(); ++i) {
      models.push_back({.name = std::filesystem::path(models_[i]).filename().string(),
                        .kernels = job.kernels[i],
                        .unused = job.unused[i]});
    }
    return models;
  }

  // The plan as --verdicts reads it: {"conv1": true, ...}.
  static std::string verdicts_json(const std::vector<PlacedNode>& plan) {
    JsonText json;
    json.begin_object();
    for (const PlacedNode& placed : plan) {
      json.key(placed.node);
      json.flag(placed.is_acc);
    }
    json.end_object();
    return std::move(json).finish();
  }

  // No output may replace a program or script that the command names.
  static void record_words(const std::string& command) {
    std::string word;
    for (const char c : command + " ") {
      if (std::string_view(" \t\n'\";&|<>()").find(c) == std::string_view::npos) {
        word += c;
      } else {
        record_input(std::exchange(word, {}));
      }
    }
  }

  Result<TuneJob, Fault> tune() const {
    ProgressBar bar(request_.split.model.path, InLog::lines);
    return run_tuning(request_, bar.observer());
  }

  const Given& given_;
  TuneRequest request_;
  std::vector<std::string> profiles_;  // --learn
  std::vector<std::string> models_;    // of these profiles
  std::string output_, plan_;
  bool force_;
};

}  // namespace

std::unique_ptr<Command> make_tune_command(const Given& given) {
  return std::make_unique<TuneCommand>(given);
}

}  // namespace cleave
