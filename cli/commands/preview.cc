// cleave preview: how the model would be split, and the QPS that the link allows.

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/report/split/split_texts.h"
#include "formats/run/jobs/jobs.h"
#if CLEAVE_WITH_STAGES
#include "cli/jobs/stage_run.h"
#endif

namespace cleave {
namespace {

class PreviewCommand : public Command {
 public:
  explicit PreviewCommand(const Given& given)
      : given_(given),
        files_(given),
        json_(given.flag("--json")),
        ops_(given.text("--show") == "ops"),
        nodes_(given.text("--show") == "nodes") {}

  ExitCode run() override {
    if (nodes_ && json_) {
      print_error("--show nodes and --json are two forms of the report: give one",
                  {"try: cleave preview --help"});
      return ExitCode::usage;
    }
    if (given_.split.range) return print_growth();
#if CLEAVE_WITH_STAGES
    if (given_.has("--map")) {
      // --show nodes prints any split; --show ops is about lists, which a map has none of.
      constexpr std::string_view kIdle[] = {"--viewer", "--show"};
      return split_by_map(given_, std::span(kIdle).first(ops_ ? 2 : 1), nodes_);
    }
#endif
    if (!given_.split.phases.empty()) {
      const auto phases = phases_with_progress(given_.split);
      if (!phases) return phases.error();
      const FullPhases full = full_phases(*phases);
      write_stdout(json_ ? phases_json(full.report) : phases_text(full.report), {});
      return ExitCode::done;
    }
    if (const auto fault = files_.check(); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    const auto run = split_with_progress(given_.split);
    if (!run) return run.error();
    // What takes several splits is for reports.
    const bool is_full = (!ops_ && !nodes_) || !files_.written().empty();
    const FullReport full = is_full ? preview_report(*run) : FullReport{run->report(), {}};
    const Report& report = full.report;
    const ExitCode code = files_.write(report);
    write_stdout(nodes_ ? print_split(run->graph(), run->split().partition, run->split().boundaries)
                 : ops_ ? json_ ? support_report_json(report) : support_report_text(report)
                 : json_ ? report_json(report)
                         : report_text(report),
                 files_.written());
    return code;
  }

 private:
  ExitCode print_growth() const {
    constexpr std::string_view kOthers[] = {"--map", "--phase", "--html", "--show", "--viewer"};
    if (const std::string other = given_.first_of(kOthers); !other.empty()) {
      print_error("--dim with a range excludes " + other, {"give one size, or leave it out"});
      return ExitCode::usage;
    }
    const auto jobs = phases_with_progress(given_.split, run_growth);
    if (!jobs) return jobs.error();
    const FullGrowth full = full_growth(*given_.split.range, *jobs);
    write_stdout(json_ ? growth_json(full.report) : growth_text(full.report), {});
    return ExitCode::done;
  }

  const Given& given_;
  ReportFiles files_;
  bool json_, ops_, nodes_;
};

}  // namespace

std::unique_ptr<Command> make_preview_command(const Given& given) {
  return std::make_unique<PreviewCommand>(given);
}

}  // namespace cleave
