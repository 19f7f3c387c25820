#include "cli/commands/lowered_preview.h"

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "cli/jobs/lower_run.h"
#include "cli/options/backend_args.h"
#include "cli/terminal/terminal.h"
#include "formats/report/lowering/lowering_report.h"

namespace cleave {
namespace {

class ByCompilers : public LoweredPreview {
 public:
  void add_to(CLI::App& app) override {
    app.add_option("--lower", backend_.names,
                   "also compile each accelerator partition by this compiler (see cleave lower), "
                   "run it, and compare it with the reference; repeatable")
        ->allow_extra_args(false);
    backend_.reference.add_to(app);
  }

  bool is_asked() const override { return !backend_.names.empty(); }

  std::optional<ExitCode> check(const ListsRequest& lists) const override {
    if (lists.targets().size() <= 1) return std::nullopt;
    print_error("--lower is for one target, and there are several: give -s for one of them");
    return ExitCode::usage;
  }

  std::optional<ExitCode> load(const LoadedModel& model, const std::string& path) override {
    backend_.pool.compares = true;
    auto backends = backend_.load(model.format());
    if (!backends || !is_for_compilers(model, path)) return ExitCode::bad_input;
    backends_ = *std::move(backends);
    return std::nullopt;
  }

  Result<Verdicts, ExitCode> run(const SplitJob& job, const Report& report, bool is_json) override {
    const auto work = open_work_folder();
    if (!work) return ExitCode::cannot_write;
    backend_.set_up(work->path());
    LowerOptions options{.pool = backend_.pool, .search = backend_.search};
    const auto outcome = lower_with_progress(job, backends_, options);
    if (!outcome) return outcome.error();
    const LoweringReport lowering{job.model(), backends_, options.pool, options.search, *outcome};
    const ExitCode code = outcome->is_driver_fault ? ExitCode::external_failed
                          : outcome->is_clean      ? ExitCode::done
                                                   : ExitCode::check_failed;
    return Verdicts{is_json ? with_lowering(report_json(report), lowering)
                            : "\nLOWERING\n" + lowering_text(lowering),
                    code};
  }

 private:
  BackendArgs backend_;
  std::vector<Backend> backends_;
};

}  // namespace

std::unique_ptr<LoweredPreview> make_lowered_preview() { return std::make_unique<ByCompilers>(); }

}  // namespace cleave
