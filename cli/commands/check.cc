// cleave check: checks models and lists against gates and a baseline, for CI.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <mutex>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/gate_args.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/base.h"
#include "formats/base/files.h"
#include "formats/base/process.h"
#include "formats/models/models.h"
#include "formats/report/check/check.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {
namespace {

class CheckCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app_ = &app;
    app.footer(
        "Options can also be given in a file: --config FILE (TOML, table [check]; [[model]] for a "
        "model's shapes).");
    add_input_option(
        app, "MODEL", models_,
        "model files (ONNX, torch.export, TensorFlow Lite or native graph JSON), folders in which "
        "all .onnx, .pt2 and .tflite files are taken, or - for one from standard input")
        ->required();
    add_binding_options(app, request_.model);
    add_costs_option(app, request_.costs);
    add_list_options(app, request_.lists, Lists::required, Targets::several);
    app.get_option("--support")
        ->description(
            "support list; repeatable: every model is checked with every list; with NAME=, a list "
            "of that target, and several targets are checked as one split");
    app.add_flag("--combine", combine_,
                 "take all lists as one: a node is supported when any of them accepts it");
    add_setting_options(app, request_);
    gates_.add_to(app, request_.lists);
    app.add_flag("--exit-zero", exit_zero_, "exit 0 even when a gate fails");
    app.add_flag("--json", json_, "print the report as JSON");
    app.add_flag("--table", table_,
                 "print a table, models by lists: coverage of nodes, and accelerator partitions");
    for (OutputFile& file : files_) {
      add_output_option(app, file.option, file.path, file.help);
    }
    page_.add_to(app);
    app.add_flag("--github", github_, "print annotations for GitHub Actions as well");
  }

  ExitCode run() override {
    if (const auto fault = find_models(); !fault) {
      return refuse(fault.error());
    }
    if (const std::string fault = usage_fault(); !fault.empty()) {
      print_error(fault, {"try: cleave check --help"});
      return ExitCode::usage;
    }
    if (const auto fine = check_cost_targets(request_); !fine) {
      return refuse(fault_of(FaultCause::request, fine.error()));
    }
    if (const auto fault = check_outputs(); !fault) {
      return refuse(fault.error(), ExitCode::cannot_write);
    }
    if (!gates_.baseline.empty() && !gates_.update_baseline) {
      auto read = read_baseline_file(gates_.baseline);
      if (!read) return refuse_baseline(std::move(read).error());
      baseline_ = *std::move(read);
      if (baseline_->is_single && models_.size() * columns().size() > 1) {
        print_error(escaped_in_quotes(gates_.baseline) +
                    " is one report, for one model and one list; --update-baseline makes a "
                    "baseline for several");
        return ExitCode::bad_input;
      }
    }
    if (const ExitCode code = check_models(); code != ExitCode::done) return code;
    if (!is_whole_) return ExitCode::bad_input;
    fail_vain_requirements(check_);
    const ExitCode written = write_outputs();
    if (written != ExitCode::done) return written;
    if (!check_.errors.empty()) return ExitCode::bad_input;
    return check_.passed() || exit_zero_ ? ExitCode::done : ExitCode::check_failed;
  }

 private:
  std::string usage_fault() const {
    const GateLimits& limits = gates_.request.limits;
    if (gates_.baseline.empty() && gates_.update_baseline) {
      return "--update-baseline needs --baseline FILE, the file to write";
    }
    if (gates_.baseline.empty() && (limits.new_cpu_nodes || limits.regression)) {
      return std::string(limits.new_cpu_nodes ? "--max-new-cpu-nodes" : "--allow-regression") +
             " compares with a baseline: give --baseline FILE";
    }
    if (table_ && json_) return "--table and --json are two forms of the report: give one";
    if (!gates_.asks_anything() && !table_) {
      return "there is no gate to check: give one such as --min-coverage 95%, or --baseline FILE";
    }
    if (models_.size() > 1 && std::count(models_.begin(), models_.end(), "-") > 0) {
      return "standard input can be the only model, not one of several";
    }
    return {};
  }

  Status<Diagnostics> check_outputs() const {
    if (gates_.update_baseline) {
      auto done = check_may_write(gates_.baseline, may_update_baseline());
      if (!done) return done;
    }
    for (const OutputFile& file : files_) {
      if (file.path.empty()) continue;
      if (auto done = check_may_write(file.path, page_.is_forced()); !done) return done;
    }
    return page_.check();
  }

  // --update-baseline replaces a baseline, as it says, and anything else only with --force.
  bool may_update_baseline() const {
    std::error_code error;
    if (page_.is_forced()) return true;
    return std::filesystem::is_regular_file(gates_.baseline, error) &&
           read_baseline_file(gates_.baseline).has_value();
  }

  ExitCode refuse_baseline(Diagnostics faults) const {
    if (!faults.empty() && faults.front().line == 0) {
      faults.front().notes.emplace_back("--update-baseline makes a new one");
    }
    return refuse(faults);
  }

  bool has_targets() const { return request_.lists.targets().size() > 1; }

  // The lists of each column of the matrix of models and lists.
  std::vector<std::vector<std::string>> columns() const {
    const std::vector<std::string>& paths = request_.lists.paths;
    if (combine_ || has_targets() || paths.empty()) return {paths};
    std::vector<std::vector<std::string>> columns;
    for (const std::string& path : paths) columns.push_back({path});
    return columns;
  }

  // Its lists; the files of verdicts where there are none.
  std::string column_name(const std::vector<std::string>& lists) const {
    std::string name;
    const auto& files = lists.empty() ? request_.lists.verdicts : lists;
    for (const std::string& file : files) name += (name.empty() ? "" : " + ") + file;
    return name;
  }

  // Puts the models of a folder in its place, by name.
  Status<Diagnostics> find_models() {
    namespace fs = std::filesystem;
    std::vector<std::string> found;
    for (const std::string& path : models_) {
      std::error_code error;
      if (!fs::is_directory(path, error)) {
        found.push_back(path);
        continue;
      }
      const auto below = paths_below(path);
      if (!below) return below.error();
      std::vector<std::string> inside;
      for (const fs::path one : *below) {
        const std::string kind = one.extension().string();
        const bool is_model = kind == ".onnx" || kind == ".pt2" || kind == ".tflite";
        if (is_model && fs::is_regular_file(one, error))
          inside.push_back(one.lexically_normal().string());
      }
      if (inside.empty()) {
        return Diagnostics{diagnostic_of(path, "this folder has no .onnx, .pt2 or .tflite file")};
      }
      std::sort(inside.begin(), inside.end());
      for (const std::string& model : inside) record_input(model);
      found.insert(found.end(), inside.begin(), inside.end());
    }
    models_ = std::move(found);
    return Done{};
  }

  // What became of one model: plain data, so that no more models are held than are worked on.
  struct Checked {
    Diagnostics messages;
    std::vector<CheckRun> runs;
    std::vector<BaselineItem> items;
    std::vector<std::string> not_in_baseline;  // lists
    std::optional<Fault> fault;
  };

  // Models are checked side by side; messages and results come in the order given.
  ExitCode check_models() {
    BoundModels bound(*app_, request_.model, models_.size() > 1);
    std::vector<ModelRequest> requests;
    for (const std::string& model : models_) requests.push_back(bound.request_for(model));
    std::vector<ListsRead> lists;
    for (const std::vector<std::string>& column : columns()) {
      ListsRequest request = request_.lists;
      request.paths = column;
      auto read = load_lists(request);
      if (!read) return ExitCode::bad_input;
      lists.push_back(*std::move(read));
      lists.back().warnings.clear();  // they are printed
    }
    print_diagnostics(idle_request_warnings(request_));
    std::vector<Checked> all(models_.size());
    {
      ProgressBar bar("");
      const Progress progress = bar.observer();
      std::mutex mutex;
      std::size_t done = 0;
      do_each(models_.size(), [&](std::size_t i) {
        all[i] = check_model(requests[i], lists);
        const std::lock_guard lock(mutex);
        tell(progress, {"checking", "models", ++done, models_.size()});
        return true;
      });
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (const ExitCode code = take(models_[i], std::move(all[i])); code != ExitCode::done) {
        return code;
      }
    }
    return bound.are_all_bound() ? ExitCode::done : ExitCode::bad_input;
  }

  Checked check_model(const ModelRequest& asked, const std::vector<ListsRead>& lists) const {
    Checked checked;
    const auto fail = [&](Fault fault) {
      checked.fault = std::move(fault);
      return std::move(checked);
    };
    auto model = read_model(asked.path, asked.bindings, asked.limits);
    if (!model) return fail(input_fault(model.error()));
    checked.messages = model->warnings;
    if (models_.size() == 1) {
      append(checked.messages, idle_option_warnings(*model));
    }
    const auto costs = read_costs_and_shapes(costs_of(request_), *model);
    if (!costs) return fail(input_fault(costs.error()));
    checked.messages.insert(checked.messages.end(), costs->warnings.begin(), costs->warnings.end());
    const auto names = columns();
    for (std::size_t i = 0; i < lists.size(); ++i) {
      SplitRequest request = request_;
      request.model = asked;
      request.lists.paths = names[i];
      request.require = gates_.request.require;
      const auto job = run_split(
          request, {},
          {.model = &*model, .costs = &*costs, .lists = &lists[i], .are_requirements_told = true});
      if (!job) return fail(job.error());
      const Diagnostics& warnings = job->warnings();
      checked.messages.insert(checked.messages.end(), warnings.begin(), warnings.end());
      append(checked.messages, limit_warnings(*job));
      hold(asked.path, column_name(names[i]), job->report(), checked);
    }
    return checked;
  }

  void hold(const std::string& model, const std::string& list, const Report& report,
            Checked& checked) const {
    const EarlierResult* before = nullptr;
    if (baseline_) {
      before = baseline_->find(model, list);
      if (before == nullptr) {
        checked.not_in_baseline.push_back(list);
        return;
      }
    }
    CheckRun run = check_report(report, gates_.effective_request(), before);
    run.model = model;
    run.list = list;
    checked.runs.push_back(std::move(run));
    if (gates_.update_baseline) checked.items.push_back({model, list, report_json(report)});
  }

  // A single model that cannot be checked ends the run; of several it is an error of the report.
  ExitCode take(const std::string& model, Checked checked) {
    print_diagnostics(checked.messages);
    if (checked.fault) {
      if (models_.size() == 1 || gates_.update_baseline ||
          checked.fault->cause != FaultCause::input) {
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
    if (is_whole_) {
      for (const auto& [key, result] : baseline_->results) {
        if (notes.size() == 10) break;
        notes.push_back("it has " + escaped_in_quotes(key.first) + " with " +
                        escaped_in_quotes(key.second));
      }
      notes.emplace_back("--update-baseline writes one for the models and lists given");
    }
    is_whole_ = false;
    print_error("the baseline " + escaped_in_quotes(gates_.baseline) + " has no result for " +
                    escaped_in_quotes(model) + " with " + escaped_in_quotes(list),
                notes);
  }

  ExitCode write_outputs() const {
    std::vector<std::string> complete;
    if (gates_.update_baseline) {
      const auto written = write_file(gates_.baseline, baseline_bytes(gates_.baseline, items_),
                                      may_update_baseline());
      if (!written) return refuse(written.error(), ExitCode::cannot_write);
      print_info("wrote " + gates_.baseline);
      complete.push_back(gates_.baseline);
    }
    for (const OutputFile& file : files_) {
      if (file.path.empty()) continue;
      const auto written = write_file(file.path, file.make(ci_report(check_)), page_.is_forced());
      if (!written) return refuse(written.error(), ExitCode::cannot_write);
      complete.push_back(file.path);
    }
    if (page_.is_asked()) {
      const ExitCode code = page_.write({check_page(check_), {}});
      if (code != ExitCode::done) return code;
      complete.push_back(page_.written().front());
    }
    write_stdout(json_    ? check_json(check_)
                 : table_ ? check_table(check_)
                          : check_text(check_),
                 complete);
    if (github_) write_annotations();
    return ExitCode::done;
  }

  // Annotations go to standard error when standard output has JSON; GitHub reads both.
  void write_annotations() const {
    const std::string text = ci_annotations(ci_report(check_));
    if (json_) {
      std::fputs(text.c_str(), stderr);
    } else {
      write_commands(text);
    }
  }

  struct OutputFile {
    const char* option;
    const char* help;
    std::string (*make)(const CiReport&);
    std::string path = {};  // empty: not asked for
  };

  std::array<OutputFile, 3> files_ = {{
      {"--junit", "write a JUnit file: a suite for each model and list, a case for each gate",
       ci_junit},
      {"--sarif", "write a SARIF file: what keeps nodes on the CPU, by model, reason and op",
       ci_sarif},
      {"--markdown", "write Markdown, for a step summary or a pull request", ci_markdown},
  }};
  CLI::App* app_ = nullptr;
  bool github_ = false;
  PageFile page_;
  std::vector<std::string> models_;
  SplitRequest request_;
  GateArgs gates_;
  bool combine_ = false;
  bool exit_zero_ = false;
  bool json_ = false;
  bool table_ = false;
  std::optional<Baseline> baseline_;
  bool is_whole_ = true;  // every model could be read and compared
  std::vector<BaselineItem> items_;
  Check check_;
};

}  // namespace

std::unique_ptr<Command> make_check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace cleave
