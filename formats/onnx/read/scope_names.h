// Names that an ONNX file gives: made unique where they must be, and read for the module scope.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph_builder.h"
#include "formats/onnx/index/model.h"

namespace cleave {

// A name for each node of the main graph: the file's, or where it gives none `<op>_<index>`, and
// where a name was there before `<name>_<index>`; never two alike.
class OnnxUniqueNames {
 public:
  // Names that are made are kept by the builder. Tells in `notes` how many.
  OnnxUniqueNames(const OnnxNodes& nodes, GraphBuilder& builder, std::vector<std::string>& notes);

  std::string_view of(std::uint32_t i, const OnnxNode& node) const {
    return made_.empty() || made_[i].empty() ? node.name : made_[i];
  }

 private:
  std::vector<std::string_view> made_;  // by node, "" where it keeps its own; empty where all do
};

// The dotted path of the module that the node came from: as the exporter noted it, else from a name
// that is a path. `/encoder/layer.0/attn/MatMul` is of `encoder.layer.0.attn`.
class OnnxScopes {
 public:
  // Until the next call; the builder knows the name.
  std::string_view of(const OnnxNode& node, GraphBuilder& builder);

 private:
  std::string_view kept(std::string_view scope, GraphBuilder& builder);
  std::string_view path_;  // of the node before, where its name was one: up to the last '/'
  std::string scope_;      // of that node
};

}  // namespace cleave
