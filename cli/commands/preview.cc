// cleave preview: how the model would be split, and the QPS that the link allows.
#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/jobs/lower_run.h"
#include "cli/jobs/report_files.h"
#include "cli/jobs/split_run.h"
#include "cli/options/backend_args.h"
#include "cli/options/request_args.h"
#include "cli/terminal/terminal.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/run/jobs/open_sizes.h"
#include "formats/run/jobs/try_options.h"

namespace cleave {
namespace {

class PreviewCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    add_split_options(app, request_, Lists::required, Targets::several);
    files_.add_to(app);
    app.add_option("--lower", backend_.names,
                   "also compile each accelerator partition by this compiler (see cleave lower), "
                   "run it, and compare it with the reference; repeatable")
        ->allow_extra_args(false);
    backend_.reference.add_to(app);
    app.add_flag("--json", json_, "print the report as JSON");
  }

  ExitCode run() override {
    if (const auto fault = files_.check(); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    const bool is_lowered = !backend_.names.empty();
    backend_.pool.compares = is_lowered;
    if (!backend_.names.empty() && request_.lists.targets().size() > 1) {
      print_error("--lower is for one target, and there are several: give -s for one of them");
      return ExitCode::usage;
    }
    const auto run = split_with_progress(request_);
    if (!run) return run.error();
    auto backends = std::make_optional<std::vector<Backend>>();
    if (is_lowered) backends = backend_.load(run->model().format());
    if (!backends || (is_lowered && !is_for_compilers(run->model(), request_.model.path))) {
      return ExitCode::bad_input;
    }
    std::vector<std::string> notes;
    if (std::string note = option_note(*run); !note.empty()) notes.push_back(std::move(note));
    Report report = run->report(std::move(notes));
    const auto sizes = open_sizes_of(*run);
    report.open_sizes = sizes ? &*sizes : nullptr;
    const ExitCode code = files_.write(report);
    // Text is printed before compilers run, so that it is there whatever becomes of them. JSON is one
    // object.
    const bool goes_on = is_lowered && code == ExitCode::done;
    if (!json_ || !goes_on) print(report);
    return goes_on ? lower(*run, *backends, report) : code;
  }

 private:
  void print(const Report& report) const {
    write_stdout(json_ ? report_json(report) : report_text(report), files_.written());
  }

  // Where times, or shapes of profiles, are those of certain sizes, there are no products.
  static std::optional<OpenSizes> open_sizes_of(const SplitJob& job) {
    if (!job.costs().empty()) return std::nullopt;
    return find_open_sizes(job.model(), &job.split());
  }

  // Prints the compilers' verdicts on the partitions.
  ExitCode lower(const SplitJob& job, const std::vector<Backend>& backends, const Report& report) {
    const auto work = open_work_folder();
    if (!work) return ExitCode::cannot_write;
    backend_.set_up(work->path());
    LowerOptions options{.pool = backend_.pool, .search = backend_.search};
    const auto outcome = lower_with_progress(job, backends, options);
    if (!outcome) {
      if (json_) print(report);
      return outcome.error();
    }
    const LoweringReport lowering{job.model(), backends, options.pool, options.search, *outcome};
    write_stdout(json_ ? with_lowering(report_json(report), lowering)
                       : "\nLOWERING\n" + lowering_text(lowering),
                 files_.written());
    if (outcome->is_driver_fault) return ExitCode::external_failed;
    return outcome->is_clean ? ExitCode::done : ExitCode::check_failed;
  }

  SplitRequest request_;
  ReportFiles files_;
  BackendArgs backend_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_preview_command() { return std::make_unique<PreviewCommand>(); }

}  // namespace cleave
