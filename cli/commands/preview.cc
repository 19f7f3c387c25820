// cleave preview: how the model would be split, and the QPS that the link allows.
#include <CLI/CLI.hpp>

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
  void add_options(CLI::App& app) override {
    add_split_options(app, request_, Lists::required, Targets::several);
    files_.add_to(app);
    auto* const json = app.add_flag("--json", json_, "print the report as JSON");
    auto* const ops =
        app.add_flag("--ops", ops_,
                     "print instead which op types the lists support, and which they do not, with "
                     "their dtypes");
    app.add_flag("--nodes", nodes_, "print instead the split, one line per node")
        ->excludes(json)
        ->excludes(ops);
#if CLEAVE_WITH_STAGES
    map_.add_to(app);
#endif
  }

  ExitCode run() override {
#if CLEAVE_WITH_STAGES
    if (map_.is_asked()) {
      return map_.run(request_.model, {.json = json_, .page = files_.page()},
                      {"--netron", "--model-explorer", "--ops"}, nodes_);
    }
#endif
    if (const auto fault = files_.check(); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    const auto run = split_with_progress(request_);
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
  SplitRequest request_;
  ReportFiles files_;
  bool json_ = false;
  bool ops_ = false;
  bool nodes_ = false;
#if CLEAVE_WITH_STAGES
  MapSplit map_;
#endif
};

}  // namespace

std::unique_ptr<Command> make_preview_command() { return std::make_unique<PreviewCommand>(); }

}  // namespace cleave
