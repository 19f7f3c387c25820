// Nodes that nothing reads any more, after what read them was replaced.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

// Removes the nodes that make only values without readers, from the loose values backwards; returns
// how many but for Constants, nullopt when there were none at all. Else links must be made anew.
// Linear.
std::optional<std::size_t> drop_unread_nodes(OnnxModel& model, const OnnxLinks& links,
                                             std::span<const std::string_view> loose);

}  // namespace cleave
