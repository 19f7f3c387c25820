// cleave stage: cuts a model into the stages of a pipeline.
#include <map>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/jobs/stage_run.h"
#include "cli/options/options.h"
#include "cli/options/stage_args.h"
#include "cli/terminal/terminal.h"
#include "core/stages/stages.h"
#include "formats/lists/stage_tables.h"
#include "formats/models/graph_json.h"
#include "formats/report/split/split_texts.h"
#include "formats/report/words/words.h"
#include "formats/run/jobs/jobs.h"
#include "formats/run/jobs/stage_jobs.h"

namespace cleave {
namespace {

class StageCommand : public Command {
 public:
  explicit StageCommand(const Given& given)
      : given_(given),
        model_(given.split.model),
        plan_(stage_plan_request(given)),
        sharing_(stage_boundary_options(given)),
        schedule_(schedule_request(given)),
        output_(given) {
    if (given.has("--stage")) only_ = given.count("--stage");
  }

  ExitCode run() override {
    if (names_workload(model_.path)) return stage_workload(given_, plan_, output_);
    return stage_model();
  }

 private:
  // The result of the plan.
  struct Pipeline {
    Partition partition;
    StageBoundaries boundaries;
    std::vector<std::string> devices;
    std::optional<BackwardPlan> backward = {};    // if a loss was asked for
    std::optional<ScheduleReport> schedule = {};  // if one was asked for

    // ONNX's root holds all weights, and passes each stage those that it reads.
    const Boundaries& root(const LoadedModel& model) const {
      return model.format() == ModelFormat::onnx ? boundaries.copying : boundaries.root;
    }
  };

  ExitCode stage_model() {
    auto folder = output_.create_folder();
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    if (only_ && *folder) {
      return wrong_usage({"--stage prints one stage and writes nothing: leave -o out"});
    }
    auto model = load_model(model_);
    if (!model) return ExitCode::bad_input;
    const Graph graph = model->graph.with_shapes(seen_shapes(*model));
    const auto plan = plan_stages(*model, graph, given_, plan_);
    if (!plan) return plan.error();
    auto pipeline = form_pipeline(*model, graph, *plan);
    if (!pipeline) return wrong_usage(pipeline.error());
    if (schedule_) {
      auto schedule =
          schedule_stages({graph, pipeline->partition, plan_.balance, plan->balance}, *schedule_);
      if (!schedule) return refuse(schedule.error());
      pipeline->schedule = *std::move(schedule);
    }
    if (only_) return print_stage(*model, graph, *pipeline);
    return report_and_write(*model, graph, *plan, *pipeline, *folder);
  }

  // The shapes that the profiles of --costs saw, else those at the first sizes of open dims. Faults of these files
  // are left to the plan, which reads them for their times.
  ShapeOverlay seen_shapes(LoadedModel& model) const {
    const auto& files = plan_.balance.costs_files;
    if (files.empty()) {
      const auto sizes = find_open_sizes(model, nullptr);
      if (!sizes) return {};
      model.notes.push_back("sizes are open: what is counted is at " + first_sizes_text(*sizes));
      return shapes_at_first(model, *sizes);
    }
    const auto costs = read_costs_and_shapes(files, model);
    return costs ? observed_shapes(*costs) : ShapeOverlay();
  }

  // A parameter may be named by its path in the module where no value has this name: it becomes the value's.
  static StageBoundaryOptions by_value_names(const LoadedModel& model,
                                             StageBoundaryOptions options) {
    if (options.sharing_of.empty()) return options;
    std::map<std::string, ValueId, std::less<>> by_path;
    for (const ValueId parameter : model.graph.parameters()) {
      by_path.insert_or_assign(std::string(model.graph.value(parameter).name), parameter);
    }
    for (const ValueId parameter : model.graph.parameters()) {
      by_path.emplace(parameter_path(model, parameter), parameter);
    }
    for (auto& [name, sharing] : options.sharing_of) {
      const auto found = by_path.find(name);
      if (found != by_path.end()) name = model.graph.value(found->second).name;
    }
    return options;
  }

