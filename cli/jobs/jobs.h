// What several commands do: splits with progress, reports to files, scripts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/base/model.h"
#include "formats/models/models.h"
#include "formats/report/ci/ci_report.h"
#include "formats/report/drawings/pages.h"
#include "formats/report/words/report.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// ---- split run ----
//
// The jobs of formats/run/jobs for commands: made from the options, with a progress bar and messages.

// Prints the faults of a job; returns the exit code.
ExitCode refuse(const Fault& fault);

// Prints why the file cannot be written, before any work is done for it; "": there is no file.
std::optional<ExitCode> refuse_unwritable(const std::string& path, bool force);

// A model and its costs from --costs. The model's graph has the declared shapes.
struct MeasuredModel {
  LoadedModel model;
  CostSet costs;
};

// run_split() with a progress bar. Prints warnings, but for those of `told`. On failure the faults are
// printed, and the error is the exit code.
Result<SplitJob, ExitCode> split_with_progress(const SplitRequest& request,
                                               const InputsRead& read = {},
                                               const Diagnostics& told = {});

// The same of run_phases() or run_growth(): prints each warning once.
Result<PhaseJobs, ExitCode> phases_with_progress(
    const SplitRequest& request,
    Result<PhaseJobs, Fault> (*run)(const SplitRequest&, const Progress&) = run_phases);

// The warnings that do not read as one of those that were printed before.
Diagnostics without_reported(Diagnostics warnings, const Diagnostics& told);

// Reads the lists and prints warnings; nullopt when a list has faults, which are printed.
std::optional<ListsRead> load_lists(const ListsRequest& request);

// Reads a model and prints warnings; nullopt when it has faults, which are printed.
std::optional<LoadedModel> load_model(const ModelRequest& request);

// The same, and the files of --costs.
std::optional<MeasuredModel> load_measured_model(const ModelRequest& request,
                                                 const std::vector<CostSource>& costs);

// Writes a file and says so, or where the path is "" to standard output. Prints faults.
ExitCode write_text(const std::string& path, const std::string& text, bool force);

// write_models() with a progress bar.
Result<WrittenModels, Fault> write_models_with_progress(const LoadedModel& model,
                                                        const ModelPieces& pieces,
                                                        const OnnxWriteOptions& options,
                                                        const OutputFolder& folder);

}  // namespace cleave

// ---- bound models ----
//
// BoundModels: several models that share the options for shapes. --dim N=8 binds the dim in each
// model that has it. A warning counts the models without it; if no model has it, the command refuses it.
// Tables [[model]] of --config bind in the models that they name, which must have what they bind.

namespace cleave {

class BoundModels {
 public:
  // `are_several`: false for a single model, which is refused while it is read if it lacks a
  // binding.
  BoundModels(const Given& given, bool are_several)
      : given_(given), request_(given.split.model), are_several_(are_several) {}

  // Reads a model and prints warnings; nullopt when it has faults, which are printed. With bindings
  // the model is read twice, first for the names that it has; standard input is not, and must have
  // them all.
  std::optional<LoadedModel> load(const std::string& path);

  // The same, and the files of --costs.
  std::optional<MeasuredModel> load_measured(const std::string& path,
                                             const std::vector<CostSource>& costs);

  // What is asked of the model: the bindings that it has.
  ModelRequest request_for(const std::string& path);

  // After the last model: warns of bindings that some models lack. False, after printing which, when no
  // model has one.
  bool are_all_bound() const;

 private:
  using Binding =
      std::pair<std::string_view, std::string>;  // an option, and the name that it binds
  std::vector<Binding> bindings() const;
  ModelRequest request_of(const std::string& path, const LoadedModel& probe);

  const Given& given_;
  const ModelRequest& request_;
  bool are_several_;
  std::size_t models_ = 0;                  // that were asked for
  std::map<Binding, std::size_t> lacking_;  // models without it
};

}  // namespace cleave

// ---- report files ----
//
// Files that a report is written to, besides standard output: one option each.

