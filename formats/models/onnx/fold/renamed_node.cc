// A body hides the names that it makes itself; below it, only the other ones are renamed. Decoded
// records and the fields of their messages are walked side by side, so that unknown fields stay.
#include "formats/models/onnx/fold/renamed_node.h"

#include <algorithm>
#include <cstddef>

#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/fields.h"

namespace cleave {
namespace {

// The renames that hold inside the body.
OnnxRenames renames_within(const OnnxGraph& body, const OnnxRenames& names) {
  OnnxRenames inner = names;
  for (const OnnxValueInfo& input : body.inputs) inner.erase(input.name);
  for (const OnnxTensor& tensor : body.initializers) inner.erase(tensor.name);
  for (const OnnxNode& node : body.nodes) {
    for (const std::string_view output : node.outputs) inner.erase(output);
  }
  return inner;
}

bool body_mentions(const OnnxGraph& body, const OnnxRenames& names) {
  const OnnxRenames inner = renames_within(body, names);
  if (inner.empty()) return false;
  const auto is_renamed = [&](const auto& one) { return inner.contains(one.name); };
  const auto mentions = [&](const OnnxNode& node) { return mentions_renamed(node, inner); };
  return std::any_of(body.outputs.begin(), body.outputs.end(), is_renamed) ||
         std::any_of(body.nodes.begin(), body.nodes.end(), mentions);
}

std::string renamed_value_info(const OnnxValueInfo& info, const OnnxRenames& names) {
  std::string out;
  put_bytes(out, value_info_field::kName, renamed(info.name, names));
  OnnxWalk walk;
  for (OnnxFields field(info.record.payload, "a value's type", walk); field.next();) {
    field.skip();
    if (field.key() != bytes_field(value_info_field::kName)) out += field.whole();
  }
  return out;
}

std::string renamed_body(const OnnxGraph& body, const OnnxRenames& names) {
  const OnnxRenames inner = renames_within(body, names);
  std::string out;
  std::size_t node = 0, output = 0;
  OnnxWalk walk;
  for (OnnxFields field(body.record.payload, "a graph", walk); field.next();) {
    field.skip();
    if (field.key() == bytes_field(graph_field::kNode)) {
      put_bytes(out, graph_field::kNode, renamed_onnx_node(body.nodes[node++], inner));
    } else if (field.key() == bytes_field(graph_field::kOutput)) {
      put_bytes(out, graph_field::kOutput, renamed_value_info(body.outputs[output++], inner));
    } else {
      out += field.whole();
    }
  }
  return out;
}

std::string renamed_attribute(const OnnxAttribute& attribute, const OnnxRenames& names) {
  std::string out;
  std::size_t body = 0;
  OnnxWalk walk;
  for (OnnxFields field(attribute.record.payload, "an attribute", walk); field.next();) {
    field.skip();
    const bool is_body = field.key() == bytes_field(attribute_field::kGraph) ||
                         field.key() == bytes_field(attribute_field::kGraphs);
    if (is_body) {
      put_bytes(out, field.field_number(), renamed_body(attribute.graphs[body++], names));
    } else {
      out += field.whole();
    }
  }
  return out;
}

}  // namespace

std::string_view renamed(std::string_view name, const OnnxRenames& names) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

bool mentions_renamed(const OnnxNode& node, const OnnxRenames& names) {
  const auto is_renamed = [&](std::string_view name) { return names.contains(name); };
  if (std::any_of(node.inputs.begin(), node.inputs.end(), is_renamed)) return true;
  if (std::any_of(node.outputs.begin(), node.outputs.end(), is_renamed)) return true;
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const OnnxGraph& body : attribute.graphs) {
      if (body_mentions(body, names)) return true;
    }
  }
  return false;
}

std::string renamed_onnx_node(const OnnxNode& node, const OnnxRenames& names) {
  std::string out;
  std::size_t attribute = 0;
  OnnxWalk walk;
  for (OnnxFields field(node.record.payload, "a node", walk); field.next();) {
    if (field.key() == bytes_field(node_field::kInput) ||
        field.key() == bytes_field(node_field::kOutput)) {
      put_bytes(out, field.field_number(), renamed(field.text(), names));
      continue;
    }
    field.skip();
    if (field.key() == bytes_field(node_field::kAttribute)) {
      put_bytes(out, node_field::kAttribute,
                renamed_attribute(node.attributes[attribute++], names));
    } else {
      out += field.whole();
    }
  }
  return out;
}

}  // namespace cleave
