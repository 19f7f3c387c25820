#include "core/support/list_patterns.h"

#include <algorithm>

#include "core/condition/relation_value.h"
#include "core/support/glob.h"

namespace cleave {

void PatternMatches::add(const PatternMatch& match, std::span<const NodeId> members) {
  for (const NodeId node : members) {
    first_of_node.try_emplace(node, static_cast<std::uint32_t>(matches.size()));
  }
  matches.push_back(match);
  nodes.insert(nodes.end(), members.begin(), members.end());
  begin.push_back(static_cast<std::uint32_t>(nodes.size()));
}

std::optional<std::uint32_t> PatternMatches::match_of(NodeId node) const {
  const auto found = first_of_node.find(node);
  if (found == first_of_node.end()) return std::nullopt;
  return found->second;
}

// Steps for a list:
// 1. look up which ops of its patterns name which ops of the graph;
// 2. for each pattern, choose the op with the fewest nodes; a pattern with an op that has no node
//    is done;
// 3. search around each of these nodes (core/pattern/pattern_search.h).

namespace {

// This miss matched more ops, or its obstacle is more informative.
bool is_nearer(const PatternMiss& a, const PatternMiss& b) {
  return std::pair(a.placed, a.kind) > std::pair(b.placed, b.kind);
}

}  // namespace

NodesByOp::NodesByOp(const Graph& graph) : op_of(graph.node_count()) {
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  for (const NodeId node : graph.nodes()) {
    const std::uint64_t key = std::uint64_t{index(graph.node(node).domain)} << 32U |
                              std::uint64_t{index(graph.node(node).op)};
    const auto [number, is_new] =
        numbers.try_emplace(key, static_cast<std::uint32_t>(nodes.size()));
    if (is_new) nodes.emplace_back();
    op_of[node] = number->second;
    nodes[number->second].push_back(node);
  }
}

ListPatterns::ListPatterns(const Graph& graph, const NodesByOp& ops, const SupportList& list,
                           const OpFacts& facts)
    : graph_(graph),
      ops_(ops),
      list_(list),
      facts_(facts),
      roles_(ops.nodes.size()),
      masks_(list.patterns.size()) {
  std::vector<Rule> rules;
  std::vector<Role> role_of;
  for (std::uint32_t i = 0; i < list.patterns.size(); ++i) {
    for (std::uint32_t op = 0; op < list.patterns[i].ops.size(); ++op) {
      Rule& rule = rules.emplace_back();
      rule.op = list.patterns[i].ops[op].op;
      rule.domain = list.patterns[i].ops[op].domain;
      role_of.push_back({i, op});
    }
  }
  const RulesByOp by_op(rules);
  for (std::uint32_t number = 0; number < ops.nodes.size(); ++number) {
    const NodeId node = ops.nodes[number].front();
    for (const std::uint32_t rule : by_op.names(graph.domain(node), graph.op(node))) {
      const Role role = role_of[rule];
      roles_[number].push_back(role);
      Mask& mask = masks_[role.pattern][number];
      mask = static_cast<Mask>(mask | 1U << role.op);
    }
  }
}

NodeFit ListPatterns::fit(Role role, NodeId node, const IsDenied& is_denied, const NodeSet& taken) {
  const auto& masks = masks_[role.pattern];
  const auto mask = masks.find(ops_.op_of[node]);
  if (mask == masks.end() || (mask->second >> role.op & 1U) == 0) return NodeFit::other_op;
  const Rule& rule = list_.patterns[role.pattern].ops[role.op];
  if (!names_node(rule, graph_.node(node).name)) return NodeFit::other_op;
  if (taken.contains(node)) return NodeFit::taken;
  failed_.clear();
  find_failed_conditions(graph_, node, rule, facts_, failed_);
  if (!failed_.empty()) return NodeFit::failing;
  return is_denied(node) ? NodeFit::denied : NodeFit::fits;
}

bool ListPatterns::whole_fits(const Pattern& pattern, std::span<const NodeId> nodes) {
  return std::all_of(pattern.where.begin(), pattern.where.end(), [&](const Relation& relation) {
    steps_ += relation.terms.size();
    return relation_holds(relation, graph_, nodes, facts_);
  });
}

PatternQuery ListPatterns::query(std::uint32_t pattern, const IsDenied& is_denied,
                                 const NodeSet& taken) {
  return {graph_, list_.patterns[pattern].graph,
          [this, pattern, &is_denied, &taken](std::uint32_t op, NodeId node) {
            return fit({pattern, op}, node, is_denied, taken);
          },
          [this, pattern](std::span<const NodeId> nodes) {
            return whole_fits(list_.patterns[pattern], nodes);
          }};
}

// The op of the pattern with the fewest nodes in the graph, and these nodes.
ListPatterns::Anchors ListPatterns::rarest_op(std::uint32_t pattern) const {
  std::vector<std::size_t> counts(list_.patterns[pattern].ops.size());
  for (const auto& [number, mask] : masks_[pattern]) {
    for (std::size_t op = 0; op < counts.size(); ++op) {
      if ((mask >> op & 1U) != 0) counts[op] += ops_.nodes[number].size();
    }
  }
  Anchors rarest;
  rarest.op =
      static_cast<std::uint32_t>(std::min_element(counts.begin(), counts.end()) - counts.begin());
  for (const auto& [number, mask] : masks_[pattern]) {
    if ((mask >> rarest.op & 1U) == 0) continue;
    rarest.nodes.insert(rarest.nodes.end(), ops_.nodes[number].begin(), ops_.nodes[number].end());
  }
  std::sort(rarest.nodes.begin(), rarest.nodes.end());
  return rarest;
}

void ListPatterns::find(const IsDenied& is_denied, NodeSet& taken, std::uint64_t most_steps,
                        const std::function<void(std::uint32_t, std::span<const NodeId>)>& found) {
  for (std::uint32_t i = 0; i < list_.patterns.size(); ++i) {
    const Anchors anchors = rarest_op(i);
    if (anchors.nodes.empty()) continue;
    const PatternQuery asked = query(i, is_denied, taken);
    PatternSearch search(asked, anchors.op);
    for (const NodeId anchor : anchors.nodes) {
      if (steps_ + search.steps() > most_steps) break;
      if (!search.run(anchor)) continue;
      for (const NodeId node : search.nodes()) taken.insert(node);
      found(i, search.nodes());
    }
    steps_ += search.steps();
    if (steps_ > most_steps) return;
  }
}

std::optional<ListPatterns::Nearest> ListPatterns::nearest(NodeId node, const IsDenied& is_denied,
                                                           const NodeSet& taken) {
  std::optional<Nearest> best;
  for (const Role role : roles_[ops_.op_of[node]]) {
    const Rule& rule = list_.patterns[role.pattern].ops[role.op];
    if (!names_node(rule, graph_.node(node).name)) continue;
    const PatternQuery asked = query(role.pattern, is_denied, taken);
    PatternSearch search(asked, role.op);
    if (search.run(node)) continue;  // a match that was given up: other lists refuse a node of it
    steps_ += search.steps();
    if (is_glob(rule.op) && search.miss().placed < 2) continue;
    if (best && !is_nearer(search.miss(), best->miss)) continue;
    best = {role.pattern, search.miss()};
  }
  return best;
}

void LiveMatches::add(const PatternMatch& match, std::span<const NodeId> nodes) {
  for (const NodeId node : nodes) {
    match_of_.emplace(key_of(match.list, node), static_cast<std::uint32_t>(all_.count()));
  }
  all_.add(match, nodes);
  refused_.push_back(kNone<NodeId>);
}

PatternMatches LiveMatches::live() const {
  PatternMatches live;
  for (std::uint32_t i = 0; i < all_.count(); ++i) {
    if (refused_[i] == kNone<NodeId>) live.add(all_.matches[i], all_.nodes_of(i));
  }
  return live;
}

std::optional<std::uint32_t> LiveMatches::live_match(std::uint16_t list, NodeId node) const {
  if (match_of_.empty()) return std::nullopt;
  const auto found = match_of_.find(key_of(list, node));
  if (found == match_of_.end() || refused_[found->second] != kNone<NodeId>) return std::nullopt;
  return found->second;
}

std::optional<std::pair<PatternMatch, NodeId>> LiveMatches::given_up(std::uint16_t list,
                                                                     NodeId node) const {
  const auto found = match_of_.find(key_of(list, node));
  if (found == match_of_.end() || refused_[found->second] == kNone<NodeId>) return std::nullopt;
  return std::pair(all_.matches[found->second], refused_[found->second]);
}

void LiveMatches::add_neighbors(std::uint32_t match, const std::vector<std::uint16_t>& lists,
                                std::vector<std::uint32_t>& open) const {
  for (const NodeId node : all_.nodes_of(match)) {
    for (const std::uint16_t list : lists) {
      if (const auto other = live_match(list, node)) open.push_back(*other);
    }
  }
}

}  // namespace cleave
