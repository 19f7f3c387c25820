#include "core/lowering/grown_piece.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/split/piece.h"

namespace cleave {
namespace {

constexpr std::size_t kMostRadius = 6;

using Nodes = std::set<NodeId>;

class Grower {
 public:
  Grower(const Graph& graph, NodeId refused, std::size_t most_asked, const TakesPiece& takes)
      : graph_(graph), refused_(refused), most_asked_(most_asked), takes_(takes) {}

  GrownPiece grow() {
    Nodes piece = {refused_};
    for (std::size_t radius = 0; radius < kMostRadius; ++radius) {
      const Nodes up = with_neighbors(piece, true, false);
      const Nodes down = with_neighbors(piece, false, true);
      Nodes both = with_neighbors(piece, true, true);
      std::vector<const Nodes*> tries = {&up, &down, &both};
      std::stable_sort(tries.begin(), tries.end(),
                       [](const Nodes* a, const Nodes* b) { return a->size() < b->size(); });
      for (const Nodes* const one : tries) {
        if (*one != piece && one->size() <= kMostGrown && is_taken(*one)) return leave_out(*one);
      }
      if (both.size() > kMostGrown || both == piece) break;
      piece = std::move(both);
    }
    return {{}, asked_};
  }

 private:
  bool is_taken(const Nodes& nodes) {
    const auto known = known_.find(nodes);
    if (known != known_.end()) return known->second;
    if (asked_ == most_asked_) return false;
    ++asked_;
    const bool taken = takes_({nodes.begin(), nodes.end()});
    known_.emplace(nodes, taken);
    return taken;
  }

  bool is_node(NodeId node) const {
    return node != kNone<NodeId> && index(node) < graph_.node_count();
  }

  template <class Visit>
  void for_each_maker(NodeId node, const Visit& visit) const {
    for (const Operand& operand : graph_.operands(node)) {
      const NodeId maker = graph_.value(operand.value).producer;
      if (is_node(maker)) visit(maker);
    }
  }

  Nodes with_neighbors(const Nodes& piece, bool makers, bool readers) const {
    Nodes grown = piece;
    for (const NodeId node : piece) {
      if (makers) for_each_maker(node, [&grown](NodeId maker) { grown.insert(maker); });
      if (!readers) continue;
      for (const NodeId reader : graph_.readers(node)) grown.insert(reader);
    }
    return closed(grown);
  }

  // With every node on a path between two of them: what depends on one and is needed by another.
  Nodes closed(const Nodes& nodes) const {
    const std::uint32_t first = index(*nodes.begin());
    const std::size_t count = index(*nodes.rbegin()) - first + 1;
    std::vector<bool> depends(count), is_needed(count);
    for (std::size_t i = 0; i < count; ++i) {
      const NodeId node{first + static_cast<std::uint32_t>(i)};
      depends[i] = nodes.contains(node);
      for_each_maker(node, [&](NodeId maker) {
        if (index(maker) >= first && depends[index(maker) - first]) depends[i] = true;
      });
    }
    Nodes closure;
    for (std::size_t i = count; i-- > 0;) {
      const NodeId node{first + static_cast<std::uint32_t>(i)};
      if (nodes.contains(node)) is_needed[i] = true;
      if (!is_needed[i]) continue;
      if (depends[i]) closure.insert(node);
      for_each_maker(node, [&](NodeId maker) {
        if (index(maker) >= first) is_needed[index(maker) - first] = true;
      });
    }
    return closure;
  }

  // The edges of the shortest way within the nodes from `from` to each that it is connected to.
  std::map<NodeId, std::size_t> distances(const Nodes& nodes, NodeId from) const {
    std::map<NodeId, std::size_t> distance = {{from, 0}};
    std::vector<NodeId> open = {from};
    for (std::size_t i = 0; i < open.size(); ++i) {
      const NodeId node = open[i];
      const auto visit = [&](NodeId next) {
        if (!nodes.contains(next) || !distance.emplace(next, distance[node] + 1).second) return;
        open.push_back(next);
      };
      for_each_maker(node, visit);
      for (const NodeId reader : graph_.readers(node)) visit(reader);
    }
    return distance;
  }

  GrownPiece leave_out(Nodes piece) {
    std::vector<std::pair<std::size_t, NodeId>> border;  // the farthest first
    for (const auto& [node, distance] : distances(piece, refused_)) {
      if (node != refused_) border.emplace_back(distance, node);
    }
    std::sort(border.rbegin(), border.rend());
    Nodes needed;
    for (bool changes = true; changes;) {
      changes = false;
      for (const auto& [distance, node] : border) {
        if (!piece.contains(node) || needed.contains(node)) continue;
        Nodes rest = piece;
        rest.erase(node);
        const bool is_piece = distances(rest, refused_).size() == rest.size() &&
                              !find_detour(graph_, std::vector(rest.begin(), rest.end()));
        if (!is_piece) continue;
        if (is_taken(rest)) {
          piece = std::move(rest);
          changes = true;
        } else {
          needed.insert(node);
        }
      }
    }
    return {{piece.begin(), piece.end()}, asked_};
  }

  const Graph& graph_;
  NodeId refused_;
  std::size_t most_asked_;
  const TakesPiece& takes_;
  std::map<Nodes, bool> known_;
  std::size_t asked_ = 0;
};

}  // namespace

GrownPiece grow_piece(const Graph& graph, NodeId refused, std::size_t most_asked,
                      const TakesPiece& takes) {
  return Grower(graph, refused, most_asked, takes).grow();
}

}  // namespace cleave
