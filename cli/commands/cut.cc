// cleave cut: some nodes of a model as a model of their own.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "cli/commands/command.h"
#include "cli/jobs/split_run.h"
#include "cli/options/choice.h"
#include "cli/options/file_option.h"
#include "cli/options/request_args.h"
#include "cli/terminal/terminal.h"
#include "core/base/spelling.h"
#include "core/split/piece.h"
#include "formats/base/io/output_folder.h"
#include "formats/base/text/fault.h"
#include "formats/lists/tables/node_list.h"
#include "formats/models/graph_json/graph_json.h"
#include "formats/models/onnx/write/cutter.h"
#include "formats/models/pt2/write/writer.h"
#include "formats/models/tflite/write/writer.h"

namespace cleave {
namespace {

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::string file_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

class CutCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    add_model_options(app, model_);
    add_input_option(
        app, "--nodes", nodes_,
        "which nodes: one name per line, or a JSON list of names; - is standard input");
    app.add_option("--from", from_,
                   "instead of --nodes: begin at this tensor, which becomes an input; repeatable")
        ->allow_extra_args(false)
        ->type_name("TENSOR");
    app.add_option("--to", to_,
                   "instead of --nodes: end at this tensor, which becomes an output; repeatable. "
                   "Without it all that depends on --from")
        ->allow_extra_args(false)
        ->type_name("TENSOR");
    add_output_option(app, "-o,--output", output_, "file to write")->required();
    add_choice(app, "--weights", weights_,
               {{"inline", RootWeights::inlined}, {"reference", RootWeights::reference}},
               "whether weights are copied, or stay where they are and are referred to");
    add_force_option(app, force_);
  }

  ExitCode run() override {
    const bool is_by_tensor = !from_.empty() || !to_.empty();
    if (nodes_.empty() != is_by_tensor) {
      print_error(is_by_tensor ? "--nodes and tensors (--from, --to) both name the piece: give one"
                               : "which piece? give --nodes FILE, or tensors: --from T --to T",
                  {"try: cleave cut --help"});
      return ExitCode::usage;
    }
    auto folder = OutputFolder::beside(output_, force_);
    if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
    const auto model = load_model(model_);
    if (!model) return ExitCode::bad_input;
    const auto nodes = is_by_tensor ? between(*model) : read_node_list(nodes_, model->graph);
    if (!nodes) return refuse(nodes.error());
    if (const auto gap = find_detour(model->graph, *nodes))
      return refuse(Diagnostics{fault_of(*gap, *model)});
    const ExitCode code = write(*model, *nodes, *folder);
    if (code != ExitCode::done) return code;
    const auto done = folder->commit();
    if (!done) return refuse(done.error(), ExitCode::cannot_write);
    print_info(std::to_string(nodes->size()) + (nodes->size() == 1 ? " node" : " nodes") + " in " +
               output_);
    return ExitCode::done;
  }

 private:
  static Loaded<std::vector<ValueId>> values_of(const LoadedModel& model, std::string_view option,
                                                const std::vector<std::string>& names) {
    std::vector<ValueId> values;
    Diagnostics faults;
    for (const std::string& name : names) {
      NearestName nearest(name);
      ValueId found = kNone<ValueId>;
      for (std::size_t i = 0; i < model.graph.value_count() && found == kNone<ValueId>; ++i) {
        const auto value = id_at<ValueId>(i);
        if (model.graph.value(value).name == name) found = value;
        nearest.offer(model.graph.value(value).name);
      }
      if (found != kNone<ValueId>) {
        values.push_back(found);
        continue;
      }
      faults.push_back(diagnostic_of(
          model.source.path(),
          std::string(option) + " " + escaped_in_quotes(name) + " is no tensor of the model"));
      if (!nearest.best().empty()) {
        faults.back().notes.push_back("did you mean " + escaped_in_quotes(nearest.best()) + "?");
      }
    }
    if (!faults.empty()) return faults;
    return values;
  }

  // The nodes between the tensors.
  Loaded<std::vector<NodeId>> between(const LoadedModel& model) const {
    const auto from = values_of(model, "--from", from_);
    if (!from) return from.error();
    const auto to = values_of(model, "--to", to_);
    if (!to) return to.error();
    auto nodes = nodes_between(model.graph, *from, *to);
    if (auto vain = unread(model, *from, *to, nodes); !vain.empty()) return vain;
    if (!nodes.empty()) return nodes;
    return Diagnostics{diagnostic_of(model.source.path(), "no node is between these tensors")};
  }

