// A NodeProto with some of the values it mentions renamed, also where its bodies read them.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "formats/models/onnx/index/model.h"

namespace cleave {

// The new name by the old one.
using OnnxRenames = std::unordered_map<std::string_view, std::string_view>;

// The name as it is to be; itself unless it is renamed.
std::string_view renamed(std::string_view name, const OnnxRenames& names);

// Whether the node, or a body of it that does not hide the name, reads or makes a renamed value.
// The node must be decoded with its attributes. Linear in the node and its bodies.
bool mentions_renamed(const OnnxNode& node, const OnnxRenames& names);

// The payload of the node's message with the values renamed. Everything else is copied as it is.
std::string renamed_onnx_node(const OnnxNode& node, const OnnxRenames& names);

}  // namespace cleave
