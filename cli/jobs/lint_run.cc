#include "cli/jobs/lint_run.h"

#include <utility>

#include "cli/jobs/jobs.h"
#include "cli/terminal/terminal.h"
#include "formats/lists/support_file.h"
#include "formats/report/lint/lint.h"

namespace cleave {

ExitCode run_lint(const CLI::App& command, const LintRun& run) {
  auto loaded = read_list(run.list);
  if (!loaded) return refuse(loaded.error());
  const SupportList& list = loaded->list;
  RuleUse use(list);
  LintRequest request{.warnings = std::move(loaded->warnings), .models = run.models};
  BoundModels bound(command, run.model, run.models.size() > 1);
  for (const std::string& path : run.models) {
    const auto model = bound.load(path);
    if (!model) return ExitCode::bad_input;
    if (model->format() == ModelFormat::onnx) request.has_onnx_model = true;
    use.add(model->graph, op_facts(*model));
  }
  if (!bound.are_all_bound()) return ExitCode::bad_input;
  const Lint lint = lint_support(list, run.models.empty() ? nullptr : &use, request);
  write_stdout(run.as_json ? lint_json(lint) : lint_text(lint));
  const bool fails =
      lint.count(Severity::error) > 0 || (run.is_strict && lint.count(Severity::warning) > 0);
  return fails ? ExitCode::check_failed : ExitCode::done;
}

}  // namespace cleave
