// cleave diff: what moved between two splits, and why. Options after `to` apply to the second
// split; others are the same as for the first.
//
//   cleave diff old.onnx new.onnx -s npu.json
//   cleave diff m.onnx -s old.json to -s new.json --min-acc-module-size 3
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/config_file.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/report/check/check.h"

namespace cleave {
namespace {

class DiffCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    add_model_options(app, first_.model);
    add_costs_option(app, first_.costs);
    add_input_option(app, "OTHER", other_, "the model to compare with");
    add_list_options(app, first_.lists, Lists::required, Targets::several);
    add_setting_options(app, first_);
    add_require_option(app, first_.require);
    app.add_flag("--json", json_, "print the differences as JSON");
    page_.add_with_drawings(app);
    app_ = &app;
    to_ = app.add_subcommand("to", "the second split: options that differ from the first's");
    add_input_option(*to_, "MODEL", other_, "the model to compare with");
    add_binding_options(*to_, second_.model);
    add_costs_option(*to_, second_.costs);
    add_list_options(*to_, second_.lists, Lists::optional, Targets::several);
    add_setting_options(*to_, second_);
    add_require_option(*to_, second_.require);
    to_->fallthrough();
  }

  ExitCode run() override {
    if (other_.empty() && !to_->parsed()) {
      print_error("there is nothing to compare with",
                  {"give a second model, or what differs: cleave diff MODEL -s LIST to -s OTHER",
                   "try: cleave diff --help"});
      return ExitCode::usage;
    }
    if (other_.empty() && !is_any_given_after_to()) {
      print_error("nothing follows \"to\": both splits would be the same",
                  {"give what differs: cleave diff MODEL -s LIST to -s OTHER"});
      return ExitCode::usage;
    }
    if (const auto may = page_.check(); !may) return refuse(may.error(), ExitCode::cannot_write);
    inherit_options();
    second_.model.path = other_.empty() ? first_.model.path : other_;
    bind_by_config(*app_, second_.model);
    const auto before = split_with_progress(first_);
    if (!before) return before.error();
    const auto after = make_second(*before);
    if (!after) return after.error();
    print_limits(*before, *after);
    Diff diff = diff_reports(before->report(), after->report());
    add_requirements(diff);
    name(first_, diff.before);
    name(second_, diff.after);
    if (page_.is_asked()) {
      const ExitCode code =
          page_.write(diff_page(diff, before->report(), after->report(), page_.limits()));
      if (code != ExitCode::done) return code;
    }
    write_stdout(json_ ? diff_json(diff) : diff_text(diff), page_.written());
    return ExitCode::done;
  }

 private:
  bool is_any_given_after_to() const {
    const auto options = to_->get_options();
    return std::any_of(options.begin(), options.end(),
                       [](const CLI::Option* option) { return option->count() > 0; });
  }

  // Gives the second side each option that was only given for the first.
  void inherit_options() {
    for (CLI::Option* const option : to_->get_options()) {
      if (option->count() > 0 || option->get_lnames().empty()) continue;
      const CLI::Option* const given =
          app_->get_option_no_throw("--" + option->get_lnames().front());
      if (given == nullptr || given->count() == 0 || given == app_->get_help_ptr()) continue;
      option->add_result(given->results());
      option->run_callback();
    }
  }

  // A model from a pipe can be read once: the second split uses the same bytes.
  Result<SplitJob, ExitCode> make_second(const SplitJob& before) const {
    SplitRequest request = second_;
    if (request.model.path == first_.model.path) {
      request.model.path = before.model().source.path_again();
    }
    return split_with_progress(request, {}, before.warnings());
  }

  static void print_limits(const SplitJob& before, const SplitJob& after) {
    const Diagnostics first = limit_warnings(before);
    print_diagnostics(first);
    print_diagnostics(without_reported(limit_warnings(after), first));
  }

  // Reports have no requirements of their own.
  void add_requirements(Diff& diff) const {
    const auto text_of = [](const std::vector<std::string>& patterns) {
      const auto quoted = [](const std::string& pattern) { return escaped_in_quotes(pattern); };
      return patterns.empty() ? std::string("none") : capped_list(patterns, 5, quoted);
    };
    if (first_.require == second_.require) return;
    diff.settings.push_back("require: " + text_of(second_.require) + ", was " +
                            text_of(first_.require));
  }

  static void name(const SplitRequest& side, DiffSide& to) {
    to.model = side.model.path;
    for (const std::string& path : side.lists.paths) {
      to.list += (to.list.empty() ? "" : " + ") + path;
    }
  }

  CLI::App* app_ = nullptr;
  CLI::App* to_ = nullptr;
  SplitRequest first_, second_;
  std::string other_;
  bool json_ = false;
  PageFile page_;
};

}  // namespace

std::unique_ptr<Command> make_diff_command() { return std::make_unique<DiffCommand>(); }

}  // namespace cleave
