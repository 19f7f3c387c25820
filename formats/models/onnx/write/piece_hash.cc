#include "formats/models/onnx/write/piece_hash.h"

#include <protozero/exception.hpp>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/base/io/sha256.h"
#include "formats/models/onnx/index/field_numbers.h"
#include "formats/models/onnx/index/fields.h"

namespace cleave {
namespace {

class PieceHash {
 public:
  // nullopt when weights are in another file.
  std::optional<std::string> of(std::string_view model) {
    std::string_view graph;
    std::vector<std::string_view> imports;
    for (const MessageField& field : message_fields(model)) {
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
    const std::vector<MessageField> fields = message_fields(graph);
    for (const MessageField& field : fields) {
      if (field.number == graph_field::kNode) add_node(field.payload);
    }
    for (const MessageField& field : fields) {
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
    for (const MessageField& field : message_fields(node)) {
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
    for (const MessageField& field : message_fields(attribute)) {
      if (field.number == attribute_field::kName) name = field.payload;
      if (field.number == attribute_field::kGraph || field.number == attribute_field::kGraphs)
        has_bodies_ = true;
      if (field.number != attribute_field::kDocString) digest.add_text(field.bytes);
    }
    return {name, std::move(digest).hex()};
  }

  void add_value(const MessageField& field) {
    hash_.add_number(field.number);
    for (const MessageField& inner : message_fields(field.payload)) {
      if (inner.number == value_info_field::kName) hash_.add_number(number_of(inner.payload));
      if (inner.number == value_info_field::kType) hash_.add_text(inner.payload);
    }
  }

  // Initializers and value_info, in the order of their values' numbers.
  void add_unordered(const std::vector<MessageField>& fields) {
    std::vector<std::pair<std::uint64_t, std::string>> digests;
    for (const MessageField& field : fields) {
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
    for (const MessageField& field : message_fields(tensor)) {
      if (field.number == tensor_field::kName) number = number_of(field.payload);
      if (field.number == tensor_field::kDataLocation) is_elsewhere_ = true;
      if (field.number == tensor_field::kName || field.number == tensor_field::kDocString) continue;
      digest.add_text(field.bytes);
    }
    return {number, std::move(digest).hex()};
  }

  std::pair<std::uint64_t, std::string> info_of(std::string_view info) {
    std::uint64_t number = 0;
    std::string type;
    for (const MessageField& field : message_fields(info)) {
      if (field.number == value_info_field::kName) number = number_of(field.payload);
      if (field.number == value_info_field::kType) type = field.payload;
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
