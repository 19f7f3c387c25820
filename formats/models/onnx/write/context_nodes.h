// A compiled partition in a model: the nodes of an EPContext model, which a provider of ONNX Runtime
// wrote, as nodes of the root. They name the file of the compiled part, and read and give the values
// of the partition's boundary under their own names. Or they hold what is in that file (embed_mode 1).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace cleave {

struct OnnxContext {
  std::vector<std::string> nodes = {};  // NodeProtos
  // ValueInfoProtos of what they give, by the order of `names`.
  std::vector<std::string> infos = {};
  std::vector<std::string> names = {};
  std::vector<std::string> inputs = {};  // of the whole part

  bool empty() const { return nodes.empty(); }
};

struct ContextPlace {
  std::string_view part;    // in front of the names of nodes and inner values
  std::string_view folder;  // in front of the names of files, with a slash at the end; or ""
  // Gives the content of a file that a node names, by its name in the folder, which is then written into the
  // node; nullopt if it cannot be read. Null: nodes go on to name files.
  std::function<std::optional<std::string>(std::string_view file)> content = {};
};

// Reads an EPContext model. Error: what else it holds; a model of CPU nodes, or with weights, is
// none; or which file cannot be read.
Result<OnnxContext, std::string> read_context_model(std::string_view model,
                                                    const ContextPlace& place);

}  // namespace cleave
