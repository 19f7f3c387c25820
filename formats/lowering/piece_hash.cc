#include "formats/lowering/piece_hash.h"

#include <algorithm>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/lowering/sha256.h"
#include "formats/onnx/write/encoding.h"

namespace cleave {
namespace {

namespace field {
enum : std::uint32_t { kAttributeName = 1, kBody = 6, kBodies = 11, kAttributeDoc = 13 };
enum : std::uint32_t { kValueName = 1, kValueType = 2 };
enum : std::uint32_t { kTensorName = 8, kTensorDoc = 12, kTensorLocation = 14 };
}  // namespace field

std::string_view view_of(protozero::data_view view) { return {view.data(), view.size()}; }

protozero::pbf_reader reader_of(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// A message's fields as (number, bytes with tag), in the order of the file.
struct Field {
  std::uint32_t number;
  std::string_view bytes;    // the whole field
  std::string_view payload;  // of a length-delimited one
};

std::vector<Field> fields_of(std::string_view message) {
  std::vector<Field> fields;
  protozero::pbf_reader reader = reader_of(message);
  const char* begin = message.data();
  while (reader.next()) {
    Field field{reader.tag(), {}, {}};
    if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      field.payload = view_of(reader.get_view());
    } else {
      reader.skip();
    }
    const std::size_t left = reader.length();
    const char* const end = message.data() + message.size() - left;
    field.bytes = {begin, static_cast<std::size_t>(end - begin)};
    begin = end;
    fields.push_back(field);
  }
  return fields;
}

class PieceHash {
 public:
  // nullopt when weights are in another file.
  std::optional<std::string> of(std::string_view model) {
    std::string_view graph;
    std::vector<std::string_view> imports;
    for (const Field& field : fields_of(model)) {
      if (field.number == model_field::kGraph) graph = field.payload;
      if (field.number == model_field::kOpsetImport) imports.push_back(field.payload);
      if (field.number == model_field::kFunctions) hash_.add_text(field.payload);
      if (field.number == model_field::kIrVersion) hash_.add_text(field.bytes);
    }
    if (graph.empty()) return std::nullopt;
    std::sort(imports.begin(), imports.end());
    for (const std::string_view import : imports) hash_.add_text(import);
    add_graph(graph);
    if (is_elsewhere_) return std::nullopt;
    return std::move(hash_).hex();
  }

 private:
  std::uint64_t number_of(std::string_view name) {
    if (name.empty()) return 0;
    return numbers_.try_emplace(name, numbers_.size() + 1).first->second;
  }

  void add_graph(std::string_view graph) {
    const std::vector<Field> fields = fields_of(graph);
    for (const Field& field : fields) {
      if (field.number == graph_field::kNode) add_node(field.payload);
    }
    for (const Field& field : fields) {
      const bool is_ordered =
          field.number == graph_field::kInput || field.number == graph_field::kOutput;
      if (is_ordered) add_value(field);
    }
    add_unordered(fields);
    if (!has_bodies_) return;
    // Bodies refer to values of the graph by name, so with bodies the names count, too.
    std::vector<std::pair<std::uint64_t, std::string_view>> names;
    for (const auto& [name, number] : numbers_) names.emplace_back(number, name);
    std::sort(names.begin(), names.end());
    for (const auto& [number, name] : names) hash_.add_text(name);
  }

  void add_node(std::string_view node) {
    std::vector<std::pair<std::string_view, std::string>> attributes;
    for (const Field& field : fields_of(node)) {
      if (field.number == node_field::kInput || field.number == node_field::kOutput) {
        hash_.add_number(field.number);
        hash_.add_number(number_of(field.payload));
      } else if (field.number == node_field::kOpType || field.number == node_field::kDomain) {
        hash_.add_number(field.number);
        hash_.add_text(field.payload);
      } else if (field.number == node_field::kAttribute) {
        attributes.push_back(attribute_of(field.payload));
      }
    }
    std::sort(attributes.begin(), attributes.end());
    for (const auto& [name, digest] : attributes) hash_.add_text(digest);
    hash_.add_number(attributes.size());
  }

  std::pair<std::string_view, std::string> attribute_of(std::string_view attribute) {
    std::string_view name;
    Sha256 digest;
    for (const Field& field : fields_of(attribute)) {
      if (field.number == field::kAttributeName) name = field.payload;
      if (field.number == field::kBody || field.number == field::kBodies) has_bodies_ = true;
      if (field.number != field::kAttributeDoc) digest.add_text(field.bytes);
    }
    return {name, std::move(digest).hex()};
  }

  void add_value(const Field& field) {
    hash_.add_number(field.number);
    for (const Field& inner : fields_of(field.payload)) {
      if (inner.number == field::kValueName) hash_.add_number(number_of(inner.payload));
      if (inner.number == field::kValueType) hash_.add_text(inner.payload);
    }
  }

  // Initializers and value_info, in the order of their values' numbers.
  void add_unordered(const std::vector<Field>& fields) {
    std::vector<std::pair<std::uint64_t, std::string>> digests;
    for (const Field& field : fields) {
      if (field.number == graph_field::kInitializer) digests.push_back(tensor_of(field.payload));
      if (field.number == graph_field::kValueInfo) digests.push_back(info_of(field.payload));
      if (field.number == graph_field::kSparseInitializer) hash_.add_text(field.payload);
    }
    std::sort(digests.begin(), digests.end());
    for (const auto& [number, digest] : digests) {
      hash_.add_number(number);
      hash_.add_text(digest);
    }
  }

  std::pair<std::uint64_t, std::string> tensor_of(std::string_view tensor) {
    std::uint64_t number = 0;
    Sha256 digest;
    for (const Field& field : fields_of(tensor)) {
      if (field.number == field::kTensorName) number = number_of(field.payload);
      if (field.number == field::kTensorLocation) is_elsewhere_ = true;
      if (field.number == field::kTensorName || field.number == field::kTensorDoc) continue;
      digest.add_text(field.bytes);
    }
    return {number, std::move(digest).hex()};
  }

  std::pair<std::uint64_t, std::string> info_of(std::string_view info) {
    std::uint64_t number = 0;
    std::string type;
    for (const Field& field : fields_of(info)) {
      if (field.number == field::kValueName) number = number_of(field.payload);
      if (field.number == field::kValueType) type = field.payload;
    }
    return {number, "i" + type};
  }

  Sha256 hash_;
  std::unordered_map<std::string_view, std::uint64_t> numbers_;
  bool has_bodies_ = false;
  bool is_elsewhere_ = false;
};

}  // namespace

std::optional<std::string> piece_hash(std::string_view model) {
  try {
    return PieceHash().of(model);
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
}

}  // namespace cleave
