// cleave split: the whole job; writes the partitions, the root, reports and drawings to a folder.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
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
  explicit SplitCommand(const Given& given)
      : given_(given),
        files_(given),
        output_(given.text("--output")),
        json_(given.flag("--json")),
        capture_{given.text("--inputs"), given.count("--seed")} {
    what_.onnx = onnx_options(given);
    what_.part_files = part_files(given);
    what_.tflite_lift = tflite_lift(given);
    what_.opset = static_cast<std::uint32_t>(given.count("--opset"));
    if (given.has("--pipeline")) what_.genai = genai_of(given.text("--pipeline"));
    if (given.has("--drawings")) what_.drawings = given.word<Drawings>("--drawings");
  }

  ExitCode run() override {
#if CLEAVE_WITH_STAGES
    if (given_.has("--map")) {
      return split_by_map(given_, {{"--viewer", "--opset", "--capture", "--drawings"}}, false);
    }
#endif
    if (const auto fault = files_.check(output_); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    auto folder = open_output(output_, files_.is_forced(), what_.onnx);
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    if (!given_.split.phases.empty()) return write_phases_to(*folder);
    ProgressBar bar(folder->final_path());
    what_.convert = [&](const OutputFolder& made, std::uint32_t opset) {
      bar.erase();
      return convert_opset(made, opset);
    };
    what_.report = [&](const Report& report, const OutputFolder& made) {
      return files_.write_inside(report, made, bar);
    };
    if (given_.flag("--capture")) {
      what_.capture = [&](const OutputFolder& made, ModelFormat format) {
        bar.erase();
        return capture_parts(made, capture_, format);
      };
    }
    const auto fits = [&](const LoadedModel& model) { return check_split_files(what_, model); };
    const auto job = split_with_progress(given_.split, {.check = fits});
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
  // "eos_token_id=2,3" and "context_length=128" of "genai:eos_token_id=2,3,context_length=128".
  static std::vector<std::string> genai_of(const std::string& text) {
    constexpr std::string_view kGenai = "genai";
    const std::string_view rest =
        std::string_view(text).substr(std::min(kGenai.size(), text.size()));
    if (!text.starts_with(kGenai) || (!rest.empty() && rest[0] != ':')) {
      refuse_option("--pipeline", in_quotes(text) + " is not genai, or genai:KEY=VALUE,...");
    }
    std::vector<std::string> values;
    for (const std::string_view entry : split_names(rest.substr(rest.empty() ? 0 : 1))) {
      if (entry.find('=') == entry.npos && !values.empty()) {
        values.back() += "," + std::string(entry);
      } else {
        values.emplace_back(entry);
      }
    }
    return values;
  }

  ExitCode write_phases_to(OutputFolder& folder) {
    auto phases = phases_with_progress(given_.split);
    if (!phases) return phases.error();
    ProgressBar bar(folder.final_path());
    const auto written = write_phases(*phases, what_, folder, bar.observer());
    bar.erase();
    if (!written) return refuse(written.error());
    for (const std::string& warning : written->warnings) print_warning(warning);
    print_info("wrote " + output_);
    const PhasesReport& report = written->full.report;
    write_stdout(json_ ? phases_json(report) : phases_text(report), {output_});
    return ExitCode::done;
  }

  const Given& given_;
  ReportFiles files_;
  std::string output_;
  bool json_;
  CaptureArgs capture_;
  SplitFiles what_;
};

}  // namespace

std::unique_ptr<Command> make_split_command(const Given& given) {
  return std::make_unique<SplitCommand>(given);
}

}  // namespace cleave
