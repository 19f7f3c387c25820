// cleave diff: what moved between two splits, and why. Options after `to` apply to the second
// split; others are the same as for the first.
//
//   cleave diff old.onnx new.onnx -s npu.json
//   cleave diff m.onnx -s old.json to -s new.json --min-acc-module-size 3
#include <algorithm>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/report/check/check.h"

namespace cleave {
namespace {

class DiffCommand : public Command {
 public:
  explicit DiffCommand(const Given& given)
      : first_(given.split),
        second_(given.to->split),
        after_to_(given.after_to),
        other_(given.text("OTHER")),
        json_(given.flag("--json")),
        page_(given) {
    if (other_.empty()) other_ = second_.model.path;
    second_.model.path = other_.empty() ? first_.model.path : other_;
    given.bind(second_.model);
  }

  ExitCode run() override {
    if (other_.empty() && after_to_ == Given::AfterTo::no_to) {
      print_error("there is nothing to compare with",
                  {"give a second model, or what differs: cleave diff MODEL -s LIST to -s OTHER",
                   "try: cleave diff --help"});
      return ExitCode::usage;
    }
    if (other_.empty() && after_to_ == Given::AfterTo::nothing) {
      print_error("nothing follows \"to\": both splits would be the same",
                  {"give what differs: cleave diff MODEL -s LIST to -s OTHER"});
      return ExitCode::usage;
    }
    if (const auto may = page_.check(); !may) return refuse(may.error(), ExitCode::cannot_write);
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
    if (!json_) note_open_sizes(*before, *after);
    return ExitCode::done;
  }

 private:
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

  // Where FLOPs are "?", what makes them known.
  static void note_open_sizes(const SplitJob& before, const SplitJob& after) {
    for (const SplitJob* const job : {&before, &after}) {
      const Report report = job->report();
      if (report.preview.coverage.flops.are_known()) continue;
      const std::string give = size_options_text(report.model, report.graph);
      if (give.empty()) continue;
      print_diagnostics({{.severity = Severity::note,
                          .file = {},
                          .message = "FLOPs are not known at open sizes: give " + give}});
      return;  // a second model has the same sizes, or says so once these are given
    }
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

  const SplitRequest& first_;
  SplitRequest second_;
  Given::AfterTo after_to_;
  std::string other_;
  bool json_;
  PageFile page_;
};

}  // namespace

std::unique_ptr<Command> make_diff_command(const Given& given) {
  return std::make_unique<DiffCommand>(given);
}

}  // namespace cleave