  // A fault for each tensor of --from that none of these nodes reads: the piece would not begin there.
  Diagnostics unread(const LoadedModel& model, const std::vector<ValueId>& from,
                     const std::vector<ValueId>& to, const std::vector<NodeId>& nodes) const {
    if (to.empty() || nodes.empty()) return {};
    ValueSet read(model.graph.value_count());
    for (const NodeId node : nodes) {
      for (const Operand& operand : model.graph.operands(node)) read.insert(operand.value);
    }
    Diagnostics faults;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (read.contains(from[i])) continue;
      faults.push_back(diagnostic_of(model.source.path(), "nothing that --to needs reads --from " +
                                                              escaped_in_quotes(from_[i])));
      faults.back().notes.push_back(nodes_between(model.graph, to, std::span(&from[i], 1)).empty()
                                        ? "leave it out, or name a tensor before --to"
                                        : "it comes after --to: are the two the other way round?");
    }
    return faults;
  }

  Diagnostic fault_of(const Detour& gap, const LoadedModel& model) const {
    const auto name = [&model](NodeId node) {
      return escaped_in_quotes(model.graph.node(node).name);
    };
    Diagnostic fault = diagnostic_of(
        nodes_.empty()  ? model.source.path()
        : nodes_ == "-" ? "<stdin>"
                        : nodes_,
        "these nodes cannot be one piece: " + name(gap.to) + " reads " + name(gap.over) +
            ", which is not among them and depends on " + name(gap.from) + ", which is");
    fault.notes.push_back("add " + name(gap.over) + " and everything in between, or leave " +
                          name(gap.from) + " or " + name(gap.to) + " out");
    return fault;
  }

  ExitCode write(const LoadedModel& model, const std::vector<NodeId>& nodes,
                 const OutputFolder& folder) const {
    switch (model.format()) {
      case ModelFormat::onnx:
        return write_onnx(model, nodes, folder);
      case ModelFormat::tflite:
        return write_tflite(model, nodes, folder);
      case ModelFormat::pt2:
        if (!output_.ends_with(".json")) return write_pt2(model, nodes, folder);
        [[fallthrough]];
      default:
        return write_json(model, nodes, folder);
    }
  }

  ExitCode write_tflite(const LoadedModel& model, const std::vector<NodeId>& nodes,
                        const OutputFolder& folder) const {
    const std::string file = file_of(output_);
    const Partition piece = make_piece(model.graph, nodes, file.substr(0, file.rfind('.')));
    const auto written =
        write_tflite_piece(model, piece, TfliteLift::shared, {folder.path_of(file), output_});
    return written ? ExitCode::done : refuse(written.error());
  }

  ExitCode write_pt2(const LoadedModel& model, const std::vector<NodeId>& nodes,
                     const OutputFolder& folder) const {
    const std::string file = file_of(output_);
    const Partition piece = make_piece(model.graph, nodes, file.substr(0, file.rfind('.')));
    const auto written = write_pt2_piece(model, piece, {folder.path_of(file), output_});
    return written ? ExitCode::done : refuse(written.error());
  }

  ExitCode write_onnx(const LoadedModel& model, const std::vector<NodeId>& nodes,
                      const OutputFolder& folder) const {
    auto cutter = OnnxCutter::open(model, weights_, folder_of(output_));
    if (!cutter) return refuse(cutter.error());
    const auto written = cutter->write(nodes, {folder.path_of(file_of(output_)), output_});
    return written ? ExitCode::done : refuse(written.error());
  }

  ExitCode write_json(const LoadedModel& model, const std::vector<NodeId>& nodes,
                      const OutputFolder& folder) const {
    const std::string file = file_of(output_);
    const Partition piece = make_piece(model.graph, nodes, file.substr(0, file.rfind('.')));
    const std::string text =
        write_part_json(model, piece, find_piece_boundary(model.graph, piece), PartId{0});
    const auto written = folder.write(file, text);
    return written ? ExitCode::done : refuse(written.error(), ExitCode::cannot_write);
  }

  ModelRequest model_;
  std::string nodes_;
  std::vector<std::string> from_, to_;
  std::string output_;
  RootWeights weights_ = RootWeights::inlined;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_cut_command() { return std::make_unique<CutCommand>(); }

}  // namespace cleave
