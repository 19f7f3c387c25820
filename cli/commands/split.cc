// cleave split: the whole pipeline; writes the parts, the root, reports and drawings to a folder.
#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/jobs/report_files.h"
#include "cli/jobs/split_run.h"
#include "cli/jobs/write_models.h"
#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "formats/io/output_folder.h"
#include "formats/io/part_files.h"
#include "formats/report/drawings/dot.h"

namespace cleave {
namespace {

constexpr std::size_t kCollapseAbove = 2000;

Status<Diagnostics> write_reports(const Report& report, const OutputFolder& folder) {
  auto manifest = folder.write("manifest.json", report_json(report));
  if (!manifest) return manifest;
  return folder.write("report.txt", report_text(report));
}

Status<Diagnostics> write_drawings(const Report& report, const OutputFolder& folder) {
  auto written = folder.write("node_support.dot", draw_support(report, kCollapseAbove));
  if (!written) return written;
  written = folder.write("preview.dot", draw_preview(report));
  const Partition& partition = report.split.partition;
  const std::vector<std::string> stems = file_stems(partition.names);
  ProgressBar bar(folder.final_path());
  const Progress progress = bar.observer();
  for (const PartId part : partition.parts()) {
    if (!written) return written;
    tell(progress, {"drawing", "parts", index(part), partition.count()});
    written = folder.write(stems[index(part)] + ".dot", draw_part(report, part, kCollapseAbove));
  }
  return written;
}

class SplitCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    model_.add_to(app);
    model_.add_costs_to(app);
    support_.add_to(app, true);
    split_.add_to(app);
    files_.add_to(app);
    app.add_option("-o,--output", output_, "folder to write; it appears whole or not at all")
        ->required()
        ->type_name("DIR");
    app.add_flag("--force", force_, "replace the folder when it exists");
    add_onnx_options(app, onnx_);
    app.add_flag("--json", json_, "print the report as JSON instead of text");
  }

  ExitCode run() override {
    if (const auto fault = files_.check(output_); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    auto folder = open_output(output_, force_, onnx_);
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    ExitCode code;
    auto run = SplitRun::make(model_, support_, split_, code);
    if (!run) return code;
    const Boundaries& boundaries = run->split().boundaries;
    OnnxWriteOptions options = onnx_;
    options.tags.reason = [&](NodeId node) { return run->why_on_cpu(node); };
    const auto models = run->with_declared_shapes([&] {
      return write_models(run->model(), {run->split().partition, boundaries, boundaries}, options,
                          *folder);
    });
    if (!models) return refuse(models.error());
    Report report = run->report(models->notes);
    report.part_files = models->part_files;
    auto written = write_reports(report, *folder);
    if (written) written = write_drawings(report, *folder);
    if (written) written = folder->commit();
    if (!written) return refuse(written.error(), ExitCode::cannot_write);
    print_info("wrote " + output_);
    code = files_.write(report);
    write_stdout(json_ ? report_json(report) : report_text(report));
    return code;
  }

 private:
  ModelArgs model_;
  SupportArgs support_;
  SplitArgs split_;
  ReportFiles files_;
  std::string output_;
  bool force_ = false;
  bool json_ = false;
  OnnxWriteOptions onnx_;
};

}  // namespace

std::unique_ptr<Command> make_split_command() { return std::make_unique<SplitCommand>(); }

}  // namespace cleave
