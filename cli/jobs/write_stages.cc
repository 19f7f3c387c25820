#include "cli/jobs/write_stages.h"

#include <CLI/CLI.hpp>

#include "cli/jobs/split_run.h"
#include "cli/options/file_option.h"
#include "cli/options/onnx_args.h"
#include "cli/terminal/terminal.h"
#include "formats/report/words/report_values.h"

namespace cleave {

void StagesOutput::add_to(CLI::App& app) {
  auto* const output = add_output_folder_option(
      app, "-o,--output", path_, "folder to write; written completely or not at all");
  page_.add_with_drawings(app);
  add_onnx_options(app, onnx_);
  add_bundle_option(app, part_files_);
  add_tflite_options(app, tflite_lift_);
  for (const char* const option : {"--weights", "--annotate", "--bundle"})
    app.get_option(option)->needs(output);
  app.add_flag("--json", json_, "print the report as JSON instead of text");
}

Loaded<std::optional<OutputFolder>> StagesOutput::create_folder() const {
  if (auto may = page_.check(); !may) return std::move(may).error();
  std::optional<OutputFolder> none;
  if (path_.empty()) return none;
  auto folder = open_output(path_, page_.is_forced(), onnx_);
  if (!folder) return std::move(folder).error();
  return std::optional<OutputFolder>(*std::move(folder));
}

ExitCode StagesOutput::write(StagesReport& report, const ModelPieces& pieces,
                             std::optional<OutputFolder>& folder) const {
  const auto page = [&](const LayoutLimits& limits) { return stages_page(report, limits); };
  if (!folder) {
    return write({json_ ? stages_json(report) : "", json_ ? "" : stages_text(report), "", {}, page},
                 folder);
  }
  ModelPieces chosen = pieces;
  chosen.files = part_files_;
  chosen.tflite_lift = tflite_lift_;
  const auto written = write_models_with_progress(report.model, chosen, onnx_, *folder);
  if (!written) return refuse(written.error());
  report.part_files = written->part_files;
  report.chain = written->chain;
  report.notes.insert(report.notes.end(), written->notes.begin(), written->notes.end());
  Texts texts{stages_json(report), stages_text(report), stages_dot(report), {}, page};
  if (report.schedule) {
    const ScheduleReport& schedule = *report.schedule;
    texts.more.emplace_back("schedule.csv", schedule_csv(schedule.schedules[schedule.chosen]));
    texts.more.emplace_back("schedule.html", schedule_page(schedule, model_name(report.model)));
  }
  return write(texts, folder);
}

ExitCode StagesOutput::write(const Texts& texts, std::optional<OutputFolder>& folder) const {
  if (folder) {
    auto written = folder->write("report.txt", texts.text);
    if (written) written = folder->write("stages.dot", texts.drawing);
    for (const auto& [name, content] : texts.more) {
      if (written) written = folder->write(name, content);
    }
    if (written) written = folder->write_manifest(texts.json);
    if (written) written = folder->commit();
    if (!written) return refuse(written.error(), ExitCode::cannot_write);
  }
  auto written = folder ? std::vector<std::string>{path_} : std::vector<std::string>{};
  if (page_.is_asked()) {
    const ExitCode code = page_.write(texts.page(page_.limits()));
    if (code != ExitCode::done) return code;
    written.push_back(page_.written().front());
  }
  write_stdout(json_ ? texts.json : texts.text, written);
  if (folder) print_info("wrote " + path_);
  return ExitCode::done;
}

}  // namespace cleave
