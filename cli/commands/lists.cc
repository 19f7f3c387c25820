// cleave lists: lists the support lists that are known by name, starts a list from models, and checks
// a list for faults.
#include <algorithm>
#include <filesystem>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/base/text.h"
#include "formats/lists/support_file.h"
#include "formats/report/lint/lint.h"

namespace cleave {
namespace {

class ListsCommand : public Command {
 public:
  explicit ListsCommand(const Given& given)
      : given_(given),
        action_(given.text("ACTION")),
        files_(given.texts("FILE")),
        output_(given.file("--output")),
        force_(given.flag("--force")) {}

  ExitCode run() override {
    if (action_ == "show") return files_.empty() ? show() : show_lists();
    if (files_.empty()) {
      print_error(action_ + " needs a file", {"try: cleave lists --help"});
      return ExitCode::usage;
    }
    if (const auto unwritable = refuse_unwritable(output_, force_)) return *unwritable;
    return action_ == "new" ? begin() : lint();
  }

 private:
  static ExitCode show() {
    TextTable table({"list", "rules", "unchecked", "file"},
                    {Align::left, Align::right, Align::right, Align::left});
    const std::vector<std::string> paths = known_lists();
    for (const std::string& path : paths) {
      const auto loaded = read_support_file(path);
      if (!loaded) {  // some other JSON file in the folder
        print_warning(loaded.error().front().file +
                      " is no support list: " + loaded.error().front().message);
        continue;
      }
      const auto& allow = loaded->list.allow;
      const auto unchecked =
          std::ranges::count_if(allow, [](const Rule& rule) { return !rule.unchecked.empty(); });
      table.add_row(
          {known_list_name(path), std::to_string(allow.size()), std::to_string(unchecked), path});
    }
    write_stdout(paths.empty() ? "no list is known by name: set CLEAVE_LISTS to a folder of lists\n"
                               : table.text());
    return ExitCode::done;
  }

  // What each list says: where it is from, its ops with their conditions, and what it leaves unchecked.
  ExitCode show_lists() const {
    std::string text;
    for (const std::string& name : files_) {
      const auto loaded = read_list(name);
      if (!loaded) return refuse(loaded.error());
      print_diagnostics(loaded->warnings);
      text += (text.empty() ? "" : "\n") + list_text(loaded->list);
    }
    write_stdout(text);
    return ExitCode::done;
  }

  ExitCode begin() {
    std::vector<LoadedModel> models;
    BoundModels bound(given_, files_.size() > 1);
    for (const std::string& path : files_) {
      auto model = bound.load(path);
      if (!model) return ExitCode::bad_input;
      models.push_back(*std::move(model));
    }
    if (!bound.are_all_bound()) return ExitCode::bad_input;
    std::vector<const Graph*> graphs;
    for (const LoadedModel& model : models) graphs.push_back(&model.graph);
    const std::string name = std::filesystem::path(output_).stem();
    return write_text(output_, list_skeleton(graphs, name.empty() ? "my-npu" : name), force_);
  }

  // Fails on errors, and, with --strict, on warnings.
  ExitCode lint() {
    Diagnostics bad_types;
    auto loaded = read_list(files_.front(), &bad_types);
    if (!loaded) return refuse(loaded.error());
    print_diagnostics(bad_types);
    const std::vector<std::string> models(files_.begin() + 1, files_.end());
    const SupportList& list = loaded->list;
    RuleUse use(list);
    LintRequest request{.warnings = std::move(loaded->warnings), .models = models};
    BoundModels bound(given_, models.size() > 1);
    for (const std::string& path : models) {
      const auto model = bound.load(path);
      if (!model) return ExitCode::bad_input;
      if (model->format() == ModelFormat::onnx) request.has_onnx_model = true;
      use.add(model->graph, op_facts(*model));
    }
    if (!bound.are_all_bound()) return ExitCode::bad_input;
    const Lint lint = lint_support(list, models.empty() ? nullptr : &use, request);
    write_stdout(given_.flag("--json") ? lint_json(lint) : lint_text(lint));
    const bool fails = lint.count(Severity::error) > 0 ||
                       (given_.flag("--strict") && lint.count(Severity::warning) > 0);
    return !bad_types.empty() ? ExitCode::bad_input
           : fails            ? ExitCode::check_failed
                              : ExitCode::done;
  }

  const Given& given_;
  std::string action_;
  std::vector<std::string> files_;
  std::string output_;
  bool force_;
};

}  // namespace

std::unique_ptr<Command> make_lists_command(const Given& given) {
  return std::make_unique<ListsCommand>(given);
}

}  // namespace cleave
