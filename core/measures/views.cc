// Opens one view after the other:
// 1. a range that fits is shown node by node;
// 2. a larger one is divided by partition, then by one more component of scopes at a time, until
//    there are several groups; without any, by runs of equal length. Where one view has no room for
//    the partitions, and most nodes have a scope, scopes come first;
// 3. too many groups are bundled; each group becomes a view to open in its turn.
#include "core/measures/views.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace cleave {
namespace {

constexpr std::size_t kDeepestScope = 64;

// What separates the nodes of a view, step by step: their part and then the components of the
// scope, or the components first.
using Level = std::size_t;
constexpr Level kFirst = 0;
constexpr Level kByOrder = kDeepestScope + 1;

// The first `count` components of a scope; all of it when it has fewer.
std::string_view scope_prefix(std::string_view scope, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    end = scope.find('.', end + (i > 0 ? 1 : 0));
    if (end == std::string_view::npos) return scope;
  }
  return scope.substr(0, end);
}

class ViewMaker {
 public:
  ViewMaker(const Graph& graph, const Partition& partition, const ViewOptions& options)
      : graph_(graph),
        partition_(partition),
        most_boxes_(std::max<std::size_t>(options.most_boxes, 2)),
        scopes_first_(partition.count() > most_boxes_ && most_nodes_have_scopes(graph)) {
    views_.view_of = PerNode<ViewId>(graph.node_count());
    views_.order.assign(graph.nodes().begin(), graph.nodes().end());
    add({std::string(graph.name()),
         kNone<ViewId>,
         0,
         static_cast<std::uint32_t>(graph.node_count()),
         {}},
        kFirst);
    for (std::size_t opened = 0; opened < views_.views.size() && opened < options.most_views;
         ++opened) {
      open(id_at<ViewId>(opened));
    }
  }

  Views finish() && { return std::move(views_); }

 private:
  // Nodes that are consecutive in the order.
  struct Group {
    std::string title;
    std::uint32_t first;
    std::uint32_t last;
    bool is_loose = false;  // nodes of the view's own scope: shown singly when there is room

    std::size_t size() const { return last - first; }
  };

  static bool most_nodes_have_scopes(const Graph& graph) {
    std::size_t count = 0;
    for (const NodeId node : graph.nodes()) {
      if (!graph.text(graph.node(node).scope).empty()) ++count;
    }
    return 2 * count > graph.node_count();
  }

  // The number of components of the scope that separate nodes at the level; 0: their part does.
  std::size_t components(Level level) const {
    if (!scopes_first_) return level;
    return level < kDeepestScope ? level + 1 : 0;
  }

  ViewId add(View view, Level level) {
    const auto id = id_at<ViewId>(views_.views.size());
    for (std::uint32_t i = view.first; i < view.last; ++i) views_.view_of[views_.order[i]] = id;
    views_.views.push_back(std::move(view));
    levels_.push_back(level);
    return id;
  }

  void open(ViewId id) {
    const std::uint32_t first = views_[id].first, last = views_[id].last;
    if (last - first <= most_boxes_) return add_nodes(id, first, last);
    std::vector<Group> groups;
    Level level = levels_[index(id)];
    while (level < kByOrder && groups.size() < 2) {
      groups = divide(first, last, level++);
      if (groups.size() == 1 && groups[0].is_loose)
        level = scopes_first_ ? kDeepestScope : kByOrder;
    }
    if (groups.size() < 2) groups = runs(first, last);
    const bool is_bundled = groups.size() > most_boxes_;
    if (is_bundled) groups = bundle(groups);
    // A bundle is divided by the same level again; what was divided by order stays so.
    const Level next = is_bundled ? level - 1 : level;
    std::size_t room = most_boxes_ - groups.size();
    for (const Group& group : groups) {
      const bool is_shown_singly =
          group.size() == 1 || (group.is_loose && group.size() - 1 <= room);
      if (is_shown_singly) {
        room -= group.size() - 1;
        add_nodes(id, group.first, group.last);
      } else {
        const ViewId child = add({group.title, id, group.first, group.last, {}}, next);
        views_.views[index(id)].boxes.push_back({.view = child});
      }
    }
  }

