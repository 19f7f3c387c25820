// cleave lint-support: finds faults in a support list. Also: cleave lists lint.
#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/jobs/lint_run.h"
#include "cli/options/options.h"

namespace cleave {
namespace {

class LintSupportCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app_ = &app;
    add_input_option(app, "LIST", run_.list,
                     "support list: JSON, plain text or ONNX Runtime config")
        ->required();
    add_input_option(app, "MODEL", run_.models, "models to check its rules against");
    add_binding_options(app, run_.model);
    app.add_flag("--strict", run_.is_strict, "also exit 1 on warnings");
    app.add_flag("--json", run_.as_json, "print the findings as JSON");
  }

  ExitCode run() override { return run_lint(*app_, run_); }

 private:
  CLI::App* app_ = nullptr;
  LintRun run_;
};

}  // namespace

std::unique_ptr<Command> make_lint_support_command() {
  return std::make_unique<LintSupportCommand>();
}

}  // namespace cleave