namespace cleave {

// --html of a report that is no single split, --force, and --limit layout-time.
class PageFile {
 public:
  explicit PageFile(const Given& given)
      : path_(given.text("--html")), force_(given.flag("--force")), limits_(layout_limits(given)) {}
  bool is_asked() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  bool is_forced() const { return force_; }
  const LayoutLimits& limits() const { return limits_; }
  // Checks, before the work, that it can be written.
  Status<Diagnostics> check() const;
  // Prints what is wrong, and warns of drawings that could not be laid out.
  ExitCode write(const HtmlPage& page) const;
  // Paths of the files asked for.
  std::vector<std::string> written() const;

 private:
  std::string path_;
  bool force_;
  LayoutLimits limits_;
};

// What CI servers read: the files of --ci, and the annotations and the step summary of --ci github.
class CiFiles {
 public:
  explicit CiFiles(const Given& given);
  // Checks, before the work, that they can be written.
  Status<Diagnostics> check() const;
  // Prints what is wrong.
  ExitCode write(const CiReport& report) const;
  // Annotations go to standard error when standard output has JSON; GitHub reads both. The summary is added to
  // $GITHUB_STEP_SUMMARY.
  void annotate(const CiReport& report, bool has_json) const;
  // Paths of the files asked for.
  const std::vector<std::string>& written() const { return written_; }

 private:
  using Make = std::string (*)(const CiReport&);
  std::vector<std::pair<Make, std::string>> files_;
  std::vector<std::string> written_;
  bool force_, github_ = false;
};

// --html, --viewer, and --force.
class ReportFiles {
 public:
  explicit ReportFiles(const Given& given);
  const PageFile& page() const { return page_; }
  bool is_forced() const { return page_.is_forced(); }
  // Checks, before the work, that the files asked for can be written. `made` is a folder that the
  // command makes first; empty: none.
  Status<Diagnostics> check(const std::string& made = {}) const;
  // Writes the files inside the folder that the command makes, before it is committed, so that its
  // manifest lists them, too.
  Status<Fault> write_inside(const Report& report, const OutputFolder& folder,
                             ProgressBar& bar) const;
  // Writes the other files, with `made` as for check(). Prints errors.
  ExitCode write(const Report& report, const std::string& made = {}) const;
  // Paths of the files asked for.
  std::vector<std::string> written() const;

 private:
  ExitCode write_model_explorer(const Report& report, const std::string& to) const;

  PageFile page_;
  std::vector<std::string> netron_;          // files
  std::vector<std::string> model_explorer_;  // folders
};

}  // namespace cleave

// ---- split scripts ----
//
// What `cleave split` leaves to scripts in Python, on the files that it has just written:
//
//   --capture   runs the parts in ONNX Runtime or torch, in call order, and writes the inputs and outputs
//               of each as test data (scripts/capture_inputs.py, scripts/capture_torch.py)
//   --opset N   converts the parts and the root to another opset (scripts/convert_opset.py)

namespace cleave {

// The path of a script in Python: in $CLEAVE_SCRIPTS, next to the installed program, or in the sources that the program
// was built in; "" when it is in none of these. Never in the working folder, which may be anybody's.
// `what` needs it: where it is missing, that is printed, with the way out.
std::string find_script(const std::string& name, const std::string& what);

struct CaptureArgs {
  std::string inputs;  // "": random
  std::uint64_t seed = 0;
};

// Scripts write lines: what they say is printed as it is, and the faults that are returned only have their causes.

// Adds the folder `captured` to `folder`, whose manifest must exist. Prints what was captured. Infeasible: some parts
// could not be captured.
Status<Fault> capture_parts(const OutputFolder& folder, const CaptureArgs& args,
                            ModelFormat format);

// Converts the ONNX files in `folder`. A fault of the input, after printing which part is to blame, when ONNX's
// converter cannot do it.
Status<Fault> convert_opset(const OutputFolder& folder, std::uint32_t opset);
// The same for one file in `folder`, a model.
Status<Fault> convert_opset(const OutputFolder& folder, const std::string& file,
                            std::uint32_t opset);

}  // namespace cleave
