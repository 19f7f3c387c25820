// cleave preview: how the model would be split, and the QPS that the link allows.
#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/jobs/report_files.h"
#include "cli/jobs/split_run.h"
#include "cli/terminal/terminal.h"

namespace cleave {
namespace {

class PreviewCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    model_.add_to(app);
    model_.add_costs_to(app);
    support_.add_to(app, true);
    split_.add_to(app);
    split_.add_require_to(app);
    files_.add_to(app);
    app.add_flag("--json", json_, "print the report as JSON");
  }

  ExitCode run() override {
    if (const auto fault = files_.check(); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    const auto run = run_split(model_, support_, split_);
    if (!run) return run.error();
    const Report report = run->report();
    const ExitCode code = files_.write(report);
    write_stdout(json_ ? report_json(report) : report_text(report), files_.written());
    return code;
  }

 private:
  ModelArgs model_;
  SupportArgs support_;
  SplitArgs split_;
  ReportFiles files_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_preview_command() { return std::make_unique<PreviewCommand>(); }

}  // namespace cleave
