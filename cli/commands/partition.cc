// cleave partition: splits by a node -> partition map made elsewhere.
#include <CLI/CLI.hpp>
#include <optional>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/jobs/stage_run.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/lists/stage_tables.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {
namespace {

class PartitionCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    add_model_options(app, model_);
    add_input_option(app, "--map", map_, "the partition of each node: JSON, CSV or TSV")
        ->required();
    app.add_option_function<std::string>(
           "--default", [this](const std::string& text) { names_.fallback = text; },
           "the partition of nodes that the map does not name")
        ->type_name("PARTITION");
    app.add_option("--affix", names_.affix,
                   "name partitions submod_<affix>_<id> instead of submod_<id>")
        ->type_name("TEXT");
    app.add_flag("--keep-original-order", order_.keep_original_order,
                 "call partitions in the order in which they first appear in the model");
    add_choice(app, "--parameters", boundary_.pass_parameters, {{"root", true}, {"copy", false}},
               "parameters that nodes read come from the root, or each partition has a copy");
    output_.add_to(app);
  }

  ExitCode run() override {
    auto folder = output_.create_folder();
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    const auto model = load_model(model_);
    if (!model) return ExitCode::bad_input;
    const auto assignment = read_partition_map(map_, model->graph, names_);
    if (!assignment) return refuse(assignment.error());
    const auto partition = order_parts(model->graph, *assignment, order_, model_ties(*model));
    if (!partition) return refuse({fault_of_map(partition.error())});
    const Boundaries boundaries = find_boundaries(model->graph, *partition, boundary_);
    StagesReport report{.model = *model,
                        .graph = model->graph,
                        .part_word = "partition",
                        .partition = *partition,
                        .boundaries = boundaries,
                        .root = boundaries,
                        .notes = model->notes};
    return output_.write(report, {*partition, boundaries, boundaries}, *folder);
  }

 private:
  Diagnostic fault_of_map(const Error& error) const {
    Diagnostic fault = diagnostic_of(map_, error.message);
    fault.notes = error.notes;
    return fault;
  }

  ModelRequest model_;
  std::string map_;
  PartitionMapOptions names_;
  AssignmentOptions order_;
  BoundaryOptions boundary_{.pass_parameters = true};
  StagesOutput output_;
};

}  // namespace

std::unique_ptr<Command> make_partition_command() { return std::make_unique<PartitionCommand>(); }

}  // namespace cleave
