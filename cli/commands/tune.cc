// cleave tune: times the accelerator partitions by a command, and places the model by these times; or learns from
// profiles of some models the times of ops, for models without a profile.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <string_view>
#include <utility>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/quantity.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/lists/costs.h"
#include "formats/report/words/words.h"
#include "formats/run/jobs/tune_job.h"

namespace cleave {
namespace {

void set_seconds(const std::string& option, const std::string& text, double& seconds) {
  const auto parsed = parse_duration(text);
  if (!parsed) {
    throw CLI::ValidationError(option, "\"" + text + "\" is no time: write 300s or 10min");
  }
  seconds = *parsed;
}

class TuneCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app_ = &app;
    add_split_options(app, request_.split);
    auto* const run =
        app.add_option("--run", request_.command,
                       "command of /bin/sh that runs one partition; {model} is its ONNX file; the "
                       "last line that it prints is milliseconds");
    run->required()->type_name("COMMAND");
    app.add_option(
           "--run-split", request_.whole_command,
           "command of /bin/sh that runs a whole split, whose folder is {split}, and prints "
           "milliseconds: at the end it times the plan, the split without --place cost and "
           "the CPU alone")
        ->type_name("COMMAND");
    auto* const output =
        add_output_option(
            app, "-o,--output", output_,
            "file to write: cleave.costs, for --costs acc=FILE; FILE.journal beside it "
            "keeps what was timed, so that a later run, with --force, goes on")
            ->check(written_beside(".journal"))
            ->required();
    // A list of files would leave its last one to a MODEL that is required.
    app.get_option("MODEL")->required(false);
    const std::vector<CLI::Option*> of_timing = {app.get_option("--support"), run, output};
    auto* const learn =
        add_input_option(app, "--learn", profiles_,
                         "instead of timing: learn what each op takes from profiles of ONNX "
                         "Runtime, OpenVINO or TensorRT, best unoptimised: with fused kernels the "
                         "time of a node is a share")
            ->each([of_timing](const std::string&) {
              for (CLI::Option* const option : of_timing) option->required(false);
            });
    add_input_option(app, "--models", models_,
                     "the model of each profile of --learn, in the same order")
        ->needs(learn);
    add_output_option(app, "--plan", plan_,
                      "file to write: the fastest placement, as verdicts for --verdicts; of what "
                      "--run-split measured, else the one that the times lead to");
    add_force_option(app, force_);
    app.add_option_function<std::string>(
           "--budget",
           [this](const std::string& text) {
             set_seconds("--budget", text, request_.budget_seconds);
           },
           "start no command later than this, e.g. 10min")
        ->type_name("TIME");
    app.add_option_function<std::string>(
           "--timeout",
           [this](const std::string& text) {
             set_seconds("--timeout", text, request_.timeout_seconds);
           },
           "of one command [600s]")
        ->type_name("TIME");
  }

  ExitCode run() override {
    if (!profiles_.empty()) return learn();
    if (request_.split.model.path.empty()) {
      print_error("MODEL is required, or --learn PROFILE", {"try: cleave tune --help"});
      return ExitCode::usage;
    }
    record_words(request_.command);
    record_words(request_.whole_command);
    for (const std::string& path : {output_, plan_}) {
      if (path.empty()) continue;
      const auto fault = check_may_write(path, force_);
      if (!fault) return refuse(fault.error(), ExitCode::cannot_write);
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
    std::vector<std::string> idle = options_of_lists();
    idle.insert(idle.end(), {"MODEL", "--run", "--run-split", "--plan", "--budget", "--timeout"});
    const auto refused =
        refuse_idle(*app_, idle, "is for a model that is timed, and --learn takes profiles",
                    "leave --learn out");
    if (refused) return *refused;
    if (models_.size() != profiles_.size()) {
      print_error("there are " + std::to_string(profiles_.size()) + " profiles and " +
                      std::to_string(models_.size()) + " models",
                  {"give --models one model for each profile, in the same order"});
      return ExitCode::usage;
    }
    if (!output_.empty()) {
      const auto fault = check_may_write(output_, force_);
      if (!fault) return refuse(fault.error(), ExitCode::cannot_write);
    }
    CalibrateRequest request{.models = {}, .profiles = profiles_};
    BoundModels bound(*app_, request_.split.model, models_.size() > 1);
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
      json.text_key(placed.node);
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

  CLI::App* app_ = nullptr;
  TuneRequest request_;
  std::vector<std::string> profiles_;  // --learn
  std::vector<std::string> models_;    // of these profiles
  std::string output_, plan_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tune_command() { return std::make_unique<TuneCommand>(); }

}  // namespace cleave
