// What the commands that make stages share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/jobs/jobs.h"
#include "cli/options/stage_args.h"
#include "cli/terminal/terminal.h"
#include "formats/models/models.h"
#include "formats/report/stages/stages_report.h"
#include "formats/run/jobs/jobs.h"
#include "formats/run/jobs/stage_jobs.h"

// ---- write stages ----
//
// The output of `partition` and `stage`: prints the report, and writes the partitions or stages if
// asked to.

namespace CLI {
class App;
}

namespace cleave {

// -o, --html, --force, --weights, --annotate, --bundle, --lift-state, --json
class StagesOutput {
 public:
  void add_to(CLI::App& app);

  bool is_json() const { return json_; }

  // The folder to write; nullopt when none was asked for. The error says also where the page cannot be
  // written.
  Loaded<std::optional<OutputFolder>> create_folder() const;

  // Writes the models, manifest.json, report.txt and stages.dot into the folder, if there is one;
  // prints the report. The models have the shapes that the model declares, not those that a profile
  // saw.
  ExitCode write(StagesReport& report, const ModelPieces& pieces,
                 std::optional<OutputFolder>& folder) const;

  struct Texts {
    std::string json, text, drawing;
    std::vector<std::pair<std::string, std::string>> more = {};  // other files: name, content
    std::function<HtmlPage(const LayoutLimits&)> page;           // made if it was asked for
  };
  // The same when there are no models to write.
  ExitCode write(const Texts& texts, std::optional<OutputFolder>& folder) const;

 private:
  std::string path_;
  bool json_ = false;
  PageFile page_;
  OnnxWriteOptions onnx_;
  PartFiles part_files_ = PartFiles::one_a_part;
  TfliteLift tflite_lift_ = TfliteLift::shared;
};

// ---- stage run ----
//
// Runs the jobs on stages for commands: takes the options, shows progress, prints messages.

// Decides where the model is cut. Prints warnings, and on failure what is wrong; the error is the
// exit code.
Result<StagePlan, ExitCode> plan_stages(const LoadedModel& model, const Graph& graph,
                                        const StagePlanArgs& args);

// cleave stage --workload: balanced stages of a public workload instead of a model. Reads,
// balances, reports. Prints what is wrong.
ExitCode stage_workload(const std::string& path, const StagePlanArgs& args,
                        const StagesOutput& output);

}  // namespace cleave
