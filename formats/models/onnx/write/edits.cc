#include "formats/models/onnx/write/edits.h"

#include <algorithm>

namespace cleave {

OnnxEdits::OnnxEdits(const OnnxModel& model, const Finder& find) {
  OnnxNode room;
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    add_node(model.graph.nodes.read(i, room), find);
  }
  for (const OnnxFunction& function : model.functions) {
    for (const OnnxNode& node : function.nodes) add_node(node, find);
    for (const OnnxAttribute& attribute : function.default_attributes) {
      add_attribute(attribute, find);
    }
  }
  std::sort(edits_.begin(), edits_.end(), [](const OnnxEdit& one, const OnnxEdit& other) {
    return std::less<>()(one.payload.data(), other.payload.data());
  });
}

// Recurses into the node's bodies, as deep as the file nests, which its reader limits.
void OnnxEdits::add_node(const OnnxNode& node, const Finder& find) {
  if (node.domain == "ai.onnx") edits_.push_back({node.record.payload, std::nullopt});
  for (const OnnxAttribute& attribute : node.attributes) add_attribute(attribute, find);
}

void OnnxEdits::add_attribute(const OnnxAttribute& attribute, const Finder& find) {
  for (const OnnxTensor& tensor : attribute.tensors) add_tensor(tensor, find);
  for (const OnnxGraph& body : attribute.graphs) {
    for (const OnnxTensor& tensor : body.initializers) add_tensor(tensor, find);
    for (const OnnxNode& node : body.nodes) add_node(node, find);
  }
}

void OnnxEdits::add_tensor(const OnnxTensor& tensor, const Finder& find) {
  if (!tensor.is_external) return;
  if (const auto range = find(tensor)) edits_.push_back({tensor.record.payload, range});
}

std::vector<OnnxEdit>::const_iterator OnnxEdits::first_from(const char* begin) const {
  return std::lower_bound(
      edits_.begin(), edits_.end(), begin,
      [](const OnnxEdit& edit, const char* at) { return std::less<>()(edit.payload.data(), at); });
}

bool OnnxEdits::are_within(std::string_view bytes) const {
  const auto edit = first_from(bytes.data());
  return edit != edits_.end() && edit->payload.data() < bytes.data() + bytes.size();
}

const OnnxEdit* OnnxEdits::of(std::string_view payload) const {
  const auto edit = first_from(payload.data());
  return edit != edits_.end() && edit->payload.data() == payload.data() ? &*edit : nullptr;
}

}  // namespace cleave
