// cleave split: the whole job; writes the partitions, the root, reports and drawings to a folder.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/files.h"
#include "formats/base/text.h"
#include "formats/models/models.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/split/split_texts.h"
#include "formats/run/jobs/jobs.h"
#if CLEAVE_WITH_STAGES
#include "cli/jobs/stage_run.h"
#endif

namespace cleave {
namespace {

constexpr std::size_t kCollapseAbove = 2000;
constexpr std::size_t kMostDrawn = 200;  // partitions that are drawn unless more are asked for

enum class Drawings : std::uint8_t { none, summary, all };

Status<Diagnostics> draw_parts(const Report& report, const OutputFolder& folder) {
  const Partition& partition = report.split.partition;
  const std::vector<std::string> stems = file_stems(partition.names);
  ProgressBar bar(folder.final_path());
  const Progress progress = bar.observer();
  for (const PartId part : partition.parts()) {
    tell(progress, {"drawing", "parts", index(part), partition.count()});
    auto written =
        folder.write(stems[index(part)] + ".dot", draw_part(report, part, kCollapseAbove));
    if (!written) return written;
  }
  return Done{};
}

// Writes the drawings that are wanted. Without a wish they are those of the model and of the split,
// and those of the partitions if these are few.
Status<Diagnostics> write_drawings(const Report& report, std::optional<Drawings> wanted,
                                   const OutputFolder& folder) {
  if (wanted == Drawings::none) return Done{};
  auto written = folder.write("node_support.dot", draw_support(report, kCollapseAbove));
  if (written) written = folder.write("preview.dot", draw_preview(report));
  if (!written || wanted == Drawings::summary) return written;
  const std::size_t count = report.split.partition.count();
  if (wanted == Drawings::all || count <= kMostDrawn) return draw_parts(report, folder);
  print_info("did not draw each of " + count_text(count) +
             " partitions: --drawings all does, and cleave draw --what PARTITION draws one");
  return Done{};
}

// Parts are fixed to such sizes, and fail when the data that decides them is other data.
void warn_of_sizes_within(const LoadedModel& model) {
  const std::vector<std::string> within = sizes_within(model);
  if (within.empty()) return;
  const auto option = [](const std::string& size) { return "--dim " + shell_word(escaped(size)); };
  print_warning("the partitions are fixed to " +
                capped_list(within, 4, option, ", and # more", ", ") + ": no input has " +
                (within.size() == 1 ? "this dim" : "these dims") +
                ", so what the model computes must give " +
                (within.size() == 1 ? "this size" : "these sizes") + ", or they fail");
}

class SplitCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    add_split_options(app, request_, Lists::required, Targets::several);
    add_output_folder_option(app, "-o,--output", output_,
                             "folder to write; written completely or not at all")
        ->required();
    files_.add_to(app);
    add_onnx_options(app, onnx_);
    add_bundle_option(app, part_files_);
    app.add_option("--opset", opset_,
                   "write parts and root.onnx in this opset, by ONNX's version converter; needs "
                   "Python with onnx (ONNX models)")
        ->type_name("N")
        ->check(whole_number())
        ->check(CLI::Range(1, 1000))
        ->excludes("--annotate");
    add_tflite_options(app, tflite_lift_);
    capture_.add_to(app);
    add_words(
        app, "--drawings", {"none", "summary", "all"},
        [this](std::size_t i) { drawings_ = static_cast<Drawings>(i); },
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
          request_.model, {output_, json_, files_.page(), onnx_, part_files_, tflite_lift_},
          {"--netron", "--model-explorer", "--opset", "--capture", "--drawings"}, false);
    }
#endif
    if (const auto fault = files_.check(output_); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    auto folder = open_output(output_, files_.is_forced(), onnx_);
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    auto run = split_with_progress(request_);
    if (!run) return run.error();
    const ModelFormat format = run->model().format();
    for (const auto& [option, is_given] :
         {std::pair("--capture", capture_.is_wanted), std::pair("--opset", opset_ > 0)}) {
      const std::string misfit = is_given ? option_misfit(option, format) : "";
      if (!misfit.empty()) return refuse({diagnostic_of(request_.model.path, misfit)});
    }
    warn_of_sizes_within(run->model());
    const Boundaries& boundaries = run->split().boundaries;
    OnnxWriteOptions options = onnx_;
    options.tags.reason = [&](NodeId node) { return run->why_on_cpu(node); };
    const ModelPieces pieces{.partition = run->split().partition,
                             .parts = boundaries,
                             .root = boundaries,
                             .files = part_files_,
                             .tflite_lift = tflite_lift_};
    const auto models = write_models_with_progress(run->model(), pieces, options, *folder);
    if (!models) return refuse(models.error());
    std::vector<std::string> notes = models->notes;
    const auto opset = imported_opset(run->graph(), "");
    if (opset_ > 0 && opset && *opset != opset_) {
      if (const ExitCode code = convert_opset(*folder, opset_); code != ExitCode::done) return code;
      notes.push_back("parts and root are of opset " + std::to_string(opset_) + ", the model of " +
                      std::to_string(*opset));
    }
    Report report = run->report(std::move(notes));
    const auto sizes = open_sizes_of(*run);
    report.open_sizes = sizes ? &*sizes : nullptr;
    report.part_files = models->part_files;
    report.chain = models->chain;
    auto written = folder->write("report.txt", report_text(report));
    if (written) written = write_drawings(report, drawings_, *folder);
    for (const PlanFile& plan : plan_files(report)) {
      if (written) written = folder->write(plan.name, plan.text);
    }
    ExitCode code = written ? files_.write_inside(report, *folder) : ExitCode::done;
    if (code != ExitCode::done) return code;
    if (written)
      written = folder->write_manifest([&](const TakeText& take) { report_json(report, take); });
    ExitCode captured = ExitCode::done;
    if (written && capture_.is_wanted) {
      captured = capture(*folder, report, format);
      if (captured != ExitCode::done && captured != ExitCode::check_failed) return captured;
    }
    if (written) written = folder->commit();
    if (!written) return refuse(written.error(), ExitCode::cannot_write);
    print_info("wrote " + output_);
    code = files_.write(report, output_);
    std::vector<std::string> all = files_.written();
    all.insert(all.begin(), output_);
    write_stdout(json_ ? report_json(report) : report_text(report), all);
    return code == ExitCode::done ? captured : code;
  }

 private:
  // Runs the script, which reads the manifest; then writes the manifest again, with the files that
  // the script has added.
  ExitCode capture(const OutputFolder& folder, const Report& report, ModelFormat format) const {
    const ExitCode code = capture_parts(folder, capture_, format);
    std::error_code error;
    std::filesystem::remove(folder.path_of(kManifestName), error);
    const auto written =
        folder.write_manifest([&](const TakeText& take) { report_json(report, take); });
    return written ? code : refuse(written.error(), ExitCode::cannot_write);
  }

  SplitRequest request_;
  ReportFiles files_;
  std::string output_;
  bool json_ = false;
  CaptureArgs capture_;
  std::uint32_t opset_ = 0;  // 0: the model's
  std::optional<Drawings> drawings_;
  OnnxWriteOptions onnx_;
  PartFiles part_files_ = PartFiles::one_a_part;
  TfliteLift tflite_lift_ = TfliteLift::shared;
#if CLEAVE_WITH_STAGES
  MapSplit map_;
#endif
};

}  // namespace

std::unique_ptr<Command> make_split_command() { return std::make_unique<SplitCommand>(); }

}  // namespace cleave
