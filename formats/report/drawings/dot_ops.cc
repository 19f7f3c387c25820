#include "formats/report/drawings/dot_ops.h"

#include <algorithm>

#include "formats/base/text/capped_list.h"
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
  CappedList list(most);
  std::string line;
  for (const OpCount& op : ops) {
    if (!list.shows_next()) continue;
    line += (line.empty() ? "" : ", ") + count_text(op.count) + " " + op_label(graph.text(op.op));
  }
  return line + list.rest(", # other op type", ", # other op types");
}

}  // namespace cleave
