#include <algorithm>

#include "core/split/node_groups.h"
#include "core/split/options.h"

namespace cleave {

QdqGroups qdq_groups_asked_for(const Graph& graph, const SplitOptions& options,
                               std::span<const SupportList> lists) {
  if (options.keep_qdq) return find_qdq_groups(graph, QdqReach::chains);
  const bool is_asked_for = std::any_of(lists.begin(), lists.end(),
                                        [](const SupportList& list) { return list.keeps_qdq; });
  return is_asked_for ? find_qdq_groups(graph, QdqReach::operators) : QdqGroups();
}

Fusions keep_qdq_groups(const Graph& graph, const QdqGroups& groups, Fusions fusions) {
  return keep_together(graph, {groups.begin, groups.members}, std::move(fusions),
                       ReasonCode::qdq_group);
}

}  // namespace cleave
