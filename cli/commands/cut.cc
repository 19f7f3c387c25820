// cleave cut: some nodes of a model as a model of their own.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/lists/tables.h"
#include "formats/models/graph_json.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/write/writer.h"
#include "formats/pt2/pt2.h"
#include "formats/tflite/tflite.h"

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
  explicit CutCommand(const Given& given)
      : model_(given.split.model),
        nodes_(given.text("--nodes")),
        from_(given.texts("--from")),
        to_(given.texts("--to")),
        output_(given.text("--output")),
        weights_(given.text("--weights") == "inline" ? RootWeights::inlined
                                                     : RootWeights::reference),
        force_(given.flag("--force")) {}

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
    const auto piece = is_by_tensor ? between(*model) : listed(*model);
    if (!piece) return refuse(piece.error());
    if (auto missing = fault_of_context(*model, piece->nodes)) return refuse({*missing});
    const ExitCode code = write(*model, *piece, *folder);
    if (code != ExitCode::done) return code;
    const auto done = folder->commit();
    if (!done) return refuse(done.error(), ExitCode::cannot_write);
    const std::size_t count = piece->nodes.size();
    print_info(std::to_string(count) + (count == 1 ? " node" : " nodes") + " in " + output_);
    return ExitCode::done;
  }

 private:
  struct Piece {
    std::vector<NodeId> nodes;
    std::optional<PieceEnds> ends = {};  // of a piece by tensors
    const PieceEnds* asked() const { return ends ? &*ends : nullptr; }
  };

  static std::string name_of(const LoadedModel& model, NodeId node) {
    return escaped_in_quotes(model.graph.node(node).name);
  }
  static std::string name_of(const LoadedModel& model, ValueId value) {
    return escaped_in_quotes(model.graph.value(value).name);
  }
  static Diagnostic fault_in(const LoadedModel& model, std::string message, std::string way_out) {
    Diagnostic fault = diagnostic_of(model.source.path(), std::move(message));
    fault.notes.push_back(std::move(way_out));
    return fault;
  }

  Loaded<Piece> listed(const LoadedModel& model) const {
    auto nodes = read_node_list(nodes_, model.graph);
    if (!nodes) return std::move(nodes).error();
    if (const auto gap = find_detour(model.graph, *nodes)) {
      return Diagnostics{fault_of(*gap, model)};
    }
    return Piece{.nodes = *std::move(nodes)};
  }

  static Loaded<std::vector<ValueId>> values_of(const LoadedModel& model, std::string_view option,
                                                const std::vector<std::string>& names) {
    std::vector<ValueId> values;
    Diagnostics faults;
    for (const std::string& name : names) {
      NearestName nearest(name);
      ValueId found = kNone<ValueId>;
      for (std::size_t i = 0; i < model.graph.value_count() && found == kNone<ValueId>; ++i) {
        const auto value = id_at<ValueId>(i);
        if (model.graph.value(value).kind == ValueKind::body_local) continue;
        if (model.graph.value(value).name == name) found = value;
        nearest.offer(model.graph.value(value).name);
      }
      const std::string given = std::string(option) + " " + escaped_in_quotes(name);
      if (found == kNone<ValueId>) {
        faults.push_back(diagnostic_of(model.source.path(), given + " is no tensor of the model"));
        if (!nearest.best().empty()) {
          faults.back().notes.push_back("did you mean " + escaped_in_quotes(nearest.best()) + "?");
        }
      } else if (contains(values, found)) {
        faults.push_back(fault_in(model, given + " is given twice", "give it once"));
      } else {
        values.push_back(found);
      }
    }
    if (!faults.empty()) return faults;
    return values;
  }

  // The nodes between the tensors. Constants are in whatever reads them: none begins a piece.
  Loaded<Piece> between(const LoadedModel& model) const {
    const Graph& graph = model.graph;
    auto from = values_of(model, "--from", from_);
    if (!from) return std::move(from).error();
    auto to = values_of(model, "--to", to_);
    if (!to) return std::move(to).error();
    PieceEnds ends{.from = {}, .to = *std::move(to)};
    for (const ValueId value : *from) {
      if (graph.value(value).kind != ValueKind::parameter) {
        ends.from.push_back(value);
      } else {
        print_info("--from " + name_of(model, value) +
                   " is a constant: it is no input, and the piece has its own");
      }
    }
    if (to_.empty()) ends.to = outputs_after(graph, ends.from);
    if (ends.to.empty()) {
      return Diagnostics{fault_in(model, "no output of the model is computed from --from",
                                  "name tensors to end at: --to TENSOR")};
    }
    Diagnostics faults = unmade(model, ends);
    if (!faults.empty()) return faults;
    Piece piece{.nodes = nodes_between(graph, ends.from, ends.to), .ends = std::move(ends)};
    faults = misplaced(model, piece);
    if (!faults.empty()) return faults;
    return piece;
  }

  // A fault for each tensor of --to that no node of a piece can make.
  static Diagnostics unmade(const LoadedModel& model, const PieceEnds& ends) {
    Diagnostics faults;
    for (const ValueId value : ends.to) {
      const bool is_from = contains(ends.from, value);
      const ValueKind kind = model.graph.value(value).kind;
      if (!is_from && kind == ValueKind::node_output) continue;
      faults.push_back(fault_in(model,
                                "--to " + name_of(model, value) + " is " +
                                    (is_from                        ? "also --from"
                                     : kind == ValueKind::parameter ? "a constant"
                                                                    : "an input of the model") +
                                    ": no node of the piece would make it",
                                "leave it out, or name a tensor after it"));
    }
    return faults;
  }

  // A fault for each tensor of --from at which the piece cannot begin. One that nothing reads is an
  // input nevertheless, since it is asked for.
  static Diagnostics misplaced(const LoadedModel& model, const Piece& piece) {
    const Graph& graph = model.graph;
    const NodeSet nodes = set_of(graph, piece.nodes);
    Diagnostics faults;
    for (const ValueId value : piece.ends->from) {
      const auto users = graph.users(value);
      const NodeId maker = graph.value(value).producer;
      if (maker != kNone<NodeId> && nodes.contains(maker)) {
        faults.push_back(fault_in(model,
                                  "--from " + name_of(model, value) + " is made by node " +
                                      name_of(model, maker) +
                                      ", which the piece needs for its other outputs",
                                  "name these in --from, too, or an earlier tensor"));
      } else if (std::ranges::any_of(users, [&](NodeId user) { return nodes.contains(user); })) {
        continue;
      } else if (depends_on(graph, value, piece.ends->to)) {
        faults.push_back(fault_in(model,
                                  "nothing that --to needs reads --from " + name_of(model, value),
                                  "it comes after --to: are the two the other way round?"));
      } else {
        print_warning("nothing that --to needs reads --from " + name_of(model, value) +
                      ": it is an input that no node reads");
      }
    }
    return faults;
  }

  static NodeSet set_of(const Graph& graph, const std::vector<NodeId>& nodes) {
    NodeSet set(graph.node_count());
    for (const NodeId node : nodes) set.insert(node);
    return set;
  }

  static bool depends_on(const Graph& graph, ValueId value, const std::vector<ValueId>& others) {
    const NodeSet before = set_of(graph, nodes_between(graph, {}, std::span(&value, 1)));
    return std::ranges::any_of(others, [&](ValueId other) {
      const auto users = graph.users(other);
      return std::ranges::any_of(users, [&](NodeId user) { return before.contains(user); });
    });
  }

  static std::optional<Diagnostic> fault_of_context(const LoadedModel& model,
                                                    const std::vector<NodeId>& nodes) {
    if (model.onnx() == nullptr) return std::nullopt;
    const auto missing = missing_context(*model.onnx(), model.graph, nodes);
    if (!missing) return std::nullopt;
    return fault_in(model,
                    "node " + name_of(model, missing->node) + " runs in the compiled context of " +
                        name_of(model, missing->context) + ", which is not in the piece",
                    "cut so that both are in it, or neither is");
  }

  Diagnostic fault_of(const Detour& gap, const LoadedModel& model) const {
    const auto name = [&model](NodeId node) { return name_of(model, node); };
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

  ExitCode write(const LoadedModel& model, const Piece& piece, const OutputFolder& folder) const {
    const std::string file = file_of(output_);
    const OutputPath output{folder.path_of(file), output_};
    if (model.format() == ModelFormat::onnx) return write_onnx(model, piece, output);
    const Partition part = make_piece(model.graph, piece.nodes, file.substr(0, file.rfind('.')));
    if (model.format() == ModelFormat::tflite) {
      const auto written =
          write_tflite_piece(model, part, TfliteLift::shared, output, piece.asked());
      return written ? ExitCode::done : refuse(written.error());
    }
    if (model.format() == ModelFormat::pt2 && !output_.ends_with(".json")) {
      const auto written = write_pt2_piece(model, part, output, piece.asked());
      return written ? ExitCode::done : refuse(written.error());
    }
    const Boundaries boundary = find_piece_boundary(model.graph, part, piece.asked());
    const auto written = folder.write(file, write_part_json(model, part, boundary, PartId{0}));
    return written ? ExitCode::done : refuse(written.error(), ExitCode::cannot_write);
  }

  ExitCode write_onnx(const LoadedModel& model, const Piece& piece,
                      const OutputPath& output) const {
    auto cutter = OnnxCutter::open(model, weights_, folder_of(output_));
    if (!cutter) return refuse(cutter.error());
    const auto written = cutter->write(piece.nodes, output, piece.asked());
    if (!written) return refuse(written.error());
    Diagnostics faults;
    for (const ValueId input : written->untyped) {
      faults.push_back(
          fault_in(model,
                   "the piece would read " + name_of(model, input) +
                       ", whose type is not known: ONNX Runtime would not load it",
                   "begin at another tensor, or state its type in the model's value_info"));
    }
    return faults.empty() ? ExitCode::done : refuse(faults);
  }

  const ModelRequest& model_;
  std::string nodes_;
  std::vector<std::string> from_, to_;
  std::string output_;
  RootWeights weights_;
  bool force_;
};

}  // namespace

std::unique_ptr<Command> make_cut_command(const Given& given) {
  return std::make_unique<CutCommand>(given);
}

}  // namespace cleave
