// Makes the graph that passes work on from the index of an ONNX file, its links and its types.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/infer/infer_shapes.h"

namespace cleave {

// Names from an ONNX file: made unique, and parsed for the module scope.

// A unique name for each node of the main graph: the file's; `<op>_<index>` if it has none;
// `<name>_<index>` if an earlier node has the same. The index is the node's place in the file, whatever was
// folded: lists name nodes by it. A node of a branch that took the place of its If, file node 5, has 5_0, 5_1, ...
class OnnxUniqueNames {
 public:
  // The builder keeps names that are made. Appends to `notes` how many were.
  OnnxUniqueNames(const OnnxNodes& nodes, GraphBuilder& builder, std::vector<std::string>& notes);

  std::string_view of(std::uint32_t i) const {
    return made_.empty() || made_[i].empty() ? nodes_.name(i) : made_[i];
  }

 private:
  const OnnxNodes& nodes_;
  std::vector<std::string_view> made_;  // by node, "" if it keeps its own; empty if all do
};

// The dotted path of the module that the node came from: as noted by the exporter, else from a name
// that is a path. `/encoder/layer.0/attn/MatMul` is in `encoder.layer.0.attn`.
class OnnxScopes {
 public:
  explicit OnnxScopes(GraphBuilder& builder) : builder_(builder) {}

  NameId of(std::string_view node_name, std::span<const OnnxKeyValue> metadata);

 private:
  GraphBuilder& builder_;
  std::string_view path_;  // of the node before, if its name was a path: up to the last '/'
  NameId scope_{0};        // of that path
  std::string room_;       // reused for its memory
};

struct OnnxGraphMade {
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
};

// Also fills model.node_index, tensor_index and full_types. Linear. Takes the links and the types by value
// and out of `types`, and frees them and the model's names as soon as it can: at a million nodes they are
// as large as the graph.
Loaded<OnnxGraphMade> make_onnx_graph(const SourceFile& source, OnnxModel& model, OnnxLinks links,
                                      OnnxTypes& types);

}  // namespace cleave
