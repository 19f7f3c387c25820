// cleave split: the whole pipeline; writes the parts, the root, reports and drawings to a folder.
#include <CLI/CLI.hpp>
#include <map>

#include "cli/command.h"
#include "cli/split_run.h"
#include "cli/terminal.h"
#include "formats/dot.h"
#include "formats/graph_json.h"
#include "formats/onnx_writer.h"
#include "formats/output_folder.h"

namespace cleave {
namespace {

constexpr std::size_t kCollapseAbove = 2000;

// The split as native JSON: each part and the root.
Status<Diagnostics> write_json_models(const SplitRun& run, const OutputFolder& folder) {
  const Partition& partition = run.split().partition;
  const Boundaries& boundaries = run.split().boundaries;
  for (const PartId part : partition.parts()) {
    const auto written = folder.write(file_name_of(partition.name(part)) + ".json",
                                      write_part_json(run.model(), partition, boundaries, part));
    if (!written) return written;
  }
  return folder.write("root.json", write_root_json(run.model(), partition, boundaries));
}

Status<Diagnostics> write_reports(const Report& report, const OutputFolder& folder) {
  const auto manifest = folder.write("manifest.json", report_json(report));
  if (!manifest) return manifest;
  return folder.write("report.txt", report_text(report));
}

Status<Diagnostics> write_drawings(const Report& report, const OutputFolder& folder) {
  auto written = folder.write("node_support.dot", draw_support(report, kCollapseAbove));
  if (!written) return written;
  written = folder.write("preview.dot", draw_preview(report));
  const Partition& partition = report.split.partition;
  for (const PartId part : partition.parts()) {
    if (!written) return written;
    written = folder.write(file_name_of(partition.name(part)) + ".dot",
                           draw_part(report, part, kCollapseAbove));
  }
  return written;
}

class SplitCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    model_.add_to(app);
    support_.add_to(app, true);
    split_.add_to(app);
    app.add_option("-o,--output", output_, "folder to write; it appears whole or not at all")
        ->required()
        ->type_name("DIR");
    app.add_flag("--force", force_, "replace the folder when it exists");
    const std::map<std::string, RootWeights> forms = {{"external", RootWeights::external},
                                                      {"inline", RootWeights::inlined}};
    app.add_option("--weights", onnx_.root_weights,
                   "weights of root.onnx: external (in the part files beside it) or inline")
        ->transform(
            CLI::CheckedTransformer(forms, CLI::ignore_case).description("{external,inline}"))
        ->default_str("external")
        ->type_name("");
    app.add_flag("--json", json_, "print the report as JSON instead of text");
  }

  ExitCode run() override {
    auto folder = OutputFolder::create(output_, force_);
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    ExitCode code;
    const auto run = SplitRun::make(model_, support_, split_, code);
    if (!run) return code;
    std::vector<std::string> notes;
    const auto models = write_models(*run, *folder, notes);
    if (!models) return refuse(models.error(), ExitCode::cannot_write);
    const Report report = run->report(std::move(notes));
    auto written = write_reports(report, *folder);
    if (written) written = write_drawings(report, *folder);
    if (written) written = folder->commit();
    if (!written) return refuse(written.error(), ExitCode::cannot_write);
    write_stdout(json_ ? report_json(report) : report_text(report));
    print_info("wrote " + output_);
    return ExitCode::done;
  }

 private:
  Status<Diagnostics> write_models(const SplitRun& run, const OutputFolder& folder,
                                   std::vector<std::string>& notes) const {
    if (run.model().format != ModelFormat::onnx) return write_json_models(run, folder);
    auto written =
        write_onnx_split(run.model(), run.split().partition, run.split().boundaries, onnx_, folder);
    if (!written) return std::move(written).error();
    notes = std::move(written->notes);
    return Done{};
  }

  ModelArgs model_;
  SupportArgs support_;
  SplitArgs split_;
  std::string output_;
  bool force_ = false;
  bool json_ = false;
  OnnxWriteOptions onnx_;
};

}  // namespace

std::unique_ptr<Command> make_split_command() { return std::make_unique<SplitCommand>(); }

}  // namespace cleave
