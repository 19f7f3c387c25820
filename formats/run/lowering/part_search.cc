// Searches a part for what a compiler refuses.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lowering/lowering.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/onnx/index/index.h"
#include "formats/pt2/pt2.h"
#include "formats/run/lowering/lowering_job.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- part artefacts ----

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKeepsNothing = "this backend keeps nothing";

// A name of one component that begins with the stem: a worker does not choose other places.
bool is_own_name(const std::string& name, const std::string& stem) {
  return fs::path(name).filename() == name && name.size() > stem.size() && name.starts_with(stem);
}

// Renames, or copies to another file system.
std::error_code move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return {};
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  return error;
}

class Mover {
 public:
  explicit Mover(const ArtefactPaths& place) : place_(place) {}

  // Error: the file cannot be moved. A file that is not the worker's to name ends in `why`.
  Status<Error> move(const KeptFiles::File& file, PartArtefacts& artefacts) const {
    const fs::path from = fs::path(place_.work) / file.name;
    const auto source = is_own_name(file.name, place_.stem) ? SourceFile::open(from.string())
                                                            : Loaded<SourceFile>(Diagnostics{});
    if (!source || source->bytes().empty()) {
      artefacts.why = "the worker says that it wrote " + escaped_in_quotes(file.name) +
                      ", and there is no such file";
      return Done{};
    }
    artefacts.files.push_back(
        {.file = fs::path(place_.folder).filename().string() + "/" + file.name,
         .role = file.role,
         .bytes = source->bytes().size(),
         .sha256 = sha256_hex(source->bytes())});
    const fs::path to = fs::path(place_.folder) / file.name;
    if (const std::error_code error = move_file(from, to)) {
      return Error{to.string() + ": cannot be written: " + error.message()};
    }
    return Done{};
  }

 private:
  const ArtefactPaths& place_;
};

}  // namespace

bool may_keep(const Backend& backend) {
  return backend.serve && backend.has(LowerStage::compile) &&
         backend.command(LowerStage::compile) == nullptr;
}

Result<PartArtefacts, Error> keep_artefacts(PieceLowerer& lowerer, const Piece& piece,
                                            const ArtefactPaths& place) {
  std::error_code error;
  for (const std::string& folder : {place.work, place.folder}) {
    fs::create_directories(folder, error);
    if (error) return Error{folder + ": cannot be made: " + error.message()};
  }
  auto attempt = lowerer.keep(piece, (fs::path(place.work) / place.stem).string(), place.same);
  if (!attempt) return attempt.error();
  if (attempt->verdict == LowerVerdict::no_room) {
    return Error{"there is no space left for the backend's output"};
  }
  PartArtefacts artefacts;
  if (attempt->verdict != LowerVerdict::lowered) {
    artefacts.why = "it was not compiled again: " + verdict_words(*attempt) + ": " +
                    first_line(attempt->message, 200);
  } else if (attempt->kept.files.empty()) {
    artefacts.why = attempt->kept.note.empty() ? kKeepsNothing : attempt->kept.note;
  }
  const Mover mover(place);
  for (const KeptFiles::File& file : attempt->kept.files) {
    if (!artefacts.why.empty()) break;
    if (auto moved = mover.move(file, artefacts); !moved) return moved.error();
  }
  if (!artefacts.why.empty()) artefacts.files.clear();
  artefacts.inputs = std::move(attempt->kept.inputs);
  artefacts.outputs = std::move(attempt->kept.outputs);
  artefacts.target = std::move(attempt->kept.target);
  fs::remove_all(place.work, error);
  return artefacts;
}

// ---- piece change ----

std::string type_with_shape(std::string_view type, const std::vector<std::int64_t>& dims) {
  std::int64_t element = 0;
  protozero::pbf_reader reader(type.data(), type.size());
  if (!reader.next(type_field::kTensor, protozero::pbf_wire_type::length_delimited)) {
    return std::string(type);  // not a tensor
  }
  protozero::pbf_reader tensor = reader.get_message();
  if (tensor.next(tensor_type_field::kElemType, protozero::pbf_wire_type::varint)) {
    element = tensor.get_int32();
  }
  std::string shape, made, out;
  for (const std::int64_t dim : dims) {
    std::string one;
    put_number(one, dim_field::kValue, dim);
    put_bytes(shape, shape_field::kDim, one);
  }
  put_number(made, tensor_type_field::kElemType, element);
  put_bytes(made, tensor_type_field::kShape, shape);
  put_bytes(out, type_field::kTensor, made);
  return out;
}

namespace {

class ChangedPiece {
 public:
  ChangedPiece(std::string_view model, const PieceChange& change)
      : model_(model), change_(change) {}

  BytePieces build() const {
    BytePieces out;
    for (const MessageField& field : message_fields(model_)) {
      if (field.number == model_field::kGraph) {
        add_message(out, field.number, graph_of(field.payload));
      } else {
        copy(out, field.bytes);
      }
    }
    return out;
  }

 private:
  void copy(BytePieces& out, std::string_view bytes) const {
    out.add_range(0, static_cast<std::uint64_t>(bytes.data() - model_.data()), bytes.size());
  }

  static void add_message(BytePieces& out, std::uint32_t number, const BytePieces& message) {
    std::string header;
    put_header(header, number, message.size());
    out.add(header);
    out.append(message);
  }

  static void add_value(BytePieces& out, std::uint32_t number, std::string_view name,
                        std::string_view type) {
    std::string made;
    put_bytes(made, number, encode_value_info(name, type));
    out.add(made);
  }

