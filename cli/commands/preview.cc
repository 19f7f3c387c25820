// cleave preview: how the model would be split, and the QPS that the link allows.
#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/commands/lowered_preview.h"
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
    if (lowered_) lowered_->add_to(app);
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
                      {"--netron", "--model-explorer", "--ops", "--lower"}, nodes_);
    }
#endif
    if (const auto fault = files_.check(); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    const bool is_lowered = lowered_ && lowered_->is_asked();
    if (is_lowered) {
      if (const auto code = lowered_->check(request_.lists)) return *code;
    }
    const auto run = split_with_progress(request_);
    if (!run) return run.error();
    if (is_lowered) {
      if (const auto code = lowered_->load(run->model(), request_.model.path)) return *code;
    }
    std::vector<std::string> notes;
    if (std::string note = option_note(*run); !note.empty()) notes.push_back(std::move(note));
    Report report = run->report(std::move(notes));
    const auto sizes = open_sizes_of(*run);
    report.open_sizes = sizes ? &*sizes : nullptr;
    const ExitCode code = files_.write(report);
    if (nodes_) {
      write_stdout(print_split(run->graph(), run->split().partition, run->split().boundaries));
      return code;
    }
    if (is_lowered && code == ExitCode::done) return lower(*run, report);
    print(report);
    return code;
  }

 private:
  void print(const Report& report) const {
    write_stdout(ops_    ? json_ ? support_report_json(report) : support_report_text(report)
                    : json_ ? report_json(report)
                         : report_text(report),
                 files_.written());
  }

  // Text is printed before compilers run, so that it is there whatever becomes of them. JSON is one
  // object.
  ExitCode lower(const SplitJob& job, const Report& report) {
    if (!json_) print(report);
    const auto verdicts = lowered_->run(job, report, json_);
    if (!verdicts) {
      if (json_) print(report);
      return verdicts.error();
    }
    write_stdout(verdicts->text, files_.written());
    return verdicts->code;
  }

  SplitRequest request_;
  ReportFiles files_;
  std::unique_ptr<LoweredPreview> lowered_ = make_lowered_preview();
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
