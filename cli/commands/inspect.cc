// cleave inspect: what a model is made of, without a support list. `cleave MODEL` is its short form.

#include <optional>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/lists/support_file.h"
#include "formats/report/split/split_texts.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {
namespace {

class InspectCommand : public Command {
 public:
  explicit InspectCommand(const Given& given) : given_(given) {}

  ExitCode run() override {
    const auto model = load_model(given_.split.model);
    if (!model) return ExitCode::bad_input;
    if (given_.has("--show")) {
      write_stdout(print_model(model->graph, output_notes(*model)));
      return ExitCode::done;
    }
    std::vector<SupportList> lists;
    for (const std::string& path : known_lists()) {
      auto loaded = read_support_file(path);
      if (!loaded) return refuse(loaded.error());
      lists.push_back(std::move(loaded->list));
      lists.back().name = known_list_name(path);
    }
    const auto found = find_open_sizes(*model, nullptr);
    const OpenSizes* const sizes = found ? &*found : nullptr;
    std::optional<Graph> bound;
    if (found) bound = model->graph.with_shapes(shapes_at_first(*model, *found));
    const Graph* const at_first = bound ? &*bound : nullptr;
    write_stdout(given_.flag("--json") ? inspect_json(*model, lists, sizes, at_first)
                                       : inspect_text(*model, lists, sizes, at_first));
    return ExitCode::done;
  }

 private:
  const Given& given_;
};

}  // namespace

std::unique_ptr<Command> make_inspect_command(const Given& given) {
  return std::make_unique<InspectCommand>(given);
}

}  // namespace cleave