  BytePieces graph_of(std::string_view graph) const {
    const auto& types = change_.inner.types;
    const bool drops_types = !change_.shapes.empty() || !change_.frozen.empty() || !types.empty();
    BytePieces out;
    std::set<std::string, std::less<>> stated;
    add_copies(out);
    for (const MessageField& field : message_fields(graph)) {
      if (field.number == graph_field::kValueInfo && drops_types) continue;
      if (field.number == graph_field::kNode) {
        add_node(out, field);
      } else if (field.number == graph_field::kInput || field.number == graph_field::kOutput) {
        stated.emplace(field_of(field.payload, value_info_field::kName));
        add_changed_value(out, field);
      } else {
        copy(out, field.bytes);
      }
    }
    std::string made;
    for (const auto& [name, tensor] : change_.frozen) {
      Tensor named = tensor;
      named.name = name;
      put_bytes(made, graph_field::kInitializer, encode_tensor(named));
    }
    out.add(made);
    for (const auto& [name, type] : types) {
      if (!stated.contains(name)) add_value(out, graph_field::kValueInfo, name, type);
    }
    return out;
  }

  // Before all other nodes: they may read these.
  void add_copies(BytePieces& out) const {
    std::string made;
    for (const auto& [copy, original] : change_.copies) {
      std::string node;
      put_bytes(node, node_field::kInput, original);
      put_bytes(node, node_field::kOutput, copy);
      put_bytes(node, node_field::kName, "copy_of_input/" + copy);
      put_bytes(node, node_field::kOpType, "Identity");
      put_bytes(made, graph_field::kNode, node);
    }
    out.add(made);
  }

  bool is_left_out(const std::string& input) const {
    return change_.frozen.contains(input) ||
           std::ranges::any_of(change_.copies,
                               [&](const auto& copy) { return copy.first == input; });
  }

  // An input or an output, with the shape that it is pinned to; an input that is none any more is left out.
  void add_changed_value(BytePieces& out, const MessageField& info) const {
    const std::string name(field_of(info.payload, value_info_field::kName));
    const bool is_input = info.number == graph_field::kInput;
    if (is_input && is_left_out(name)) return;
    const auto inner = change_.inner.types.find(name);
    if (!is_input && inner != change_.inner.types.end()) {
      return add_value(out, info.number, name, inner->second);
    }
    const auto pinned = change_.shapes.find(name);
    if (pinned == change_.shapes.end()) return copy(out, info.bytes);
    const std::string_view type = field_of(info.payload, value_info_field::kType);
    add_value(out, info.number, name, type_with_shape(type, pinned->second));
  }

  void add_node(BytePieces& out, const MessageField& node) const {
    const auto& bodies = change_.inner.bodies;
    const auto body = bodies.find(std::string(field_of(node.payload, node_field::kOutput)));
    if (body == bodies.end()) return copy(out, node.bytes);
    BytePieces made;
    for (const MessageField& field : message_fields(node.payload)) {
      if (field.number != node_field::kAttribute ||
          field_of(field.payload, attribute_field::kName) != "body") {
        copy(made, field.bytes);
        continue;
      }
      BytePieces attribute;
      for (const MessageField& inner : message_fields(field.payload)) {
        if (inner.number == attribute_field::kGraph) {
          add_message(attribute, inner.number, body_graph(inner.payload, body->second));
        } else {
          copy(attribute, inner.bytes);
        }
      }
      add_message(made, field.number, attribute);
    }
    add_message(out, node.number, made);
  }

  BytePieces body_graph(std::string_view graph, const InnerShapes::Body& body) const {
    BytePieces out;
    std::size_t inputs = 0, outputs = 0;
    for (const MessageField& field : message_fields(graph)) {
      if (field.number == graph_field::kValueInfo) continue;
      if (field.number == graph_field::kInput) {
        add_stated(out, field, body.inputs, inputs++);
      } else if (field.number == graph_field::kOutput) {
        add_stated(out, field, body.outputs, outputs++);
      } else {
        copy(out, field.bytes);
      }
    }
    return out;
  }

  void add_stated(BytePieces& out, const MessageField& info,
                  const std::vector<std::optional<Sizes>>& shapes, std::size_t place) const {
    const std::string_view type = field_of(info.payload, value_info_field::kType);
    if (place >= shapes.size() || !shapes[place] || type.empty()) return copy(out, info.bytes);
    add_value(out, info.number, field_of(info.payload, value_info_field::kName),
              type_with_shape(type, *shapes[place]));
  }

  std::string_view model_;
  const PieceChange& change_;
};

}  // namespace

Status<Fault> write_changed_piece(const std::string& from, const std::string& to,
                                  const PieceChange& change) {
  const auto source = SourceFile::open(from);
  if (!source) return input_fault(source.error());
  try {
    const BytePieces pieces = ChangedPiece(source->bytes(), change).build();
    const std::vector<ByteSource> sources = {{source->fd(), from, source->stamp()}};
    return write_pieces(pieces, sources, {to, to});
  } catch (const protozero::exception& error) {
    return input_fault({diagnostic_of(from, error.what())});
  }
}

// ---- piece cutter ----

bool PieceCutter::can_cut(ModelFormat format) {
  return format == ModelFormat::onnx || format == ModelFormat::tflite || format == ModelFormat::pt2;
}

