// cleave convert: a model of the same format with sizes and known values filled in, and what that gains; or any
// readable model as native graph JSON.
#include <algorithm>
#include <filesystem>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/measures/measures.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/text.h"
#include "formats/models/graph_json.h"
#include "formats/models/models.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/write/writer.h"
#include "formats/report/words/report.h"

namespace cleave {
namespace {

class ConvertCommand : public Command {
 public:
  explicit ConvertCommand(const Given& given)
      : given_(given),
        request_(given.split),
        output_(given.file("--output")),
        opset_(static_cast<std::uint32_t>(given.count("--opset"))),
        force_(given.flag("--force")) {}

  ExitCode run() override {
    if (output_.empty() || output_.ends_with(".json")) return write_native();
    return write_filled();
  }

 private:
  struct Step {
    std::string name;
    std::size_t nodes = 0;
    Outcome outcome;
  };

  ExitCode write_native() const {
    const auto refused =
        refuse_idle(given_, {{"--opset"}}, "is for a model of the same format, not for native JSON",
                    "write FILE.onnx");
    if (refused) return *refused;
    if (const auto unwritable = refuse_unwritable(output_, force_)) return *unwritable;
    const auto model = load_model(request_.model);
    if (!model) return ExitCode::bad_input;
    return write_text(output_, write_graph_json(*model), force_);
  }

  ExitCode write_filled() {
    if (has_no_lists()) {
      const auto refused = refuse_idle(given_, {}, "is for a split, and there is no support list",
                                       "give -s LIST, which says what this gains");
      if (refused) return *refused;
    }
    auto folder = OutputFolder::beside(output_, force_);
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    const auto lists = load_lists(request_.lists);
    if (!lists) return ExitCode::bad_input;
    const ShapeBindings asked = request_.model.bindings;
    ShapeBindings step;
    step.inference = asked.inference;
    const bool has_sizes = !asked.dims.empty() || !asked.inputs.empty() || !asked.values.empty();
    if (const ExitCode code = try_step("as it is", step, *lists); code != ExitCode::done) {
      return code;
    }
    inlines_ = !model_->onnx()->functions.empty();
    if (inlines_) {
      const ExitCode code = try_step("functions written out", step, *lists);
      if (code != ExitCode::done) return code;
    }
    if (has_sizes) {
      step = asked;
      step.folding = Folding::report;
      const ExitCode code = try_step("sizes and values given", step, *lists);
      if (code != ExitCode::done) return code;
    }
    step.folding = Folding::write;
    if (const ExitCode code = try_step("--fold write", step, *lists); code != ExitCode::done) {
      return code;
    }
    print_diagnostics(model_->warnings);
    for (const std::string& note : model_->notes) print_info(note);
    if (const ExitCode code = write(*model_, *folder); code != ExitCode::done) return code;
    if (const ExitCode code = convert(*folder, *lists); code != ExitCode::done) return code;
    if (const auto done = folder->commit(); !done) {
      return refuse(done.error(), ExitCode::cannot_write);
    }
    print_info("wrote " + output_);
    if (!has_no_lists()) report();
    return ExitCode::done;
  }

  bool has_no_lists() const { return request_.lists.accepts_nothing(); }

  // Converts the file that was written, where another opset is asked for, and splits what it has become.
  ExitCode convert(const OutputFolder& folder, const ListsRead& lists) {
    const auto now = imported_opset(model_->graph, "");
    if (opset_ == 0 || !now || *now == opset_) return ExitCode::done;
    const std::string file = std::filesystem::path(output_).filename().string();
    if (const auto done = convert_opset(folder, file, opset_); !done)
      return cleave::refuse(done.error());
    request_.model.path = folder.path_of(file);
    inlines_ = false;
    ShapeBindings bindings;
    bindings.inference = request_.model.bindings.inference;
    bindings.folding = Folding::write;
    return try_step("opset " + std::to_string(opset_), bindings, lists);
  }

  // Reads the model with the bindings, and splits it if there are lists.
  ExitCode try_step(std::string name, const ShapeBindings& bindings, const ListsRead& lists) {
    SplitRequest request = request_;
    request.model.bindings = bindings;
    auto read = inlines_ ? read_inlined(*model_, bindings)
                         : read_model(request.model.path, bindings, request.model.limits);
    if (!read) return refuse(read.error());
    model_ = *std::move(read);
    if (model_->format() != ModelFormat::onnx) {
      Diagnostic fault = diagnostic_of(
          model_->source.path(),
          "is no ONNX model: only in ONNX are there sizes and known values to fill in");
      fault.notes.emplace_back("-o FILE.json writes the model as native JSON");
      return refuse({fault});
    }
    if (has_no_lists()) return ExitCode::done;
    const auto job = run_split(request, {}, {.model = &*model_, .lists = &lists});
    if (!job) return cleave::refuse(job.error());
    const Report report = job->report();
    steps_.push_back(
        {std::move(name), job->graph().node_count(), outcome_of(report.split, report.preview)});
    return ExitCode::done;
  }

  ExitCode write(const LoadedModel& model, const OutputFolder& folder) const {
    std::vector<NodeId> nodes;
    for (const NodeId node : model.graph.nodes()) nodes.push_back(node);
    auto cutter = OnnxCutter::open(model);
    if (!cutter) return refuse(cutter.error());
    const std::string file = std::filesystem::path(output_).filename().string();
    const auto piece = cutter->write(nodes, {folder.path_of(file), output_});
    if (!piece) return refuse(piece.error());
    const auto outputs = model.graph.outputs();
    const bool is_whole = std::ranges::all_of(
        outputs, [&](ValueId output) { return contains(piece->outputs, output); });
    for (const ValueId input : model.graph.inputs()) {
      if (contains(piece->inputs, input)) {
        continue;
      }
      print_warning("no node reads the input " + escaped_in_quotes(model.graph.value(input).name) +
                    " any more: it is left out");
    }
    if (is_whole) return ExitCode::done;
    return refuse(Diagnostics{diagnostic_of(
        model.source.path(),
        "an output of the model is one of its inputs, or known before it runs: it would be lost")});
  }

  void report() const {
    TextTable table(
        {output_, "nodes", "on accelerator", "partitions", "link bytes", "work"},
        {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
    // The work of a model whose sizes are open is that of few nodes: shares are of all that is known in
    // the end.
    double total = 0;
    for (const Step& step : steps_) total = std::max(total, step.outcome.flops.total);
    for (const Step& step : steps_) {
      const Outcome& outcome = step.outcome;
      const bool is_open = outcome.unknown_bytes > 0;
      table.add_row({"  " + step.name, count_text(step.nodes), share_text(outcome.nodes),
                     count_text(outcome.acc_subgraphs),
                     is_open ? "?" : bytes_text(outcome.link_bytes),
                     total > 0 ? share_text({outcome.flops.acc, total}) : "?"});
    }
    std::string text = table.text();
    if (steps_.back().outcome.unknown_bytes > 0) {
      text += "\nsizes are still open: --dim NAME=SIZE states them (cleave " + request_.model.path +
              " names them)\n";
    }
    write_stdout(text, {output_});
  }

  const Given& given_;
  SplitRequest request_;
  std::string output_;
  std::uint32_t opset_;  // 0: the model's
  bool force_;
  std::optional<LoadedModel> model_;  // of the last step
  bool inlines_ = false;              // it has functions, whose calls are written out
  std::vector<Step> steps_;
};

}  // namespace

std::unique_ptr<Command> make_convert_command(const Given& given) {
  return std::make_unique<ConvertCommand>(given);
}

}  // namespace cleave