  Result<Pipeline> form_pipeline(const LoadedModel& model, const Graph& graph,
                                 const StagePlan& plan) const {
    Partition partition = form_stages(graph, plan.stage_of, plan.names);
    auto boundaries = find_stage_boundaries(graph, partition, by_value_names(model, sharing_));
    if (!boundaries) return boundaries.error();
    auto devices = stage_devices(given_, partition.count());
    if (!devices) return devices.error();
    Pipeline pipeline{std::move(partition), *std::move(boundaries), *std::move(devices)};
    if (!given_.has("--loss-output")) return pipeline;
    const auto loss = find_loss(model, given_.text("--loss-output"));
    if (!loss) return loss.error();
    auto backward = plan_backward(graph, pipeline.partition, pipeline.root(model), *loss);
    if (!backward) return backward.error();
    pipeline.backward = *std::move(backward);
    return pipeline;
  }

  ExitCode report_and_write(const LoadedModel& model, const Graph& graph, const StagePlan& plan,
                            const Pipeline& pipeline, std::optional<OutputFolder>& folder) const {
    const Boundaries& root = pipeline.root(model);
    const BackwardPlan* const backward = pipeline.backward ? &*pipeline.backward : nullptr;
    StagesReport report{.model = model,
                        .graph = graph,
                        .part_word = "stage",
                        .partition = pipeline.partition,
                        .boundaries = pipeline.boundaries.stages,
                        .root = root,
                        .devices = pipeline.devices.empty() ? plan.devices : pipeline.devices,
                        .backward = backward,
                        .skips = {{pipeline.boundaries.skips, sharing_.relay}},
                        .balance = plan.balance,
                        .schedule = pipeline.schedule,
                        .notes = model.notes};
    if (model.format() == ModelFormat::pt2 && !report.devices.empty()) {
      report.notes.emplace_back(
          "the archives do not name the stages' devices: move a stage when it is loaded");
    }
    for (const auto* notes : {&plan.notes, &pipeline.boundaries.notes}) {
      report.notes.insert(report.notes.end(), notes->begin(), notes->end());
    }
    ModelPieces pieces{pipeline.partition, pipeline.boundaries.stages, root, pipeline.devices,
                       true};
    if (backward != nullptr) {
      pieces.backward = backward_nodes(model.graph, pipeline.partition, root, *backward);
    }
    return output_.write(report, pieces, folder);
  }

  static ExitCode wrong_usage(const Error& error) {
    print_error(error.message, error.notes);
    return ExitCode::usage;
  }

  ExitCode print_stage(const LoadedModel& model, const Graph& graph,
                       const Pipeline& pipeline) const {
    const Partition& partition = pipeline.partition;
    const std::size_t stage = *only_;
    if (stage >= partition.count()) {
      return wrong_usage({"there is no stage " + std::to_string(stage) + ": the pipeline has " +
                          std::to_string(partition.count()) + ", counted from 0"});
    }
    const auto part = id_at<PartId>(stage);
    const std::string device = pipeline.devices.empty() ? "" : pipeline.devices[stage];
    const Boundaries& boundaries = pipeline.boundaries.stages;
    write_stdout(output_.json ? write_part_json(model, partition, boundaries, part, device)
                              : print_part(graph, partition, boundaries, part, device));
    return ExitCode::done;
  }

  const Given& given_;
  const ModelRequest& model_;
  StagePlanRequest plan_;
  StageBoundaryOptions sharing_;
  std::optional<ScheduleRequest> schedule_;
  std::optional<std::size_t> only_;  // the stage to print
  StagesOutput output_;
};

}  // namespace

std::unique_ptr<Command> make_stage_command(const Given& given) {
  return std::make_unique<StageCommand>(given);
}

}  // namespace cleave
