#include "formats/run/lowering/inner_shapes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <protozero/pbf_reader.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "core/graph/attribute.h"
#include "core/graph/op_name.h"
#include "formats/base/io/byte_pieces.h"
#include "formats/base/io/source_file.h"
#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/field_numbers.h"
#include "formats/models/onnx/index/fields.h"
#include "formats/run/lowering/piece_change.h"

namespace cleave {
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
  return std::any_of(body.inputs.begin(), body.inputs.end(), is_known) ||
         std::any_of(body.outputs.begin(), body.outputs.end(), is_known);
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
    bool is_by_elements = std::find(kShapedByElements.begin(), kShapedByElements.end(),
                                    graph.op(node)) != kShapedByElements.end();
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

namespace {

class StatedPiece {
 public:
  StatedPiece(std::string_view model, const InnerShapes& shapes) : model_(model), shapes_(shapes) {}

  BytePieces build() {
    BytePieces out;
    for (const MessageField& field : message_fields(model_)) {
      if (field.number != model_field::kGraph) {
        copy(out, field.bytes);
      } else {
        add_message(out, field.number, graph_of(field.payload));
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

  BytePieces graph_of(std::string_view graph) const {
    BytePieces out;
    std::set<std::string_view> stated;
    for (const MessageField& field : message_fields(graph)) {
      if (field.number == graph_field::kValueInfo && !shapes_.types.empty()) continue;
      if (field.number == graph_field::kNode) {
        add_node(out, field);
        continue;
      }
      if (field.number == graph_field::kOutput) {
        const std::string_view name = field_of(field.payload, value_info_field::kName);
        const auto type = shapes_.types.find(std::string(name));
        if (type != shapes_.types.end()) {
          stated.insert(name);
          add_value(out, field.number, name, type->second);
          continue;
        }
      }
      copy(out, field.bytes);
    }
    for (const auto& [name, type] : shapes_.types) {
      if (!stated.contains(name)) add_value(out, graph_field::kValueInfo, name, type);
    }
    return out;
  }

  static void add_value(BytePieces& out, std::uint32_t number, std::string_view name,
                        std::string_view type) {
    std::string made;
    put_bytes(made, number, encode_value_info(name, type));
    out.add(made);
  }

  void add_node(BytePieces& out, const MessageField& node) const {
    const auto body = shapes_.bodies.find(std::string(field_of(node.payload, node_field::kOutput)));
    if (body == shapes_.bodies.end()) return copy(out, node.bytes);
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
  const InnerShapes& shapes_;
};

}  // namespace

Status<Fault> write_inner_shapes(const std::string& from, const std::string& to,
                                 const InnerShapes& shapes) {
  const auto source = SourceFile::open(from);
  if (!source) return input_fault(source.error());
  try {
    const BytePieces pieces = StatedPiece(source->bytes(), shapes).build();
    const std::vector<ByteSource> sources = {{source->fd(), from, source->stamp()}};
    return write_pieces(pieces, sources, {to, to});
  } catch (const protozero::exception& error) {
    return input_fault({diagnostic_of(from, error.what())});
  }
}

}  // namespace cleave
