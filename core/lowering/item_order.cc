// How: items are numbered by their first node. A depth-first walk from each item, in that order,
// puts an item after everything it reads. Then all items are renumbered by position.
#include "core/lowering/item_order.h"

#include <algorithm>
#include <limits>

namespace cleave {
namespace {

constexpr std::uint32_t kNoItem = std::numeric_limits<std::uint32_t>::max();

// Items by their first node, before ordering.
struct RawItems {
  Adjacency nodes;
  PerNode<std::uint32_t> item_of;  // kNoItem outside the partition
};

RawItems gather_items(const Graph& graph, std::span<const NodeId> partition,
                      const Fusions& fusions) {
  RawItems raw{.nodes = {}, .item_of = PerNode<std::uint32_t>(graph.node_count(), kNoItem)};
  std::vector<std::uint32_t> item_of_group(fusions.group_count(), kNoItem);
  std::vector<std::uint32_t> item_of_place;
  std::uint32_t count = 0;
  for (const NodeId node : partition) {
    const GroupId group = fusions.group_of.empty() ? kNone<GroupId> : fusions.group_of[node];
    std::uint32_t item = group == kNone<GroupId> ? kNoItem : item_of_group[index(group)];
    if (item == kNoItem) item = count++;
    if (group != kNone<GroupId>) item_of_group[index(group)] = item;
    raw.item_of[node] = item;
    item_of_place.push_back(item);
  }
  raw.nodes = members_of(item_of_place, count);
  for (std::uint32_t& place : raw.nodes.items) place = index(partition[place]);
  return raw;
}

Adjacency reads_of(const Graph& graph, const RawItems& raw) {
  Adjacency reads;
  std::vector<std::uint32_t> list;
  for (std::uint32_t item = 0; item < raw.nodes.count(); ++item) {
    list.clear();
    for (const std::uint32_t node : raw.nodes.of(item)) {
      for (const Operand& operand : graph.operands(NodeId{node})) {
        const NodeId producer = graph.value(operand.value).producer;
        if (producer == kNone<NodeId> || index(producer) >= graph.node_count()) continue;
        const std::uint32_t other = raw.item_of[producer];
        if (other != kNoItem && other != item) list.push_back(other);
      }
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (const std::uint32_t other : list) reads.add(other);
    reads.end_list();
  }
  return reads;
}

std::vector<std::uint32_t> depth_first_order(const Adjacency& reads) {
  struct Step {
    std::uint32_t item;
    std::uint32_t next;  // of what it reads
  };
  std::vector<std::uint32_t> order;
  std::vector<std::uint8_t> is_met(reads.count(), 0);
  std::vector<Step> stack;
  for (std::uint32_t root = 0; root < reads.count(); ++root) {
    if (is_met[root] != 0) continue;
    is_met[root] = 1;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      const auto list = reads.of(stack.back().item);
      if (stack.back().next == list.size()) {
        order.push_back(stack.back().item);
        stack.pop_back();
        continue;
      }
      const std::uint32_t other = list[stack.back().next++];
      if (is_met[other] != 0) continue;
      is_met[other] = 1;
      stack.push_back({other, 0});
    }
  }
  return order;
}

// A mark for each item of an order: whether it is in the set.
std::vector<std::uint8_t> marks_of(const ItemOrder& order, std::span<const std::uint32_t> items) {
  std::vector<std::uint8_t> marks(order.count(), 0);
  for (const std::uint32_t item : items) marks[item] = 1;
  return marks;
}

}  // namespace

ItemOrder order_items(const Graph& graph, std::span<const NodeId> partition,
                      const Fusions& fusions) {
  const RawItems raw = gather_items(graph, partition, fusions);
  const Adjacency reads = reads_of(graph, raw);
  const std::vector<std::uint32_t> order = depth_first_order(reads);
  std::vector<std::uint32_t> position(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  ItemOrder result;
  std::vector<std::uint32_t> list;
  for (const std::uint32_t item : order) {
    for (const std::uint32_t node : raw.nodes.of(item)) result.nodes.add(node);
    result.nodes.end_list();
    list.clear();
    for (const std::uint32_t other : reads.of(item)) list.push_back(position[other]);
    std::sort(list.begin(), list.end());
    for (const std::uint32_t other : list) result.reads.add(other);
    result.reads.end_list();
  }
  return result;
}

ItemOrder order_items(const Graph& graph, std::span<const NodeId> partition) {
  return order_items(graph, partition, Fusions{});
}

ItemSet all_items(const ItemOrder& order) {
  ItemSet items(order.count());
  for (std::uint32_t i = 0; i < items.size(); ++i) items[i] = i;
  return items;
}

std::vector<NodeId> nodes_of(const ItemOrder& order, std::span<const std::uint32_t> items) {
  std::vector<NodeId> nodes;
  for (const std::uint32_t item : items) {
    for (const std::uint32_t node : order.nodes.of(item)) nodes.push_back(NodeId{node});
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

bool is_convex(const ItemOrder& order, std::span<const std::uint32_t> items) {
  if (items.empty()) return true;
  const std::uint32_t first = items.front();
  std::vector<std::uint8_t> is_in(items.back() - first + 1, 0);
  // reached from the set through an outside item
  std::vector<std::uint8_t> has_left(is_in.size(), 0);
  for (const std::uint32_t item : items) is_in[item - first] = 1;
  for (std::uint32_t item = first; item <= items.back(); ++item) {
    const bool is_member = is_in[item - first] != 0;
    for (const std::uint32_t other : order.reads.of(item)) {
      if (other < first) continue;
      const bool comes_back = has_left[other - first] != 0;
      if (is_member && comes_back) return false;
      if (!is_member && (comes_back || is_in[other - first] != 0)) has_left[item - first] = 1;
    }
  }
  return true;
}

ItemSet cone_of(const ItemOrder& order, std::span<const std::uint32_t> items, std::uint32_t last) {
  const std::vector<std::uint8_t> is_in = marks_of(order, items);
  std::vector<std::uint8_t> is_above(order.count(), 0);
  is_above[last] = 1;
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    if (is_above[*item] == 0) continue;
    for (const std::uint32_t other : order.reads.of(*item)) is_above[other] = is_in[other];
  }
  ItemSet cone;
  for (const std::uint32_t item : items) {
    if (is_above[item] != 0) cone.push_back(item);
  }
  return cone;
}

ItemSet descendants_of(const ItemOrder& order, std::span<const std::uint32_t> items,
                       std::uint32_t first) {
  std::vector<std::uint8_t> is_below(order.count(), 0);
  is_below[first] = 1;
  ItemSet result;
  for (const std::uint32_t item : items) {
    if (item <= first) continue;
    const auto reads = order.reads.of(item);
    if (std::any_of(reads.begin(), reads.end(), [&](auto other) { return is_below[other] != 0; })) {
      is_below[item] = 1;
      result.push_back(item);
    }
  }
  return result;
}

std::vector<std::uint32_t> distances_to_last(const ItemOrder& order,
                                             std::span<const std::uint32_t> items) {
  std::vector<std::uint32_t> distance(order.count(), 0);
  std::vector<std::uint32_t> result(items.size());
  for (std::size_t i = items.size(); i-- > 0;) {
    result[i] = distance[items[i]];
    for (const std::uint32_t other : order.reads.of(items[i])) {
      distance[other] = std::max(distance[other], result[i] + 1);
    }
  }
  return result;
}

ItemSet without(std::span<const std::uint32_t> items, std::span<const std::uint32_t> taken) {
  ItemSet result;
  std::set_difference(items.begin(), items.end(), taken.begin(), taken.end(),
                      std::back_inserter(result));
  return result;
}

}  // namespace cleave
