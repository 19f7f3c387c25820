// cleave print: the model, or its split under support lists, one line per node.
#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/jobs/split_run.h"
#include "cli/terminal/terminal.h"
#include "formats/report/split/print_text.h"

namespace cleave {
namespace {

class PrintCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    model_.add_to(app);
    model_.add_costs_to(app);
    support_.add_to(app, false);
    split_.add_to(app);
  }

  ExitCode run() override {
    if (support_.paths.empty()) {
      const auto model = load_model(model_);
      if (!model) return ExitCode::bad_input;
      write_stdout(print_model(model->graph));
      return ExitCode::done;
    }
    const auto run = run_split(model_, support_, split_);
    if (!run) return run.error();
    write_stdout(print_split(run->graph(), run->split().partition, run->split().boundaries));
    return ExitCode::done;
  }

 private:
  ModelArgs model_;
  SupportArgs support_;
  SplitArgs split_;
};

}  // namespace

std::unique_ptr<Command> make_print_command() { return std::make_unique<PrintCommand>(); }

}  // namespace cleave