Result<PieceCutter, Fault> PieceCutter::open(const LoadedModel& model) {
  PieceCutter cutter(model);
  if (const Pt2Model* const pt2 = model.pt2()) {
    cutter.values_.resize(pt2->program.values.size(), kNone<ValueId>);
    for (std::size_t i = 0; i < model.graph.value_count(); ++i) {
      const auto value = static_cast<ValueId>(i);
      const std::uint32_t number = pt2->value_numbers[value];
      if (number != kNoPt2) cutter.values_[number] = value;
    }
  }
  if (model.format() != ModelFormat::onnx) return cutter;
  auto onnx = OnnxCutter::open(model);
  if (!onnx) return std::move(onnx).error();
  cutter.onnx_.emplace(*std::move(onnx));
  return cutter;
}

Result<CutPiece, Fault> PieceCutter::write(std::span<const NodeId> nodes,
                                           const OutputPath& output) {
  if (onnx_) return onnx_->write(nodes, output);
  // All pieces have one name: equal pieces are equal files.
  const Partition piece = make_piece(model_->graph, nodes, "piece");
  if (model_->format() == ModelFormat::pt2) return write_pt2(piece, output);
  // Compilers for devices leave variables to the CPU.
  const auto written = write_tflite_piece(*model_, piece, TfliteLift::all, output);
  if (!written) return written.error();
  const Boundaries boundary = find_piece_boundary(model_->graph, piece);
  const auto inputs = boundary.inputs[PartId{0}], outputs = boundary.outputs[PartId{0}];
  return CutPiece{{inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}};
}

Result<CutPiece, Fault> PieceCutter::write_pt2(const Partition& piece,
                                               const OutputPath& output) const {
  const auto written = write_pt2_piece(*model_, piece, output);
  if (!written) return written.error();
  CutPiece cut;
  for (const std::uint32_t number : written->inputs) cut.inputs.push_back(values_[number]);
  for (const std::uint32_t number : written->outputs) cut.outputs.push_back(values_[number]);
  return cut;
}

std::string_view piece_ending(const LoadedModel& model) {
  if (model.format() == ModelFormat::pt2) return ".pt2";
  return model.format() == ModelFormat::tflite ? ".tflite" : ".onnx";
}

// ---- inner shapes ----

