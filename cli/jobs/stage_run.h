// What the commands that make stages share.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/jobs/jobs.h"
#include "cli/options/stage_args.h"
#include "cli/terminal/terminal.h"
#include "formats/lists/stage_tables.h"
#include "formats/models/models.h"
#include "formats/report/stages/stages_report.h"
#include "formats/run/jobs/jobs.h"
#include "formats/run/jobs/stage_jobs.h"

// ---- write stages ----
//
// The output of `stage` and of a split by a map: prints the report, and writes the stages or partitions if
// asked to.

namespace cleave {

// -o, --html, --force, --weights, --annotate, --bundle, --lift-state, --json
struct StagesOutput {
  explicit StagesOutput(const Given& given)
      : path(given.text("--output")),
        json(given.flag("--json")),
        page(given),
        onnx(onnx_options(given)),
        files(part_files(given)),
        lift(tflite_lift(given)) {}

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

  std::string path;
  bool json;
  PageFile page;
  OnnxWriteOptions onnx;
  PartFiles files;
  TfliteLift lift;
};

// ---- split by a map ----

// `--map FILE` of commands that split: a map made elsewhere says which partition each node is in, not lists.
// `for_lists`: options of the command that say nothing to such a split, besides those of all splits. `nodes`: prints
// a line for each node instead of the report.
ExitCode split_by_map(const Given& given, std::span<const std::string_view> for_lists, bool nodes);

// ---- stage run ----
//
// Runs the jobs on stages for commands: takes the options, shows progress, prints messages.

// Decides where the model is cut. Prints warnings, and on failure what is wrong; the error is the
// exit code.
Result<StagePlan, ExitCode> plan_stages(const LoadedModel& model, const Graph& graph,
                                        const Given& given, StagePlanRequest request);

// Whether the file is a workload, not a model.
bool names_workload(const std::string& path);
// Balanced stages of a public workload instead of a model. Reads, balances, reports. Prints what is wrong.
ExitCode stage_workload(const Given& given, const StagePlanRequest& request,
                        const StagesOutput& output);

}  // namespace cleave
