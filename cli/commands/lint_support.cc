// cleave lint-support: finds faults in a support list.
#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/jobs/bound_models.h"
#include "cli/jobs/split_run.h"
#include "cli/options/file_option.h"
#include "cli/terminal/terminal.h"
#include "formats/report/check/lint.h"
#include "formats/support/support_file.h"

namespace cleave {
namespace {

class LintSupportCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    add_input_option(app, "LIST", list_, "support list: JSON, plain text or ONNX Runtime config")
        ->required();
    add_input_option(app, "MODEL", models_, "models to check its rules against");
    model_.add_bindings_to(app);
    app.add_flag("--strict", strict_, "also exit 1 on warnings");
    app.add_flag("--json", json_, "print the findings as JSON");
  }

  ExitCode run() override {
    auto loaded = read_support_file(list_);
    if (!loaded) return refuse(loaded.error());
    print_diagnostics(loaded->warnings);
    const SupportList& list = loaded->list;
    RuleUse use(list);
    LintRequest request{.models = models_};
    BoundModels bound(model_, models_.size() > 1);
    for (const std::string& path : models_) {
      const auto model = bound.load(path);
      if (!model) return ExitCode::bad_input;
      if (model->format() == ModelFormat::onnx) request.has_onnx_model = true;
      use.add(model->graph, op_facts(*model));
    }
    if (const std::string fault = bound.unbound(); !fault.empty()) {
      print_error(fault);
      return ExitCode::bad_input;
    }
    const Lint lint = lint_support(list, models_.empty() ? nullptr : &use, request);
    write_stdout(json_ ? lint_json(lint) : lint_text(lint));
    const bool fails =
        lint.count(Severity::error) > 0 || (strict_ && lint.count(Severity::warning) > 0);
    return fails ? ExitCode::check_failed : ExitCode::done;
  }

 private:
  std::string list_;
  std::vector<std::string> models_;
  ModelArgs model_;
  bool strict_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_lint_support_command() {
  return std::make_unique<LintSupportCommand>();
}

}  // namespace cleave
