#include "formats/models/onnx/index/compiled_nodes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "formats/models/onnx/index/attributes.h"

namespace cleave {
namespace {

bool is_compiled(std::string_view op, std::string_view domain) {
  return op == "EPContext" && domain == "com.microsoft";
}

// What a node says, with the defaults of ONNX Runtime's schema.
struct CompiledNode {
  bool is_main = true, is_embedded = true;
  std::string_view source, file;
};

CompiledNode read_compiled(const OnnxNode& node) {
  CompiledNode out;
  for (const OnnxAttribute& attribute : node.attributes) {
    const OnnxAttributeValue value = decode_onnx_attribute(attribute);
    const bool is_off = !value.integers.empty() && value.integers.front() == 0;
    if (attribute.name == "main_context") out.is_main = !is_off;
    if (attribute.name == "embed_mode") out.is_embedded = !is_off;
    if (value.strings.empty()) continue;
    if (attribute.name == "source") out.source = value.strings.front();
    if (attribute.name == "ep_cache_context") out.file = value.strings.front();
  }
  return out;
}

class ContextFiles {
 public:
  explicit ContextFiles(const OnnxModel& model) {
    for (const OnnxFunction& function : model.functions) {
      for (const OnnxNode& node : function.nodes) add(node);
    }
  }

  void add_main(const OnnxNodes& nodes, std::uint32_t i) {
    if (!nodes.has_bodies(i) && !is_compiled(nodes.kind(i).op_type, nodes.kind(i).domain)) return;
    OnnxNode room;
    add(nodes.read(i, room));
  }

  std::vector<std::string_view> take() { return std::move(files_); }

 private:
  // Recurses into the node's bodies, as deep as the file nests, which its reader limits.
  void add(const OnnxNode& node) {
    if (is_compiled(node.op_type, node.domain)) {
      const CompiledNode compiled = read_compiled(node);
      const bool is_named = !compiled.is_embedded && !compiled.file.empty();
      if (is_named && seen_.insert(compiled.file).second) files_.push_back(compiled.file);
    }
    for (const OnnxAttribute& attribute : node.attributes) {
      for (const OnnxGraph& body : attribute.graphs) {
        for (const OnnxNode& inner : body.nodes) add(inner);
      }
    }
  }

  std::unordered_set<std::string_view> seen_;
  std::vector<std::string_view> files_;
};

struct Contexts {
  std::vector<NodeId> mains, others;
};

// By source, in the order of their first nodes' names: only the groups matter.
std::map<std::string_view, Contexts> contexts_of(const OnnxModel& model, const Graph& graph) {
  std::map<std::string_view, Contexts> contexts;
  OnnxNode room;
  for (const NodeId node : graph.nodes()) {
    const std::uint32_t record = model.node_index[index(node)];
    const OnnxNodeKind& kind = model.graph.nodes.kind(record);
    if (!is_compiled(kind.op_type, kind.domain)) continue;
    const CompiledNode compiled = read_compiled(model.graph.nodes.read(record, room));
    Contexts& own = contexts[compiled.source];
    (compiled.is_main ? own.mains : own.others).push_back(node);
  }
  return contexts;
}

}  // namespace

std::vector<std::string_view> context_files(const OnnxModel& model,
                                            std::span<const std::uint32_t> nodes) {
  ContextFiles files(model);
  for (const std::uint32_t node : nodes) files.add_main(model.graph.nodes, node);
  return files.take();
}

std::vector<std::string_view> context_files(const OnnxModel& model) {
  std::vector<std::uint32_t> all(model.graph.nodes.size());
  std::iota(all.begin(), all.end(), 0);
  return context_files(model, all);
}

std::vector<std::vector<NodeId>> nodes_of_contexts(const OnnxModel& model, const Graph& graph) {
  std::vector<std::vector<NodeId>> sets;
  for (auto& [source, own] : contexts_of(model, graph)) {
    if (own.others.empty() || own.mains.size() + own.others.size() < 2) continue;
    std::vector<NodeId>& set = sets.emplace_back(std::move(own.mains));
    set.insert(set.end(), own.others.begin(), own.others.end());
    std::sort(set.begin(), set.end());
  }
  return sets;
}

std::optional<MissingContext> missing_context(const OnnxModel& model, const Graph& graph,
                                              std::span<const NodeId> nodes) {
  const std::unordered_set<NodeId> piece(nodes.begin(), nodes.end());
  const auto is_in = [&](NodeId node) { return piece.contains(node); };
  for (const auto& [source, own] : contexts_of(model, graph)) {
    const auto other = std::find_if(own.others.begin(), own.others.end(), is_in);
    const auto main = std::find_if_not(own.mains.begin(), own.mains.end(), is_in);
    if (other != own.others.end() && main != own.mains.end()) {
      return MissingContext{.node = *other, .context = *main};
    }
  }
  return std::nullopt;
}

}  // namespace cleave
