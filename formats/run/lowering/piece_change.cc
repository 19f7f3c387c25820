#include "formats/run/lowering/piece_change.h"

#include <protozero/pbf_reader.hpp>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/base/io/byte_pieces.h"
#include "formats/base/io/source_file.h"
#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/field_numbers.h"
#include "formats/models/onnx/index/fields.h"

namespace cleave {

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

  BytePieces build() {
    BytePieces out;
    for (const MessageField& field : message_fields(model_)) {
      if (field.number != model_field::kGraph) {
        copy(out, field.bytes);
        continue;
      }
      const BytePieces graph = build_graph(field.payload);
      std::string header;
      put_header(header, model_field::kGraph, graph.size());
      out.add(header);
      out.append(graph);
    }
    return out;
  }

 private:
  void copy(BytePieces& out, std::string_view bytes) const {
    out.add_range(0, static_cast<std::uint64_t>(bytes.data() - model_.data()), bytes.size());
  }

  BytePieces build_graph(std::string_view graph) {
    BytePieces out;
    add_copies(out);
    const bool drops_types = !change_.shapes.empty() || !change_.frozen.empty();
    for (const MessageField& field : message_fields(graph)) {
      if (field.number == graph_field::kValueInfo && drops_types) continue;
      if (field.number != graph_field::kInput && field.number != graph_field::kOutput) {
        copy(out, field.bytes);
      } else if (const auto info = changed_value(field)) {
        out.add(*info);
      }
    }
    std::string made;
    for (const auto& [name, tensor] : change_.frozen) {
      Tensor named = tensor;
      named.name = name;
      put_bytes(made, graph_field::kInitializer, encode_tensor(named));
    }
    out.add(made);
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
           std::any_of(change_.copies.begin(), change_.copies.end(),
                       [&](const auto& copy) { return copy.first == input; });
  }

  // The field with its shape pinned; nullopt for an input that is none any more.
  std::optional<std::string> changed_value(const MessageField& info) const {
    std::string name;
    std::string_view type;
    for (const MessageField& inner : message_fields(info.payload)) {
      if (inner.number == value_info_field::kName) name = inner.payload;
      if (inner.number == value_info_field::kType) type = inner.payload;
    }
    if (info.number == graph_field::kInput && is_left_out(name)) return std::nullopt;
    const auto pinned = change_.shapes.find(name);
    std::string out;
    if (pinned == change_.shapes.end()) {
      put_bytes(out, info.number, info.payload);
    } else {
      put_bytes(out, info.number, encode_value_info(name, type_with_shape(type, pinned->second)));
    }
    return out;
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

}  // namespace cleave
