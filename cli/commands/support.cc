// cleave support: op types that the lists support and do not support, with their dtypes.
#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"

namespace cleave {
namespace {

class SupportCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    add_model_options(app, request_.model);
    add_costs_option(app, request_.costs);
    add_list_options(app, request_.lists);
    app.add_flag("--json", json_, "print the report as JSON");
  }

  ExitCode run() override {
    const auto run = split_with_progress(request_);
    if (!run) return run.error();
    const Report report = run->report();
    write_stdout(json_ ? support_report_json(report) : support_report_text(report));
    return ExitCode::done;
  }

 private:
  SplitRequest request_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_support_command() { return std::make_unique<SupportCommand>(); }

}  // namespace cleave
