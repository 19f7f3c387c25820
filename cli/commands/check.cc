// cleave check: checks models and lists against gates and a baseline, for CI.
#include <algorithm>
#include <filesystem>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/gate_args.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/base.h"
#include "formats/base/files.h"
#include "formats/report/check/check.h"
#include "formats/run/jobs/check_job.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {
namespace {

class CheckCommand : public Command {
 public:
  explicit CheckCommand(const Given& given)
      : given_(given),
        files_(given),
        page_(given),
        models_(given.texts("MODEL")),
        gates_(gates_of(given)),
        baseline_path_(given.text("--baseline")),
        output_(given.text("--output")),
        json_(given.flag("--json")),
        table_(given.has("--show")) {}

  ExitCode run() override {
    auto found = models_of(models_);
    if (!found) return refuse(found.error());
    models_ = *std::move(found);
    columns_ = check_columns(given_.split.lists, given_.has("--combine"));
    if (const std::string fault = usage_fault(); !fault.empty()) {
      print_error(fault, {"try: cleave check --help"});
      return ExitCode::usage;
    }
    if (const auto fine = check_cost_targets(given_.split); !fine) {
      return refuse(fault_of(FaultCause::request, fine.error()));
    }
    if (const auto fault = check_outputs(); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    if (!baseline_path_.empty()) {
      auto read = read_baseline_file(baseline_path_);
      if (!read) return refuse(read.error());
      baseline_ = *std::move(read);
      if (baseline_->is_single && models_.size() * columns_.size() > 1) {
        print_error(escaped_in_quotes(baseline_path_) +
                    " is one report, for one model and one list; cleave check -o FILE writes a "
                    "baseline for several");
        return ExitCode::bad_input;
      }
    }
    if (const ExitCode code = check(); code != ExitCode::done) return code;
    if (!has_all_results_) return ExitCode::bad_input;
    fail_vain_requirements(check_);
    const ExitCode written = write_outputs();
    if (written != ExitCode::done) return written;
    if (!check_.errors.empty()) return ExitCode::bad_input;
    return check_.passed() || given_.flag("--exit-zero") ? ExitCode::done : ExitCode::check_failed;
  }

 private:
  std::string usage_fault() const {
    const GateLimits& limits = gates_.limits;
    if (baseline_path_.empty() && (limits.new_cpu_nodes || limits.regression)) {
      return std::string(limits.new_cpu_nodes ? "--max new-cpu-nodes" : "--max regression") +
             " compares with a baseline: give --baseline FILE";
    }
    if (!asks_anything(gates_) && baseline_path_.empty() && output_.empty() && !table_) {
      return "there is no gate to check: give one such as --min coverage=95%, or --baseline FILE; "
             "-o FILE writes a baseline";
    }
    if (models_.size() > 1 && std::ranges::count(models_, "-") > 0) {
      return "standard input can be the only model, not one of several";
    }
    return {};
  }

  Status<Diagnostics> check_outputs() const {
    if (!output_.empty()) {
      if (auto done = check_may_write(output_, page_.is_forced()); !done) return done;
    }
    if (auto done = files_.check(); !done) return done;
    return page_.check();
  }

  ExitCode check() {
    BoundModels bound(given_, models_.size() > 1);
    CheckModels request{.models = {},
                        .columns = std::move(columns_),
                        .split = given_.split,
                        .gates = baseline_path_.empty() ? gates_ : with_default_gate(gates_),
                        .baseline = baseline_ ? &*baseline_ : nullptr,
                        .makes_baseline = !output_.empty()};
    for (const std::string& model : models_) request.models.push_back(bound.request_for(model));
    for (CheckColumn& column : request.columns) {
      ListsRequest lists = given_.split.lists;
      lists.paths = column.paths;
      auto read = load_lists(lists);
      if (!read) return ExitCode::bad_input;
      column.lists = *std::move(read);
      column.lists.warnings.clear();  // they are printed
    }
    print_diagnostics(idle_request_warnings(given_.split));
    std::vector<CheckedModel> all = [&] {
      ProgressBar bar("");
      return check_models(request, bar.observer());
    }();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (const ExitCode code = take(models_[i], std::move(all[i])); code != ExitCode::done) {
        return code;
      }
    }
    return bound.are_all_bound() ? ExitCode::done : ExitCode::bad_input;
  }

  // A single model that cannot be checked ends the run; of several it is an error of the report.
  ExitCode take(const std::string& model, CheckedModel checked) {
    print_diagnostics(checked.messages);
    if (checked.fault) {
      if (models_.size() == 1 || !output_.empty() || checked.fault->cause != FaultCause::input) {
        return cleave::refuse(*checked.fault);
      }
      print_diagnostics(checked.fault->faults);
      const Diagnostics& faults = checked.fault->faults;
      check_.errors.push_back(
          {model, faults.empty() ? std::string("cannot be read") : faults.front().message});
    }
    for (const std::string& list : checked.not_in_baseline) refuse_new(model, list);
    for (CheckRun& run : checked.runs) check_.runs.push_back(std::move(run));
    for (BaselineItem& item : checked.items) items_.push_back(std::move(item));
    return ExitCode::done;
  }

  void refuse_new(const std::string& model, const std::string& list) {
    std::vector<std::string> notes;
    if (has_all_results_) {
      for (const auto& [key, result] : baseline_->results) {
        if (notes.size() == 10) break;
        notes.push_back("it has " + escaped_in_quotes(key.first) + " with " +
                        escaped_in_quotes(key.second));
      }
      notes.emplace_back(
          "a result is found by its paths as they are typed: those of another folder are others");
      notes.emplace_back("cleave check -o FILE writes one for the models and lists given");
    }
    has_all_results_ = false;
    print_error("the baseline " + escaped_in_quotes(baseline_path_) + " has no result for " +
                    escaped_in_quotes(model) + " with " + escaped_in_quotes(list),
                notes);
  }

  ExitCode write_outputs() const {
    std::vector<std::string> complete;
    if (!output_.empty()) {
      const std::string bytes = baseline_bytes(output_, items_);
      const auto written = write_file(output_, bytes, page_.is_forced());
      if (!written) return refuse(written.error(), ExitCode::cannot_write);
      print_info("wrote " + output_);
      complete.push_back(output_);
    }
    if (const ExitCode code = files_.write(ci_report(check_)); code != ExitCode::done) return code;
    complete.insert(complete.end(), files_.written().begin(), files_.written().end());
    if (page_.is_asked()) {
      const ExitCode code = page_.write({check_page(check_), {}});
      if (code != ExitCode::done) return code;
      complete.push_back(page_.written().front());
    }
    write_stdout(json_    ? check_json(check_)
                 : table_ ? check_table(check_)
                          : check_text(check_),
                 complete);
    files_.annotate(ci_report(check_), json_);
    return ExitCode::done;
  }

  const Given& given_;
  CiFiles files_;
  PageFile page_;
  std::vector<std::string> models_;
  std::vector<CheckColumn> columns_;
  CheckRequest gates_;
  std::string baseline_path_, output_;  // empty: none
  bool json_, table_;
  std::optional<Baseline> baseline_;
  bool has_all_results_ = true;  // the baseline has one for each model and list
  std::vector<BaselineItem> items_;
  Check check_;
};

}  // namespace

std::unique_ptr<Command> make_check_command(const Given& given) {
  return std::make_unique<CheckCommand>(given);
}

}  // namespace cleave
