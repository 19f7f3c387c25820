#include "formats/lists/tables/node_list.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/base/capped_list.h"
#include "core/base/spelling.h"
#include "core/base/white_space.h"
#include "formats/base/io/side_file.h"
#include "formats/base/json/walk.h"
#include "formats/base/text/faults.h"
#include "formats/base/text/utf8.h"

namespace cleave {
namespace {

constexpr std::size_t kMostNamed = 10;

struct ListedName {
  std::string name;
  std::size_t offset;
};

std::vector<ListedName> names_in_json(std::string_view bytes, TextFaults& faults) {
  std::string padded;  // with the zero bytes that JsonCursor needs
  padded.reserve(bytes.size() + JsonCursor::kPadding);
  padded.append(bytes).append(JsonCursor::kPadding, '\0');
  JsonWalk json(std::string_view(padded).substr(0, bytes.size()), faults);
  std::vector<ListedName> names;
  json.each_item("a node list", "a list of names", [&] {
    const std::size_t offset = json.offset();
    if (auto name = json.take_text("a node's name")) names.push_back({*std::move(name), offset});
  });
  json.finish();
  return names;
}

std::vector<ListedName> names_in_lines(std::string_view bytes) {
  std::vector<ListedName> names;
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    std::string_view line = bytes.substr(begin, end - begin);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!trimmed(line).empty()) names.push_back({std::string(line), begin});
    begin = end + 1;
  }
  return names;
}

std::vector<std::string> advice_on(const Graph& graph, std::string_view name) {
  NearestName nearest(name);
  for (const NodeId node : graph.nodes()) nearest.offer(graph.node(node).name);
  if (nearest.best().empty()) return {};
  return {"did you mean " + escaped_in_quotes(nearest.best()) + "?"};
}

std::vector<NodeId> find_nodes(const Graph& graph, const std::vector<ListedName>& names,
                               TextFaults& faults) {
  std::unordered_map<std::string_view, NodeId> by_name;
  for (const NodeId node : graph.nodes()) by_name.emplace(graph.node(node).name, node);
  for (const NodeId node : graph.constants()) by_name.emplace(graph.node(node).name, node);
  std::vector<NodeId> nodes;
  CappedList unknown(kMostNamed);
  for (const ListedName& listed : names) {
    const auto at = by_name.find(listed.name);
    if (at == by_name.end()) {
      if (!unknown.shows_next()) continue;
      faults.error(listed.offset, "the model has no node " + escaped_in_quotes(listed.name),
                   advice_on(graph, listed.name));
    } else if (graph.nodes().contains(at->second)) {
      nodes.push_back(at->second);
    }
  }
  if (unknown.left_out() > 0) {
    faults.error(0, unknown.rest("... and # more names that are not nodes of the model"));
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

Loaded<std::vector<NodeId>> read_node_list(const std::string& path, const Graph& graph) {
  const auto source = open_side_file(path);
  if (!source) return source.error();
  const std::string_view bytes = source->bytes();
  TextFaults faults(source->path(), bytes);
  const std::size_t bad = std::min(bytes.find('\0'), first_invalid_utf8(bytes));
  if (bad != bytes.npos) {
    faults.error(bad, "a node list is text in UTF-8, and this is not");
    return std::move(faults.errors());
  }
  const bool is_json = !trimmed(bytes).empty() && trimmed(bytes).front() == '[';
  const auto names = is_json ? names_in_json(bytes, faults) : names_in_lines(bytes);
  std::vector<NodeId> nodes;
  if (faults.errors().empty()) nodes = find_nodes(graph, names, faults);
  if (faults.errors().empty() && nodes.empty()) faults.error(0, "names no node of the model");
  if (!faults.errors().empty()) return std::move(faults.errors());
  return nodes;
}

}  // namespace cleave
