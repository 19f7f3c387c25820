// cleave reduce: finds the smallest piece of a model on which a compiler still fails, and writes it
// to a folder.
#include "cli/commands/compiler_commands.h"
#include "cli/jobs/jobs.h"
#include "cli/jobs/lower_run.h"
#include "cli/options/backend_args.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/split/split.h"
#include "formats/base/files.h"
#include "formats/lists/tables.h"
#include "formats/models/models.h"
#include "formats/report/lowering/lowering_report.h"

namespace cleave {
namespace {

class ReduceCommand : public Command {
 public:
  explicit ReduceCommand(const Given& given)
      : given_(given),
        request_(given.split),
        backend_(given, CulpritSearch::minimal),
        nodes_(given.text("--nodes")),
        partition_(given.text("--partition")),
        output_(given.text("--output")) {
    backend_.search.most_findings = 1;
  }

  ExitCode run() override {
    if (backend_.names.size() != 1 || partition_.empty() != request_.lists.accepts_nothing()) {
      print_error(backend_.names.size() != 1 ? "reduce takes one backend"
                                             : "--partition and --support need each other");
      return ExitCode::usage;
    }
    auto measured = load_measured_model(request_.model, costs_of(request_));
    if (measured) fold(measured);
    if (!measured) return ExitCode::bad_input;
    const LoadedModel& model = measured->model;
    const auto backends = backend_.load(model.format());
    if (!backends || !is_for_compilers(model, request_.model.path)) return ExitCode::bad_input;
    auto nodes = find_nodes(*measured);
    if (!nodes) return nodes.error();
    backend_.use_default_reference(model, *nodes);
    const auto work = open_work_folder();
    if (!work) return ExitCode::cannot_write;
    if (const ExitCode code = open_folder(); code != ExitCode::done) return code;
    backend_.set_up(work->path());
    options_.pool = backend_.pool;
    options_.pool.jobs = 1;
    options_.search = backend_.search;
    const std::string name = partition_.empty() ? "all" : partition_;
    return reduce({model, *backends, *std::move(nodes), name});
  }

 private:
  // Reads the model again with what only computes known integers folded in, as lower does, unless the user
  // says what is folded or names nodes.
  void fold(std::optional<MeasuredModel>& measured) {
    const Graph& graph = measured->model.graph;
    if (given_.has("--fold") || !nodes_.empty() || measured->model.format() != ModelFormat::onnx ||
        !open_inputs(graph).empty()) {
      return;
    }
    ModelRequest request = request_.model;
    request.bindings.folding = Folding::write;
    auto folded = load_measured_model(request, costs_of(request_));
    if (!folded || folded->model.graph.node_count() == graph.node_count()) return;
    say_folded(graph.node_count() - folded->model.graph.node_count());
    request_.model = std::move(request);
    measured = std::move(folded);
  }

  Result<std::vector<NodeId>, ExitCode> find_nodes(const MeasuredModel& measured) const {
    if (!partition_.empty()) return nodes_of_partition(measured);
    const LoadedModel& model = measured.model;
    if (nodes_.empty()) {
      std::vector<NodeId> all;
      for (const NodeId node : model.graph.nodes()) all.push_back(node);
      return all;
    }
    auto nodes = read_node_list(nodes_, model.graph);
    if (!nodes) return refuse(nodes.error());
    if (!find_detour(model.graph, *nodes)) return *std::move(nodes);
    return refuse({diagnostic_of(
        nodes_, "a path leaves these nodes and comes back: they cannot be one piece")});
  }

  Result<std::vector<NodeId>, ExitCode> nodes_of_partition(const MeasuredModel& measured) const {
    const auto run =
        split_with_progress(request_, {.model = &measured.model, .costs = &measured.costs});
    if (!run) return run.error();
    const Partition& partition = run->split().partition;
    std::string names;
    for (const PartId part : partition.parts()) {
      if (partition.name(part) == partition_) {
        const auto nodes = partition.nodes(part);
        return std::vector<NodeId>(nodes.begin(), nodes.end());
      }
      names += (names.empty() ? "" : ", ") + std::string(partition.name(part));
    }
    print_error("there is no partition " + escaped_in_quotes(partition_), {"there are " + names});
    return ExitCode::bad_input;
  }

  ExitCode open_folder() {
    if (output_.empty()) return ExitCode::done;
    auto folder = OutputFolder::create(output_, given_.flag("--force"));
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    folder_.emplace(std::move(*folder));
    options_.folder = made_folder(*folder_);
    return ExitCode::done;
  }

  ExitCode reduce(const ReduceInput& input) {
    const auto outcome = [&] {
      ProgressBar bar(request_.model.path, InLog::lines);
      options_.pool.progress = bar.observer();
      return reduce_piece(input, options_);
    }();
    if (!outcome) return cleave::refuse(outcome.error());
    ReduceReport report{input, options_, *outcome};
    std::vector<std::string> written;
    if (folder_ && outcome->finding) {
      auto done = folder_->write_manifest("{\n \"format\": \"cleave.finding\"\n}\n");
      if (done) done = folder_->commit();
      if (!done) return refuse(done.error(), ExitCode::cannot_write);
      report.folder = folder_->final_path();
      written.push_back(output_);
    }
    write_stdout(given_.flag("--json") ? reduce_json(report) : reduce_text(report), written);
    if (outcome->part.attempt.verdict == LowerVerdict::driver) return ExitCode::external_failed;
    return outcome->finding ? ExitCode::done : ExitCode::check_failed;
  }

  const Given& given_;
  SplitRequest request_;
  BackendArgs backend_;
  ReduceOptions options_;
  std::string nodes_, partition_, output_;
  std::optional<OutputFolder> folder_;
};

}  // namespace

std::unique_ptr<Command> make_reduce_command(const Given& given) {
  return std::make_unique<ReduceCommand>(given);
}

}  // namespace cleave
