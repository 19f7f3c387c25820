#include "formats/report/drawings/dot_ops.h"

#include <algorithm>

#include "formats/base/text/number_text.h"
#include "formats/report/drawings/dot_style.h"

namespace cleave {

std::vector<OpCount> count_ops(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<NameId> names;
  names.reserve(nodes.size());
  for (const NodeId node : nodes) names.push_back(graph.node(node).op);
  std::sort(names.begin(), names.end());
  std::vector<OpCount> ops;
  for (const NameId name : names) {
    if (ops.empty() || ops.back().op != name) ops.push_back({name, 0});
    ++ops.back().count;
  }
  std::sort(ops.begin(), ops.end(), [&](const OpCount& a, const OpCount& b) {
    return a.count != b.count ? a.count > b.count : graph.text(a.op) < graph.text(b.op);
  });
  return ops;
}

std::string ops_line(const Graph& graph, const std::vector<OpCount>& ops, std::size_t most) {
  std::string line;
  for (std::size_t i = 0; i < std::min(ops.size(), most); ++i) {
    if (i > 0) line += ", ";
    line += count_text(ops[i].count) + " " + op_label(graph.text(ops[i].op));
  }
  if (ops.size() > most) line += ", " + counted(ops.size() - most, "other op type");
  return line;
}

}  // namespace cleave
