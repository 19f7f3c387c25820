// cleave support: op types that the lists support and do not support, with their dtypes.
#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/jobs/split_run.h"
#include "cli/terminal/terminal.h"

namespace cleave {
namespace {

class SupportCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    model_.add_to(app);
    model_.add_costs_to(app);
    support_.add_to(app, true);
    app.add_flag("--json", json_, "print the report as JSON");
  }

  ExitCode run() override {
    const auto run = run_split(model_, support_, SplitArgs{});
    if (!run) return run.error();
    const Report report = run->report();
    write_stdout(json_ ? support_report_json(report) : support_report_text(report));
    return ExitCode::done;
  }

 private:
  ModelArgs model_;
  SupportArgs support_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_support_command() { return std::make_unique<SupportCommand>(); }

}  // namespace cleave
