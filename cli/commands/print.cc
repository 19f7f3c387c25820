// cleave print: the model, or its split under support lists, by a map or into stages, one line per
// node.
#include <CLI/CLI.hpp>

#include <filesystem>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/report/split/split_texts.h"
#include "formats/run/jobs/jobs.h"
#if CLEAVE_WITH_STAGES
#include "formats/lists/stage_tables.h"
#include "formats/run/jobs/stage_jobs.h"
#endif

namespace cleave {
namespace {

class PrintCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app_ = &app;
    add_split_options(app, request_, Lists::optional);
#if CLEAVE_WITH_STAGES
    auto* const map =
        add_input_option(app, "--map", map_path_,
                         "print the root and the partitions of a map: JSON, CSV, TSV, "
                         "or a folder that cleave wrote");
    app.add_option_function<std::string>(
           "--default", [this](const std::string& text) { map_.fallback = text; },
           "the partition of nodes that the map does not name")
        ->type_name("PARTITION")
        ->needs(map);
    app.add_option("--stages", stages_, "print the root and this many balanced stages")
        ->check(whole_number())
        ->check(CLI::Range(1U, 1'000'000U).description(""))
        ->type_name("N")
        ->excludes(map)
        ->excludes(app.get_option("--support"));
    map->excludes(app.get_option("--support"));
#endif
  }

  ExitCode run() override {
    if (request_.lists.accepts_nothing()) {
      if (const std::string option = option_of_split(); !option.empty()) {
        print_error(option + " is for a split, and there is no support list",
                    {"give -s LIST, or leave " + option + " out"});
        return ExitCode::usage;
      }
      const auto model = load_model(request_.model);
      if (!model) return ExitCode::bad_input;
#if CLEAVE_WITH_STAGES
      if (!map_path_.empty()) return print_map(*model);
      if (stages_ > 0) return print_stages(*model);
#endif
      write_stdout(print_model(model->graph));
      return ExitCode::done;
    }
    const auto run = split_with_progress(request_);
    if (!run) return run.error();
    write_stdout(print_split(run->graph(), run->split().partition, run->split().boundaries));
    return ExitCode::done;
  }

 private:
  // The first option that was given, and that only a split by lists reads; "" if none was.
  std::string option_of_split() const {
    std::vector<std::string> names = {"--deny", "--all-of", "--as"};
    for (const std::string_view name : request_settings()) names.push_back(option_name(name));
    for (const std::string& name : names) {
      const CLI::Option* const option = app_->get_option_no_throw(name);
      if (option != nullptr && option->count() > 0) return name;
    }
    return {};
  }

  CLI::App* app_ = nullptr;
#if CLEAVE_WITH_STAGES
  ExitCode print_map(const LoadedModel& model) const {
    const bool is_folder = std::filesystem::is_directory(map_path_);
    const std::string path = is_folder ? map_path_ + "/manifest.json" : map_path_;
    const auto assignment = read_partition_map(path, model.graph, map_);
    if (!assignment) return refuse(assignment.error());
    const auto partition = order_parts(model.graph, *assignment, {}, model_ties(model));
    if (!partition) return refuse(fault_of(FaultCause::input, partition.error()));
    return print_parts(model.graph, *partition);
  }

  ExitCode print_stages(const LoadedModel& model) const {
    const auto plan = plan_stages(model.graph, {.stages = stages_, .ties = model_ties(model)});
    if (!plan) return refuse(plan.error());
    for (const std::string& caveat : plan->balance->caveats) print_warning(caveat);
    return print_parts(model.graph, form_stages(model.graph, plan->stage_of));
  }

  static ExitCode print_parts(const Graph& graph, const Partition& partition) {
    const Boundaries boundaries = find_boundaries(graph, partition, {.pass_parameters = true});
    write_stdout(print_split(graph, partition, boundaries));
    return ExitCode::done;
  }

  std::string map_path_;
  PartitionMapOptions map_;
  std::uint32_t stages_ = 0;
#endif

  SplitRequest request_;
};

}  // namespace

std::unique_ptr<Command> make_print_command() { return std::make_unique<PrintCommand>(); }

}  // namespace cleave
