#include "formats/models/onnx/write/context_nodes.h"

#include <algorithm>
#include <protozero/exception.hpp>
#include <unordered_set>

#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/fields.h"

namespace cleave {
namespace {

constexpr std::string_view kOp = "EPContext";
constexpr std::string_view kFileAttribute = "ep_cache_context";
constexpr std::string_view kEmbedAttribute = "embed_mode";

class ContextReader {
 public:
  ContextReader(std::string_view graph, const ContextPlace& place) : graph_(graph), place_(place) {}

  Result<OnnxContext, std::string> read() {
    for (const MessageField& field : message_fields(graph_)) {
      if (field.number == graph_field::kInput) {
        context_.inputs.emplace_back(field_of(field.payload, value_info_field::kName));
      }
      if (field.number == graph_field::kInput || field.number == graph_field::kOutput) {
        boundary_.insert(field_of(field.payload, value_info_field::kName));
      }
      if (field.number == graph_field::kInitializer) return std::string("it holds weights");
    }
    for (const MessageField& field : message_fields(graph_)) {
      if (field.number == graph_field::kNode) {
        const std::string_view op = field_of(field.payload, node_field::kOpType);
        if (op != kOp) return "it holds a node \"" + std::string(op) + "\"";
        context_.nodes.push_back(node(field.payload));
        if (lacks_) return "its file \"" + *lacks_ + "\" cannot be read";
      }
      const bool is_given =
          field.number == graph_field::kOutput || field.number == graph_field::kValueInfo;
      if (is_given) add_info(field.payload);
    }
    if (context_.empty()) return std::string("it holds no node");
    return std::move(context_);
  }

 private:
  std::string renamed(std::string_view name) const {
    if (name.empty() || boundary_.contains(name)) return std::string(name);
    return std::string(place_.part) + "/" + std::string(name);
  }

  void add_info(std::string_view info) {
    std::string made;
    const std::string name = renamed(field_of(info, value_info_field::kName));
    for (const MessageField& field : message_fields(info)) {
      if (field.number == value_info_field::kName) {
        put_bytes(made, field.number, name);
      } else {
        made.append(field.bytes);
      }
    }
    context_.names.push_back(name);
    context_.infos.push_back(std::move(made));
  }

  // Inputs and outputs stay in the order in which the provider wrote them: it binds them by place.
  std::string node(std::string_view message) {
    std::string made;
    for (const MessageField& field : message_fields(message)) {
      switch (field.number) {
        case node_field::kInput:
        case node_field::kOutput:
          put_bytes(made, field.number, renamed(field.payload));
          break;
        case node_field::kName:
          put_bytes(made, field.number,
                    std::string(place_.part) + "/" + std::string(field.payload));
          break;
        case node_field::kAttribute:
          put_bytes(made, field.number, attribute(field.payload, is_embedded(message)));
          break;
        default:
          made.append(field.bytes);
      }
    }
    return made;
  }

  static bool is_embedded(std::string_view node) {
    for (const MessageField& field : message_fields(node)) {
      if (field.number != node_field::kAttribute) continue;
      if (field_of(field.payload, attribute_field::kName) != kEmbedAttribute) continue;
      for (const MessageField& inner : message_fields(field.payload)) {
        if (inner.number == attribute_field::kInt) return inner.bytes.back() != 0;
      }
      return false;  // a 0 may be left out
    }
    return true;  // the attribute's default
  }

  // The path of the file becomes one from the folder of the written model.
  std::string attribute(std::string_view message, bool is_embedded) {
    const std::string_view name = field_of(message, attribute_field::kName);
    const bool is_mode = place_.content && name == kEmbedAttribute;
    const bool is_file = !is_embedded && name == kFileAttribute;
    if (!is_file && !is_mode) return std::string(message);
    std::string made;
    for (const MessageField& field : message_fields(message)) {
      if (is_mode && field.number == attribute_field::kInt) continue;
      if (is_file && field.number == attribute_field::kString) {
        put_bytes(made, field.number, context_of(field.payload));
      } else {
        made.append(field.bytes);
      }
    }
    if (is_mode) put_number(made, attribute_field::kInt, 1);
    return made;
  }

  // What a node says of its file: where it is, or what it holds. A compiler may name any path; what it made
  // is in one folder, so only the last part of the path counts.
  std::string context_of(std::string_view path) {
    const std::string_view file = path.substr(path.find_last_of("/\\") + 1);
    const bool is_name =
        !file.empty() && file != "." && file != ".." && file.find('\0') == file.npos;
    if (is_name && !place_.content) return std::string(place_.folder) + std::string(file);
    auto content = is_name ? place_.content(file) : std::nullopt;
    if (!content && !lacks_) lacks_ = path;
    return content ? *std::move(content) : std::string();
  }

  std::string_view graph_;
  const ContextPlace& place_;
  std::unordered_set<std::string_view> boundary_;
  OnnxContext context_;
  std::optional<std::string> lacks_;  // the first file that cannot be read
};

}  // namespace

Result<OnnxContext, std::string> read_context_model(std::string_view model,
                                                    const ContextPlace& place) {
  try {
    return ContextReader(field_of(model, model_field::kGraph), place).read();
  } catch (const protozero::exception&) {
    return std::string("it is no ONNX model");
  }
}

}  // namespace cleave
