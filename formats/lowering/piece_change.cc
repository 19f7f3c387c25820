#include "formats/lowering/piece_change.h"

#include <protozero/pbf_reader.hpp>

#include "formats/io/byte_pieces.h"
#include "formats/io/source_file.h"
#include "formats/onnx/write/encoding.h"

namespace cleave {
namespace {

std::string_view view_of(protozero::data_view view) { return {view.data(), view.size()}; }

// The TypeProto of a tensor with the old element type and these dims.
std::string pinned_type(std::string_view type, const std::vector<std::int64_t>& dims) {
  std::int64_t element = 0;
  protozero::pbf_reader reader(type.data(), type.size());
  if (!reader.next(1, protozero::pbf_wire_type::length_delimited)) {
    return std::string(type);  // not a tensor
  }
  protozero::pbf_reader tensor = reader.get_message();
  if (tensor.next(1, protozero::pbf_wire_type::varint)) element = tensor.get_int32();
  std::string shape, made, out;
  for (const std::int64_t dim : dims) {
    std::string one;
    put_number(one, 1, dim);
    put_bytes(shape, 1, one);
  }
  put_number(made, 1, element);
  put_bytes(made, 2, shape);
  put_bytes(out, 1, made);
  return out;
}

class ChangedPiece {
 public:
  ChangedPiece(std::string_view model, const PieceChange& change)
      : model_(model), change_(change) {}

  BytePieces build() {
    BytePieces out;
    each_field(model_, [&](std::uint32_t number, std::string_view field, std::string_view payload) {
      if (number != model_field::kGraph) return copy(out, field);
      const BytePieces graph = build_graph(payload);
      std::string header;
      put_header(header, model_field::kGraph, graph.size());
      out.add(header);
      out.append(graph);
    });
    return out;
  }

 private:
  template <class Visit>
  static void each_field(std::string_view message, Visit visit) {
    protozero::pbf_reader reader(message.data(), message.size());
    const char* begin = message.data();
    while (reader.next()) {
      const std::uint32_t number = reader.tag();
      std::string_view payload;
      if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
        payload = view_of(reader.get_view());
      } else {
        reader.skip();
      }
      const char* const end = message.data() + message.size() - reader.length();
      visit(number, std::string_view(begin, static_cast<std::size_t>(end - begin)), payload);
      begin = end;
    }
  }

  void copy(BytePieces& out, std::string_view bytes) const {
    out.add_range(0, static_cast<std::uint64_t>(bytes.data() - model_.data()), bytes.size());
  }

  BytePieces build_graph(std::string_view graph) {
    BytePieces out;
    each_field(graph, [&](std::uint32_t number, std::string_view field, std::string_view payload) {
      if (number == graph_field::kValueInfo) return;
      if (number != graph_field::kInput && number != graph_field::kOutput) return copy(out, field);
      if (const auto info = changed_value(number, payload)) out.add(*info);
    });
    std::string made;
    for (const auto& [name, tensor] : change_.frozen) {
      Tensor named = tensor;
      named.name = name;
      put_bytes(made, graph_field::kInitializer, encode_tensor(named));
    }
    out.add(made);
    return out;
  }

  // The field with its shape pinned; nullopt for a frozen input.
  std::optional<std::string> changed_value(std::uint32_t number, std::string_view info) const {
    std::string name;
    std::string_view type;
    each_field(info, [&](std::uint32_t inner, std::string_view, std::string_view payload) {
      if (inner == 1) name = payload;
      if (inner == 2) type = payload;
    });
    if (number == graph_field::kInput && change_.frozen.contains(name)) return std::nullopt;
    const auto pinned = change_.shapes.find(name);
    std::string out;
    if (pinned == change_.shapes.end()) {
      put_bytes(out, number, info);
    } else {
      put_bytes(out, number, encode_value_info(name, pinned_type(type, pinned->second)));
    }
    return out;
  }

  std::string_view model_;
  const PieceChange& change_;
};

}  // namespace

Status<WriteFault> write_changed_piece(const std::string& from, const std::string& to,
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
