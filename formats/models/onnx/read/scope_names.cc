#include "formats/models/onnx/read/scope_names.h"

#include "core/base/name_table.h"
#include "core/base/white_space.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

// `['', 'encoder', 'encoder.layer.0', 'linear']`, as Python prints a list: the last is the node.
std::string_view scope_of_list(std::string_view list) {
  std::string_view last, scope;
  for (std::size_t at = 0; at < list.size(); ++at) {
    const char quote = list[at];
    if (quote != '\'' && quote != '"') continue;
    const std::size_t end = list.find(quote, at + 1);
    if (end == std::string_view::npos) break;
    if (!last.empty()) scope = last;
    last = list.substr(at + 1, end - at - 1);
    at = end;
  }
  return scope;
}

// `: main.Net/encoder: main.Encoder/encoder.layer.0: Linear/linear: aten.linear.default`
std::string_view scope_of_namespace(std::string_view text) {
  std::string_view scope;
  for (std::size_t slash = text.find('/'); slash != std::string_view::npos;
       slash = text.find('/')) {
    const std::string_view part = text.substr(0, slash);
    const std::string_view name = trimmed(part.substr(0, part.find(": ")));
    if (!name.empty() && name.front() != ':') scope = name;
    text.remove_prefix(slash + 1);
  }
  return scope;
}

std::string scope_of_path(std::string_view name) {
  std::string scope;
  for (std::size_t slash = name.find('/'); slash != std::string_view::npos;
       slash = name.find('/')) {
    const std::string_view part = name.substr(0, slash);
    if (!part.empty()) {
      if (!scope.empty()) scope += '.';
      scope += part;
    }
    name.remove_prefix(slash + 1);
  }
  return scope;
}

}  // namespace

OnnxUniqueNames::OnnxUniqueNames(const OnnxNodes& nodes, GraphBuilder& builder,
                                 std::vector<std::string>& notes) {
  NameTable given;  // names in the file: the first node with each
  const auto given_name = [&](std::uint32_t i) { return nodes.name(i); };
  std::vector<std::uint32_t> nameless;
  OnnxNode room;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const std::string_view name = nodes.read_names(i, room).name;
    if (name.empty() || given.find_or_insert(name, i, given_name) != NameTable::kAbsent) {
      nameless.push_back(i);
    }
  }
  if (nameless.empty()) return;
  made_.resize(nodes.size());
  NameTable taken;  // names that were made
  const auto made_name = [&](std::uint32_t i) { return made_[i]; };
  std::size_t unnamed = 0, repeated = 0;
  std::string example;
  for (const std::uint32_t i : nameless) {
    const OnnxNode& node = nodes.read_names(i, room);
    std::string name(node.name.empty() ? node.op_type : node.name);
    name += '_' + std::to_string(i);
    while (given.find(name, given_name) != NameTable::kAbsent ||
           taken.find(name, made_name) != NameTable::kAbsent) {
      name += '_';
    }
    made_[i] = builder.keep(name);
    taken.find_or_insert(made_[i], i, made_name);
    ++(node.name.empty() ? unnamed : repeated);
    if (!node.name.empty() && example.empty()) {
      example = ", the first of them " + escaped_in_quotes(name);
    }
  }
  if (unnamed > 0) {
    notes.push_back(
        std::to_string(unnamed) +
        (unnamed == 1 ? " node without a name is called" : " nodes without a name are called") +
        " <op>_<index>");
  }
  if (repeated > 0) {
    notes.push_back(std::to_string(repeated) +
                    (repeated == 1 ? " node with a name that is already used is called"
                                   : " nodes with a name that is already used are called") +
                    " <name>_<index>" + example);
  }
}

std::string_view OnnxScopes::kept(std::string_view scope, GraphBuilder& builder) {
  scope_ = scope;
  builder.intern(scope);
  return scope_;
}

std::string_view OnnxScopes::of(const OnnxNode& node, GraphBuilder& builder) {
  std::string_view noted;
  for (const OnnxKeyValue& entry : node.metadata) {
    if (entry.key == "pkg.torch.onnx.name_scopes") {
      path_ = {};
      return kept(scope_of_list(entry.value), builder);
    }
    if (entry.key == "namespace" && noted.data() == nullptr) noted = entry.value;
  }
  if (noted.data() != nullptr) {
    path_ = {};
    return kept(scope_of_namespace(noted), builder);
  }
  const std::string_view path = node.name.substr(0, node.name.rfind('/') + 1);
  if (path.empty()) return {};
  if (path == path_) return scope_;
  path_ = path;
  return kept(scope_of_path(path), builder);
}

}  // namespace cleave