namespace {

constexpr auto kShapedByElements = std::to_array<std::string_view>(
    {"Compress", "NonMaxSuppression", "NonZero", "StringSplit", "Unique"});
constexpr std::size_t kBeforeCarried = 2;      // inputs of a Loop and of its body: trips, condition
constexpr std::int64_t kScanWithoutBatch = 9;  // the first opset of this Scan

std::vector<std::int64_t> integers_of(const Graph& graph, NodeId node, std::string_view name) {
  for (const Attribute& attribute : graph.attributes(node)) {
    if (graph.text(attribute.name) != name) continue;
    const auto integers = graph.attribute_pools().integers_of(attribute);
    return {integers.begin(), integers.end()};
  }
  return {};
}

std::optional<Sizes> without_axis(std::optional<Sizes> shape, std::int64_t axis) {
  if (!shape) return shape;
  const auto rank = static_cast<std::int64_t>(shape->size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  shape->erase(shape->begin() + axis);
  return shape;
}

// What a body takes and gives, from what its node takes and gives.
class BodyShapes {
 public:
  BodyShapes(const Graph& graph, NodeId node, const ReferenceRun& run)
      : graph_(graph), node_(node) {
    for (const Operand& operand : graph.operands(node)) {
      if (!operand.slot.is_positional()) continue;
      put(takes_, operand.slot.position(), shape_of(run, operand.value));
    }
    for (const ValueId output : graph.outputs(node)) {
      put(gives_, graph.value(output).slot, shape_of(run, output));
    }
  }

  // Nothing known: both lists without a shape.
  InnerShapes::Body loop() const {
    InnerShapes::Body body;
    const std::size_t carried = takes_.size() < kBeforeCarried ? 0 : takes_.size() - kBeforeCarried;
    for (std::size_t i = 0; i < carried; ++i) {
      const auto kept = kept_shape(at(takes_, i + kBeforeCarried), at(gives_, i));
      put(body.inputs, i + kBeforeCarried, kept);
      put(body.outputs, i + 1, kept);
    }
    for (std::size_t i = carried; i < gives_.size(); ++i) {
      put(body.outputs, i + 1, without_axis(gives_[i], 0));
    }
    return body;
  }

  InnerShapes::Body scan() const {
    InnerShapes::Body body;
    const auto counts = integers_of(graph_, node_, "num_scan_inputs");
    if (counts.size() != 1 || counts[0] < 0) return body;
    const auto scanned = static_cast<std::size_t>(counts[0]);
    if (scanned > takes_.size()) return body;
    const std::size_t states = takes_.size() - scanned;
    const auto in_axes = integers_of(graph_, node_, "scan_input_axes");
    const auto out_axes = integers_of(graph_, node_, "scan_output_axes");
    for (std::size_t i = 0; i < states; ++i) {
      const auto kept = kept_shape(takes_[i], at(gives_, i));
      put(body.inputs, i, kept);
      put(body.outputs, i, kept);
    }
    const auto axis_of = [](const std::vector<std::int64_t>& axes, std::size_t i) {
      return i < axes.size() ? axes[i] : 0;
    };
    for (std::size_t i = states; i < takes_.size(); ++i) {
      put(body.inputs, i, without_axis(takes_[i], axis_of(in_axes, i - states)));
    }
    for (std::size_t i = states; i < gives_.size(); ++i) {
      put(body.outputs, i, without_axis(gives_[i], axis_of(out_axes, i - states)));
    }
    return body;
  }

 private:
  using Shapes = std::vector<std::optional<Sizes>>;

  std::optional<Sizes> shape_of(const ReferenceRun& run, ValueId value) const {
    const ReferenceTensor* const tensor = run.find(graph_.value(value).name);
    if (tensor != nullptr) return tensor->shape;
    if (!graph_.value(value).is_tensor() || is_open(graph_, value)) return std::nullopt;
    Sizes sizes;  // of a parameter
    for (const Dim dim : graph_.shape(value)) sizes.push_back(dim.size());
    return sizes;
  }

  static void put(Shapes& shapes, std::size_t place, std::optional<Sizes> shape) {
    if (shapes.size() <= place) shapes.resize(place + 1);
    shapes[place] = std::move(shape);
  }
  static std::optional<Sizes> at(const Shapes& shapes, std::size_t place) {
    return place < shapes.size() ? shapes[place] : std::nullopt;
  }

  // What is carried from trip to trip has one shape when it has the same before and after all of them.
  static std::optional<Sizes> kept_shape(const std::optional<Sizes>& before,
                                         const std::optional<Sizes>& after) {
    return before == after ? before : std::nullopt;
  }

  const Graph& graph_;
  NodeId node_;
  Shapes takes_, gives_;  // by position
};

bool is_any_known(const InnerShapes::Body& body) {
  const auto is_known = [](const std::optional<Sizes>& shape) { return shape.has_value(); };
  return std::ranges::any_of(body.inputs, is_known) || std::ranges::any_of(body.outputs, is_known);
}

InnerShapes::Body body_of(const Graph& graph, NodeId node, const ReferenceRun& run) {
  if (!graph.domain(node).empty()) return {};
  if (graph.op(node) == "Loop") return BodyShapes(graph, node, run).loop();
  const bool is_scan =
      graph.op(node) == "Scan" && imported_opset(graph, "").value_or(0) >= kScanWithoutBatch;
  return is_scan ? BodyShapes(graph, node, run).scan() : InnerShapes::Body();
}

std::string tensor_type(const ReferenceTensor& tensor) {
  std::string made, type;
  put_number(made, tensor_type_field::kElemType, static_cast<std::int64_t>(tensor.dtype));
  put_bytes(type, type_field::kTensor, made);
  return type_with_shape(type, tensor.shape);
}

}  // namespace

InnerShapes inner_shapes(const Graph& graph, std::span<const NodeId> nodes,
                         const ReferenceRun& run) {
  InnerShapes shapes;
  bool is_any_unsure = false;
  std::set<ValueId> by_elements;
  for (const NodeId node : nodes) {
    bool is_by_elements = contains(kShapedByElements, graph.op(node));
    for (const Operand& operand : graph.operands(node)) {
      is_by_elements = is_by_elements || by_elements.contains(operand.value);
    }
    for (const ValueId output : graph.outputs(node)) {
      const ReferenceTensor* const tensor = run.find(graph.value(output).name);
      if (is_by_elements) by_elements.insert(output);
      if (is_by_elements || tensor == nullptr || tensor->dtype == DType::unknown) continue;
      is_any_unsure = is_any_unsure || is_open(graph, output) || !graph.body_nodes(node).empty();
      shapes.types.emplace(graph.value(output).name, tensor_type(*tensor));
    }
    const auto outputs = graph.outputs(node);
    if (is_by_elements || outputs.empty()) continue;
    InnerShapes::Body body = body_of(graph, node, run);
    if (is_any_known(body)) shapes.bodies.emplace(graph.value(outputs[0]).name, std::move(body));
  }
  if (!is_any_unsure) shapes.types.clear();
  return shapes;
}

// ---- part search ----

namespace {

using Clock = std::chrono::steady_clock;

constexpr Remedies kPinned = {.pin_shapes = true};

// True for remedies of what cutting does to a piece: one that they do not change is what it was.
bool is_of_cut_only(const Remedies& remedies) {
  return !remedies.freeze_values && !remedies.constants_inside && !remedies.opset;
}

bool blames(FindingKind kind) {
  return kind == FindingKind::culprit || kind == FindingKind::together || kind == FindingKind::size;
}

SearchEffort effort_of(CulpritSearch culprits) {
  if (culprits == CulpritSearch::hint) return SearchEffort::hint;
  return culprits == CulpritSearch::node ? SearchEffort::node : SearchEffort::minimal;
}

AskingLimits limits_of(const SearchSettings& settings) {
  AskingLimits limits{.most_runs = settings.most_runs};
  if (settings.most_seconds <= 0) return limits;
  limits.is_time_up = [begin = Clock::now(), most = settings.most_seconds] {
    return std::chrono::duration<double>(Clock::now() - begin).count() > most;
  };
  return limits;
}

LowerFinding finding_of(const LoweredPart& part, Finding finding) {
  LowerFinding made;
  made.backend = part.backend;
  made.part = part.name;
  made.finding = std::move(finding);
  return made;
}

// A finding explains its own nodes. What it says of them is no verdict on the part. Of a quantised operator, the operator is
// to blame, not what quantises for it.
LowerFinding take_values(const Graph& graph, const LoweredPart& part, WrongValues wrong) {
  Finding finding{.within = with_dequantizers(graph, part.nodes, wrong.nodes)};
  finding.kind = wrong.verdict == ValueVerdict::culprit ? FindingKind::culprit
                 : wrong.necessary                      ? FindingKind::together
                                                        : FindingKind::unexplained;
  finding.nodes = finding.kind == FindingKind::culprit
                      ? std::vector{operator_of(graph, wrong.nodes)}
                      : std::move(wrong.nodes);
  finding.remedies = wrong.remedies;
  finding.signature = "wrong values";
  finding.how = verdict_name(part.attempt.verdict);
  finding.message = std::move(wrong.message);
  finding.runs = wrong.runs;
  finding.blocked = std::move(wrong.blocked);
  finding.blocked_why = std::move(wrong.blocked_why);
  LowerFinding made = finding_of(part, std::move(finding));
  made.values = wrong.verdict;
  made.deciders = std::move(wrong.deciders);
  made.necessary = wrong.necessary;
  return made;
}

// Where the first wrong output comes of NaN or infinity that the reference has, no search can tell what is
// right: the finding is the node where these begin, and needs no compiler. nullopt elsewhere.
std::optional<LowerFinding> not_finite_finding(const Graph& graph,
                                               std::span<const ReferenceRun> samples,
                                               const PartFailure& failed) {
  const auto wrong = failed.result.first_wrong;
  const NodeId maker = wrong ? graph.value(*wrong).producer : kNone<NodeId>;
  const auto is_finite = [&](NodeId node) {
    return has_finite_values(graph, std::span(&node, 1), samples);
  };
  if (maker == kNone<NodeId> || is_finite(maker)) return std::nullopt;
  const auto& nodes = failed.part.nodes;
  WrongValues found{.verdict = ValueVerdict::not_finite};
  found.nodes = {*std::ranges::find_if_not(nodes, is_finite)};  // at the latest `maker`
  found.first_wrong = wrong;
  found.message = failed.part.attempt.message;
  return take_values(graph, failed.part, std::move(found));
}

// The signature of a failure that is wrong values.
std::string signature_of_values() {
  return failure_signature({.stage = "values", .difference = Difference::wrong}, {});
}

// What is wrong only as a whole may be so since it is large, whichever its nodes are: then it is a limit of size.
void take_size(const FailedPartition& partition, const Oracle& oracle, const AskingLimits& limits,
               LowerFinding& found) {
  Finding& finding = found.finding;
  if (found.values != ValueVerdict::together) return;
  const MessageNames names;
  Questions questions(partition.order, names, oracle, limits);
  const Remedies remedies = partition.remedies | Remedies{.pin_shapes = true};
  const ItemSet all = all_items(partition.order);
  const FailingSet failing{all, remedies, signature_of_values()};
  std::size_t length = 0;  // in items
  for (const std::uint32_t item : all) {
    length += contains(finding.nodes, partition.order.first_node(item)) ? 1U : 0U;
  }
  if (const auto limit =
          limit_of_size(partition.graph, questions, partition.order, failing, length)) {
    finding.kind = FindingKind::size;
    finding.limit = *limit;
    finding.nodes.clear();
    found.necessary.reset();
  }
  finding.runs += questions.runs();
}

}  // namespace

PartFindings PartSearch::search(const PartFailure& failed, std::size_t lane,
                                const std::function<void(std::size_t runs)>& asked) const {
  LoweredPart& part = failed.part;
  PieceLowerer& lowerer = pool_.lowerer(lane, part.backend);
  if (part.attempt.verdict == LowerVerdict::partly) return take_left(failed, lowerer);
  const std::size_t before = lowerer.calls();
  const Oracle plain = [&](Piece piece) {
    asked(lowerer.calls() - before);
    piece.whole = &part.nodes;
    return lowerer.answer(piece);
  };
  const Oracle uncut = [&](Piece piece) {
    if (!is_of_cut_only(piece.remedies)) return plain(piece);
    asked(lowerer.calls() - before);
    piece.whole = &part.nodes;
    return lowerer.answer_changed(piece);
  };
  const ItemOrder order = order_items(graph_, part.nodes);
  FailedPartition partition{.graph = graph_, .order = order, .answer = answer_of(failed.result)};
  const AskingLimits limits = limits_of(settings_);
  PartFindings found;
  if (part.attempt.verdict == LowerVerdict::wrong_values) {
    if (auto finding = not_finite_finding(graph_, pool_.samples(), failed)) {
      found.findings.push_back(*std::move(finding));
      mark_open(found.findings.back());
      found.blames_nothing = true;
      return found;
    }
    partition.remedies.freeze_cuts = !pool_.samples().empty();
    const FiniteTest is_finite = [&](std::span<const NodeId> nodes) {
      return has_finite_values(graph_, nodes, pool_.samples());
    };
    // A piece of quantised operators may be twice as far off in one run by chance. Then the part must be as near to
    // the model in floats as the reference is, over all runs: excuse_ties().
    bool is_by_chance = false;
    const ItemOrder units = order_quantised(graph_, part.nodes);
    const FailedPartition quantised{graph_, units, partition.answer, partition.remedies};
    const Oracle whole = [&](Piece piece) {
      piece.nodes = with_dequantizers(graph_, part.nodes, std::move(piece.nodes));
      piece.whole = &part.nodes;
      Answer answer = uncut(piece);
      if (answer.difference != Difference::wrong) return answer;
      answer.beyond_rounding = lowerer.beyond_rounding(piece);
      if (answer.beyond_rounding == 0) return answer;
      ++answer.runs;
      if (answer.beyond_rounding <= 1) {
        answer.difference = Difference::one_step;
        is_by_chance = true;
      }
      return answer;
    };
    AllWrongValues all = find_wrong_values(quantised, whole, limits, is_finite);
    for (WrongValues& wrong : all.found) {
      found.findings.push_back(take_values(graph_, part, std::move(wrong)));
      // Rounding grows with the length, and is no limit of a size.
      if (units.count() == part.nodes.size()) {
        take_size(quantised, whole, limits, found.findings.back());
      }
      mark_open(found.findings.back());
    }
    if (all.is_no_fault && !is_by_chance) {
      const bool is_step = std::ranges::all_of(
          all.found, [](const auto& one) { return one.verdict == ValueVerdict::one_step; });
      part.attempt.verdict = is_step ? LowerVerdict::one_step : LowerVerdict::tie_order;
      part.is_lowered = true;
    }
    excuse_ties(part, lowerer, limits, found);
    excuse_precision(part, found);
    confirm(part, lowerer, found);
    found.blames_nothing = std::ranges::none_of(
        found.findings, [](const LowerFinding& one) { return blames(one.finding.kind); });
    return found;
  }
  change_cuts(partition, plain);
  const SearchOptions options{.effort = effort_of(settings_.culprits),
                              .limits = limits,
                              .most_findings = settings_.most_findings,
                              .hypotheses = hypotheses(part.backend),
                              .known_limits = known_.contains(part.backend)
                                                  ? known_.at(part.backend)
                                                  : std::vector<SizeLimit>()};
  for (Finding& finding : search_culprits(partition, uncut, options).findings) {
    drop_if_assumed(finding, plain);
    drop_if_untyped(finding);
    found.is_remedied = take_remedy(part, finding, lowerer) || found.is_remedied;
    // A part that is refused may hold pieces that are taken and then compute wrong values.
    const bool is_of_values = finding.signature == signature_of_values();
    const FindingKind kind = finding.kind;
    found.findings.push_back(finding_of(part, std::move(finding)));
    auto& values = found.findings.back().values;
    if (is_of_values && kind == FindingKind::culprit) values = ValueVerdict::culprit;
    if (is_of_values && kind == FindingKind::together) values = ValueVerdict::together;
    mark_open(found.findings.back());
  }
  confirm(part, lowerer, found);
  take_second_try(part, lowerer, found);
  return found;
}

// Each rounding of a quantised model may fall to either side of a tie, and what follows goes on from there. Where no node
// is wrong by itself, and the part is as near to the model in floats as the reference is, nothing else is at fault.
void PartSearch::excuse_ties(LoweredPart& part, PieceLowerer& lowerer, AskingLimits limits,
                             PartFindings& found) {
  for (const LowerFinding& one : found.findings) {
    if (one.values == ValueVerdict::culprit || one.values == ValueVerdict::not_finite) return;
  }
  if (part.is_lowered) limits.most_runs = 1;  // for the message only
  const auto distance = lowerer.distance_to_float({.nodes = part.nodes}, limits);
  if (!distance) return;
  const std::string apart =
      "as a whole " + percent_text(distance->backend) + " off the model in floats, the reference " +
      percent_text(distance->reference) +
      (distance->runs == 1 ? "" : " in " + std::to_string(distance->runs) + " runs");
  const bool is_equal = part.is_lowered || distance->is_alike();
  part.attempt.message =
      (is_equal ? "equal but for ties, " : "") + apart + ": " + part.attempt.message;
  if (part.is_lowered || !is_equal) return;
  part.attempt.verdict = LowerVerdict::one_step;
  part.is_lowered = true;
  for (LowerFinding& one : found.findings) {
    one.values = ValueVerdict::one_step;
    one.necessary.reset();
    one.finding.kind = FindingKind::unexplained;
  }
}

// Errors of a lower precision add up beyond its tolerance, and are no fault as long as they stay small as a whole.
void PartSearch::excuse_precision(LoweredPart& part, const PartFindings& found) {
  // Of the root of the mean square. Single nodes are excused at 1%; independent errors add up like
  // the root of their number, so that 25 nodes in a row reach 5%. Chosen, not measured.
  constexpr double kMostShare = 0.05;
  const bool is_of_precision =
      !part.is_lowered &&
      std::ranges::all_of(
          found.findings,
          [](const LowerFinding& one) { return one.values == ValueVerdict::lower_precision; }) &&
      std::ranges::all_of(part.attempt.compared, [](const ComparedOutput& one) {
        return one.is_finite && one.rms <= kMostShare;
      });
  if (!is_of_precision) return;
  part.attempt.verdict = LowerVerdict::lower_precision;
  part.is_lowered = true;
}

// The backend says itself what it leaves out, so there is nothing to search for: a finding for each op
// and reason. Before that, with known shapes it may leave out less, or nothing.
PartFindings PartSearch::take_left(const PartFailure& failed, PieceLowerer& lowerer) const {
  LoweredPart& part = failed.part;
  PartFindings found;
  if (may_pin()) {
    const auto pinned = lowerer.lower({.nodes = part.nodes, .remedies = kPinned});
    if (pinned && is_success(pinned->attempt.verdict) && !pinned->is_unchanged) {
      Finding finding{.kind = FindingKind::remedy, .by = FoundBy::hypothesis};
      finding.nodes = finding.within = part.nodes;
      finding.remedies = kPinned;
      finding.how = verdict_words(part.attempt);
      finding.message = part.attempt.message;
      found.is_remedied = take_remedy(part, finding, lowerer);
      found.findings.push_back(finding_of(part, std::move(finding)));
      return found;
    }
    if (pinned && pinned->attempt.verdict == LowerVerdict::partly &&
        pinned->attempt.left.size() < part.attempt.left.size()) {
      part.attempt = pinned->attempt;
    }
  }
  std::unordered_map<std::string_view, NodeId> nodes;
  for (const NodeId node : part.nodes) nodes.emplace(graph_.node(node).name, node);
  std::map<std::pair<std::string_view, std::string>, std::size_t> places;  // by op and reason
  std::set<NodeId> seen;
  for (const LeftOut& one : part.attempt.left) {
    const auto node = nodes.find(one.node);
    if (node == nodes.end() || !seen.insert(node->second).second) continue;
    const std::string why = one.op + ": " + (one.why.empty() ? "no reason given" : one.why);
    const auto [place, is_new] =
        places.emplace(std::pair(graph_.op(node->second), why), found.findings.size());
    if (is_new) {
      Finding finding{.kind = FindingKind::left_out, .by = FoundBy::hint};
      finding.within = {node->second};
      finding.signature = why;
      finding.how = verdict_words(part.attempt);
      found.findings.push_back(finding_of(part, std::move(finding)));
    }
    Finding& finding = found.findings[place->second].finding;
    finding.nodes.push_back(node->second);
    finding.message += (finding.message.empty() ? "" : "\n") + one.node + ": " + why;
  }
  if (found.findings.empty()) {
    Finding finding{.kind = FindingKind::unexplained, .within = part.nodes};
    finding.how = verdict_words(part.attempt);
    finding.message = part.attempt.message;
    found.findings.push_back(finding_of(part, std::move(finding)));
  }
  for (LowerFinding& one : found.findings) mark_open(one);
  return found;
}

// Before anything is blamed the part as a whole must fail once more, alone: it may have failed by
// chance, and each smaller piece too. A failure of a kind that may come by chance is asked for more
// often, and one that the message does not explain. A piece that failed by chance within a part that truly
// fails is asked again itself.
void PartSearch::confirm(const LoweredPart& part, PieceLowerer& lowerer,
                         PartFindings& found) const {
  // What fails every second time fails three more times in a row once in eight: then a node is
  // blamed in vain. More repeats would be rarer mistakes, but each is a run that may end in a
  // crash, or at a time limit.
  constexpr std::uint32_t kTimesOfChance = 3;
  const auto is_blamed = [](const LowerFinding& one) { return blames(one.finding.kind); };
  const auto is_named = [](const LowerFinding& one) {
    return !blames(one.finding.kind) || one.finding.by == FoundBy::hint;
  };
  if (std::ranges::none_of(found.findings, is_blamed)) return;
  // A node that the backend named for the whole, and that failed alone for the same reason each time.
  const bool is_certain = std::ranges::all_of(found.findings, [&](const LowerFinding& one) {
    return !is_blamed(one) || (one.finding.by == FoundBy::named && !one.finding.may_be_chance);
  });
  if (is_certain) return;
  std::uint32_t times = std::ranges::all_of(found.findings, is_named) ? 1 : 2;
  if (part.attempt.verdict == LowerVerdict::wrong_values) times = 1;
  if (may_be_chance(part.attempt.verdict)) times = kTimesOfChance;
  const auto make_flaky = [](LowerFinding& one) {
    one.values.reset();
    one.deciders.clear();
    one.necessary.reset();
    one.finding.kind = FindingKind::flaky;
    one.finding.nodes.clear();
  };
  if (!fails_again({.nodes = part.nodes}, times, lowerer)) {
    found.findings.erase(found.findings.begin() + 1, found.findings.end());
    make_flaky(found.findings.front());
    found.findings.front().finding.within = part.nodes;
    return;
  }
  for (LowerFinding& one : found.findings) {
    if (!is_blamed(one) || !one.finding.may_be_chance || one.finding.within.empty()) continue;
    const Piece piece{
        .nodes = one.finding.within, .remedies = one.finding.remedies, .whole = &part.nodes};
    if (!fails_again(piece, kTimesOfChance, lowerer)) make_flaky(one);
  }
}

// A part of which only failures by chance were found is asked once more, as after a crash; what passes then
// counts.
void PartSearch::take_second_try(LoweredPart& part, PieceLowerer& lowerer,
                                 const PartFindings& found) {
  constexpr std::uint32_t kAttempt = 91;  // 90 is a crash's, those from 100 confirm
  const bool is_chance = std::ranges::all_of(found.findings, [](const LowerFinding& one) {
    return one.finding.kind == FindingKind::flaky;
  });
  if (part.is_lowered || found.findings.empty() || !is_chance) return;
  const auto result = lowerer.lower({.nodes = part.nodes, .attempt = kAttempt});
  if (!result || !is_success(result->attempt.verdict)) return;
  const std::string before = verdict_words(part.attempt);
  part.attempt = result->attempt;
  part.attempt.before = before;
  part.is_lowered = true;
}

// Whether the piece fails each time when it is asked so often.
bool PartSearch::fails_again(Piece piece, std::uint32_t times, PieceLowerer& lowerer) {
  constexpr std::uint32_t kFirstAttempt = 100;  // those below are of the search
  for (std::uint32_t i = 0; i < times; ++i) {
    piece.attempt = kFirstAttempt + i;
    if (lowerer.answer_changed(piece).outcome != OracleOutcome::fails) return false;
  }
  return true;
}

// Shapes are pinned to those of the reference; without one, to those of assumed sizes.
bool PartSearch::may_pin() const {
  if (!settings_.pins_shapes) return false;
  return !pool_.samples().empty() || (settings_.assumes_sizes && pool_.assumed());
}

// A reference run pins every shape. Assumed sizes do not where a shape depends on more than those of
// the inputs.
void PartSearch::mark_open(LowerFinding& found) const {
  const Finding& finding = found.finding;
  found.has_open_shapes = has_open_shapes(graph_, finding.nodes);
  if (!found.has_open_shapes || !finding.remedies.pin_shapes) return;
  const auto is_left_open = [&](NodeId node) {
    const auto operands = graph_.operands(node);
    return std::ranges::any_of(operands, [&](const Operand& operand) {
      const std::string name(graph_.value(operand.value).name);
      return is_open(graph_, operand.value) && !pool_.assumed()->shapes.contains(name);
    });
  };
  found.has_open_shapes = pool_.samples().empty() && pool_.assumed() &&
                          std::ranges::any_of(finding.nodes, is_left_open);
}

// An assumed size may itself be what the backend refuses. So a node to blame must fail without it,
// too; otherwise it is not blamed.
void PartSearch::drop_if_assumed(Finding& finding, const Oracle& plain) const {
  const bool is_blamed =
      finding.kind == FindingKind::culprit || finding.kind == FindingKind::together;
  if (!is_blamed || !finding.remedies.pin_shapes || !pool_.samples().empty()) return;
  if (plain({.nodes = finding.within}).outcome != OracleOutcome::passes) return;
  finding.kind = FindingKind::unexplained;
  finding.nodes.clear();
}

// A piece states the types of what it reads and gives. Where one is not known, as after an operator that the
// model does not define, no compiler may take the piece: then no node of it is to blame.
void PartSearch::drop_if_untyped(Finding& finding) const {
  if (!blames(finding.kind)) return;
  const auto is_untyped = [&](ValueId value) {
    const Value& record = graph_.value(value);
    const bool may_be_tensor = record.is_tensor() || record.type == ValueType::unknown;
    return may_be_tensor && record.dtype == DType::unknown;
  };
  const auto is_within = [&](NodeId node) {  // they are in model order
    return std::ranges::binary_search(finding.within, node);
  };
  std::optional<ValueId> untyped;
  for (const NodeId node : finding.within) {
    for (const Operand& operand : graph_.operands(node)) {
      const NodeId maker = graph_.value(operand.value).producer;
      const bool is_cut = maker == kNone<NodeId> || !is_within(maker);
      if (is_cut && is_untyped(operand.value) && !untyped) untyped = operand.value;
    }
  }
  if (!untyped) return;
  finding.kind = FindingKind::unexplained;
  finding.nodes.clear();
  finding.blocked = finding.within;
  finding.blocked_why = "the type of " + std::string(graph_.value(*untyped).name) +
                        ", which it reads, is not known, so that cleave cannot state it";
}

// Cutting the partition may leave shapes open that it does not have as a whole, and small integers
// that it computes from shapes become inputs. So the search goes on with pinned shapes, unless pinning
// is off or makes the partition pass, and with such integers as constants.
void PartSearch::change_cuts(FailedPartition& partition, const Oracle& oracle) const {
  const bool freezes = !pool_.samples().empty();
  if (!may_pin()) {
    partition.remedies = {.freeze_cuts = freezes};
    return;
  }
  Answer answer =
      oracle({.nodes = nodes_of(partition.order, all_items(partition.order)), .remedies = kPinned});
  if (answer.outcome == OracleOutcome::passes || answer.outcome == OracleOutcome::unresolved)
    return;
  partition.remedies = {.pin_shapes = true, .freeze_cuts = freezes};
  if (answer.outcome == OracleOutcome::fails) partition.answer = std::move(answer);
}

std::vector<Remedies> PartSearch::hypotheses(std::size_t backend) const {
  std::vector<Remedies> list;
  const bool has_values = !pool_.samples().empty();
  if (may_pin()) list.push_back(kPinned);
  if (may_pin() && has_values) list.push_back({.pin_shapes = true, .state_inside = true});
  if (has_values && settings_.freezes_values) {
    list.push_back({.pin_shapes = settings_.pins_shapes, .freeze_values = true});
  }
  const std::int64_t lowest = pool_.backends()[backend].lowest_opset;
  const auto now = imported_opset(graph_, "");
  if (!pool_.reference().empty() && now && *now < lowest) list.push_back({.opset = lowest});
  return list;
}

bool PartSearch::take_remedy(LoweredPart& part, Finding& finding, PieceLowerer& lowerer) const {
  if (finding.kind != FindingKind::remedy || finding.nodes != part.nodes) return false;
  const auto result = lowerer.lower({.nodes = part.nodes, .remedies = finding.remedies});
  if (!result || !is_success(result->attempt.verdict)) return false;
  // The search pins what is open at a boundary, and here nothing is.
  if (finding.remedies.opset && result->pinned.empty()) finding.remedies.pin_shapes = false;
  part.remedies = finding.remedies;
  part.pinned = result->pinned;
  part.frozen = result->frozen;
  part.needs_sizes = pool_.samples().empty() && !part.pinned.empty();
  if (part.needs_sizes) return true;
  part.attempt = result->attempt;
  part.hash = result->hash;
  part.is_lowered = true;
  return true;
}

}  // namespace cleave
