// Who makes what each node of an ONNX graph reads: names resolved through scopes.
//
// A body (of If, Loop, Scan) sees its own values and, by name, those of the graphs around it. What
// it takes from there is a *capture*: an input of the node that owns the body, though not listed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/diagnostic.h"
#include "formats/onnx_model.h"

namespace cleave {

struct OnnxLinks {
  std::vector<std::uint32_t> order;  // indices of the main graph's nodes, makers before readers
  bool was_sorted = true;
  // For node i of the main graph: names of outer values that its bodies read, each once, in order
  // of first use; those that are plain inputs of the node too are left out.
  std::vector<std::uint32_t> capture_begin;
  std::vector<std::string_view> captures;
  std::vector<Diagnostic> warnings;

  std::span<const std::string_view> captures_of(std::size_t node) const {
    return std::span(captures).subspan(capture_begin[node],
                                       capture_begin[node + 1] - capture_begin[node]);
  }
};

// Refuses: a value made twice, one that is read and not made, a body's value with the name of an
// outer one, a cycle; at most 20 of them. Linear, but for the sorting where it is needed.
Loaded<OnnxLinks> link_onnx_graph(const std::string& file, const OnnxModel& model);

// `node "conv1"`, or `node 17 (Conv)` when it has no name.
std::string onnx_node_text(const OnnxNode& node, std::size_t index);

}  // namespace cleave