  void add_nodes(ViewId id, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t i = first; i < last; ++i) {
      views_.view_of[views_.order[i]] = id;
      views_.views[index(id)].boxes.push_back({.node = views_.order[i]});
    }
  }

  // Groups in the order of their first nodes; reorders the range so that each group is consecutive.
  std::vector<Group> divide(std::uint32_t first, std::uint32_t last, Level level) {
    std::vector<std::uint32_t> group_of;
    std::vector<Group> groups;
    group_of.reserve(last - first);
    std::unordered_map<std::string_view, std::uint32_t> known;
    for (std::uint32_t i = first; i < last; ++i) {
      const NodeId node = views_.order[i];
      const auto [at, is_new] = known.try_emplace(key_of(node, level), groups.size());
      if (is_new) groups.push_back({title_of(node, level), 0, 0, is_loose(node, level)});
      ++groups[at->second].last;
      group_of.push_back(at->second);
    }
    std::uint32_t begin = first;
    for (Group& group : groups) {
      group.first = begin;
      begin = group.last += begin;
    }
    sort_into(groups, group_of, first);
    return groups;
  }

  void sort_into(const std::vector<Group>& groups, const std::vector<std::uint32_t>& group_of,
                 std::uint32_t first) {
    const std::vector<NodeId> before(
        views_.order.begin() + first,
        views_.order.begin() + first + static_cast<std::ptrdiff_t>(group_of.size()));
    std::vector<std::uint32_t> next;
    next.reserve(groups.size());
    for (const Group& group : groups) next.push_back(group.first);
    for (std::size_t i = 0; i < before.size(); ++i) {
      views_.order[next[group_of[i]]++] = before[i];
    }
  }

  std::string_view key_of(NodeId node, Level level) const {
    const std::size_t count = components(level);
    if (count == 0) return partition_.name(partition_.part_of[node]);
    return scope_prefix(scope_of(node), count);
  }

  std::string title_of(NodeId node, Level level) const {
    std::string key(key_of(node, level));
    if (!is_loose(node, level)) return key;
    return key.empty() ? "no scope" : key + " itself";
  }

  // Whether the node's scope ends above the level, so that its key is its whole scope.
  bool is_loose(NodeId node, Level level) const {
    const std::size_t count = components(level);
    if (count == 0) return false;
    const std::string_view scope = scope_of(node);
    return scope.empty() || scope_prefix(scope, count - 1).size() == scope.size();
  }

  std::string_view scope_of(NodeId node) const { return graph_.text(graph_.node(node).scope); }

  // Equal runs, each at most as long as a view and at most as many as fit in one.
  std::vector<Group> runs(std::uint32_t first, std::uint32_t last) const {
    std::size_t length = most_boxes_;
    while ((last - first + length - 1) / length > most_boxes_) length *= most_boxes_;
    std::vector<Group> groups;
    for (std::uint32_t begin = first; begin < last;) {
      const auto end =
          static_cast<std::uint32_t>(std::min<std::size_t>(last, std::size_t{begin} + length));
      groups.push_back(
          {"nodes " + std::to_string(begin - first + 1) + " to " + std::to_string(end - first),
           begin, end});
      begin = end;
    }
    return groups;
  }

  // Merges neighbouring groups until they fit in a view.
  std::vector<Group> bundle(const std::vector<Group>& groups) const {
    const std::size_t each = (groups.size() + most_boxes_ - 1) / most_boxes_;
    std::vector<Group> bundles;
    for (std::size_t i = 0; i < groups.size(); i += each) {
      const Group& from = groups[i];
      const Group& to = groups[std::min(i + each, groups.size()) - 1];
      const std::string title = &from == &to ? from.title : from.title + " to " + to.title;
      bundles.push_back({title, from.first, to.last});
    }
    return bundles;
  }

  const Graph& graph_;
  const Partition& partition_;
  std::size_t most_boxes_;
  bool scopes_first_;
  Views views_;
  std::vector<Level> levels_;  // by view: where its division begins
};

}  // namespace

Views make_views(const Graph& graph, const Partition& partition, const ViewOptions& options) {
  return ViewMaker(graph, partition, options).finish();
}

}  // namespace cleave
