// cleave calibrate: fits the times of ops to profiles of some models, for models without a profile.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/lists/costs.h"
#include "formats/report/words/words.h"
#include "formats/run/jobs/tune_job.h"

namespace cleave {
namespace {

class CalibrateCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app_ = &app;
    add_input_option(app, "PROFILE", profiles_,
                     "profiles of ONNX Runtime, OpenVINO or TensorRT, best unoptimised: with "
                     "fused kernels the time of a node is a share")
        ->required();
    add_input_option(app, "--models", models_, "the model of each profile, in the same order")
        ->required();
    add_binding_options(app, shapes_);
    add_report_option(app, "-o,--output", output_, "file to write: cleave.costs, for --costs");
    add_force_option(app, force_);
  }

  ExitCode run() override {
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
    BoundModels bound(*app_, shapes_, models_.size() > 1);
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

 private:
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

  CLI::App* app_ = nullptr;
  std::vector<std::string> profiles_;
  std::vector<std::string> models_;
  ModelRequest shapes_;
  std::string output_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_calibrate_command() { return std::make_unique<CalibrateCommand>(); }

}  // namespace cleave
