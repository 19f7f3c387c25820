// cleave split: the whole job; writes the partitions, the root, reports and drawings to a folder.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <utility>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/models/models.h"
#include "formats/report/split/split_texts.h"
#include "formats/run/jobs/jobs.h"
#if CLEAVE_WITH_STAGES
#include "cli/jobs/stage_run.h"
#endif

namespace cleave {
namespace {

class SplitCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    add_split_options(app, request_, Lists::required, Targets::several);
    add_output_folder_option(app, "-o,--output", output_,
                             "folder to write; written completely or not at all")
        ->required();
    files_.add_to(app);
    add_onnx_options(app, what_.onnx);
    add_bundle_option(app, what_.part_files);
    app.add_option("--opset", what_.opset,
                   "write parts and root.onnx in this opset, by ONNX's version converter; needs "
                   "Python with onnx (ONNX models)")
        ->type_name("N")
        ->check(whole_number())
        ->check(CLI::Range(1, 1000))
        ->excludes("--annotate");
    add_tflite_options(app, what_.tflite_lift);
    capture_.add_to(app);
    add_words(
        app, "--drawings", {"none", "summary", "all"},
        [this](std::size_t i) { what_.drawings = static_cast<Drawings>(i); },
        "which drawings to write: none, of the model and of the split only, or also of each "
        "partition; without it each of up to 200 partitions is drawn");
    app.add_flag("--json", json_, "print the report as JSON instead of text");
#if CLEAVE_WITH_STAGES
    map_.add_to(app);
#endif
  }

  ExitCode run() override {
#if CLEAVE_WITH_STAGES
    if (map_.is_asked()) {
      return map_.run(
          request_.model,
          {output_, json_, files_.page(), what_.onnx, what_.part_files, what_.tflite_lift},
          {"--netron", "--model-explorer", "--opset", "--capture", "--drawings"}, false);
    }
#endif
    if (const auto fault = files_.check(output_); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    auto folder = open_output(output_, files_.is_forced(), what_.onnx);
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    ProgressBar bar(folder->final_path());
    what_.convert = [&](const OutputFolder& made, std::uint32_t opset) {
      bar.erase();
      return convert_opset(made, opset);
    };
    what_.report = [&](const Report& report, const OutputFolder& made) {
      return files_.write_inside(report, made, bar);
    };
    if (capture_.is_wanted) {
      what_.capture = [&](const OutputFolder& made, ModelFormat format) {
        bar.erase();
        return capture_parts(made, capture_, format);
      };
    }
    const auto fits = [&](const LoadedModel& model) { return check_split_files(what_, model); };
    const auto job = split_with_progress(request_, {.check = fits});
    if (!job) return job.error();
    const auto written = write_split(*job, what_, *folder, bar.observer());
    bar.erase();
    if (!written) return refuse(written.error());
    for (const std::string& warning : written->warnings) print_warning(warning);
    for (const std::string& told : written->told) print_info(told);
    print_info("wrote " + output_);
    const Report& report = written->full.report;
    const ExitCode code = files_.write(report, output_);
    std::vector<std::string> all = files_.written();
    all.insert(all.begin(), output_);
    write_stdout(json_ ? report_json(report) : report_text(report), all);
    if (code != ExitCode::done) return code;
    return written->not_captured ? refuse(*written->not_captured) : code;
  }

 private:
  SplitRequest request_;
  ReportFiles files_;
  std::string output_;
  bool json_ = false;
  CaptureArgs capture_;
  SplitFiles what_;
#if CLEAVE_WITH_STAGES
  MapSplit map_;
#endif
};

}  // namespace

std::unique_ptr<Command> make_split_command() { return std::make_unique<SplitCommand>(); }

}  // namespace cleave
