// Patterns of several nodes, found in a graph.

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"

namespace cleave {

// ---- pattern search ----

namespace {

using Kind = PatternFault::Kind;

std::optional<PatternFault> fault_of_edges(const PatternGraph& pattern) {
  const auto& edges = pattern.edges;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (std::max(edges[i].from, edges[i].to) >= pattern.op_count) {
      return PatternFault{Kind::no_such_op, i};
    }
    const auto end = edges.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(edges.begin(), end, edges[i]) != end) return PatternFault{Kind::repeated_edge, i};
  }
  return std::nullopt;
}

// Takes away ops that read no op that is left. What then remains contains a cycle.
std::optional<PatternFault> find_cycle(const PatternGraph& pattern) {
  std::vector<bool> is_done(pattern.op_count);
  const auto waits = [&](std::size_t op) {
    return std::ranges::any_of(pattern.edges, [&](const PatternEdge& edge) {
      return edge.to == op && !is_done[edge.from];
    });
  };
  for (std::size_t round = 0; round < pattern.op_count; ++round) {
    for (std::size_t op = 0; op < pattern.op_count; ++op) {
      if (!is_done[op] && !waits(op)) is_done[op] = true;
    }
  }
  for (std::size_t i = 0; i < pattern.edges.size(); ++i) {
    if (!is_done[pattern.edges[i].from]) return PatternFault{Kind::cycle, i};
  }
  return std::nullopt;
}

std::optional<PatternFault> find_unconnected(const PatternGraph& pattern) {
  std::vector<bool> is_met(pattern.op_count);
  is_met[0] = true;
  for (std::size_t round = 0; round < pattern.op_count; ++round) {
    for (const PatternEdge& edge : pattern.edges) {
      if (is_met[edge.from] || is_met[edge.to]) is_met[edge.from] = is_met[edge.to] = true;
    }
  }
  const auto missed = std::ranges::find(is_met, false);
  if (missed == is_met.end()) return std::nullopt;
  return PatternFault{Kind::unconnected, static_cast<std::size_t>(missed - is_met.begin())};
}

}  // namespace

std::optional<PatternFault> find_pattern_fault(const PatternGraph& pattern) {
  if (pattern.op_count == 0) return PatternFault{Kind::no_op};
  if (pattern.op_count > PatternGraph::kMostOps) return PatternFault{Kind::too_many_ops};
  if (pattern.edges.size() > PatternGraph::kMostEdges) return PatternFault{Kind::too_many_edges};
  if (const auto fault = fault_of_edges(pattern)) return fault;
  if (const auto fault = find_cycle(pattern)) return fault;
  return find_unconnected(pattern);
}

namespace {

// Whether the operand of a node at `edge.to` may be what a node at `edge.from` makes: by the
// positions alone.
bool fits_edge(const Graph& graph, const PatternEdge& edge, const Operand& operand) {
  if (operand.slot.is_capture()) return false;
  if (edge.output && graph.value(operand.value).slot != *edge.output) return false;
  if (!edge.input) return true;
  return operand.slot.is_positional() && operand.slot.position() == *edge.input;
}

}  // namespace

// Steps of one search:
// 1. plan: an order of the ops in which each has an edge to one before it, starting at the anchor;
// 2. for each op in turn, try the nodes at the other end of that edge; go back when none fits;
// 3. when all ops have nodes, check what concerns them all: other edges, readers outside.
// The miss that is kept is the one with the most ops placed, then the most telling kind.

PatternSearch::PatternSearch(const PatternQuery& query, std::uint32_t anchor_op)
    : query_(query), anchor_op_(anchor_op), nodes_(query.pattern.op_count, kNone<NodeId>) {
  std::vector<bool> is_placed(query.pattern.op_count);
  is_placed[anchor_op] = true;
  const auto& edges = query.pattern.edges;
  for (std::size_t round = 1; round < query.pattern.op_count; ++round) {
    const auto next = std::ranges::find_if(
        edges, [&](const PatternEdge& edge) { return is_placed[edge.from] != is_placed[edge.to]; });
    if (next == edges.end()) return;  // not connected: a fault of the pattern
    const bool is_forward = is_placed[next->from];
    const std::uint32_t op = is_forward ? next->to : next->from;
    plan_.push_back({op, static_cast<std::uint32_t>(next - edges.begin()), is_forward});
    is_placed[op] = true;
  }
}

bool PatternSearch::run(NodeId anchor) {
  std::ranges::fill(nodes_, kNone<NodeId>);
  miss_ = {};
  miss_rank_ = -1;
  placed_ = 0;
  last_step_ = steps_ + kMostSteps;
  ++steps_;
  const NodeFit fit = query_.fit(anchor_op_, anchor);
  if (fit != NodeFit::fits) {
    const auto kind = fit == NodeFit::failing  ? PatternMiss::Kind::failing
                      : fit == NodeFit::denied ? PatternMiss::Kind::denied
                      : fit == NodeFit::taken  ? PatternMiss::Kind::taken
                                               : PatternMiss::Kind::no_neighbor;
    note({.kind = kind, .op = anchor_op_, .node = anchor});
    return false;
  }
  nodes_[anchor_op_] = anchor;
  placed_ = 1;
  return place(0);
}

bool PatternSearch::place(std::size_t depth) {
  if (depth == plan_.size()) return is_complete();
  const bool had_right_op = std::exchange(has_right_op_, false);
  const bool found = plan_[depth].is_forward ? place_readers(depth) : place_makers(depth);
  if (!found && !has_right_op_) {
    const PatternEdge& edge = query_.pattern.edges[plan_[depth].edge];
    note({.kind = PatternMiss::Kind::no_neighbor,
          .op = plan_[depth].op,
          .edge = plan_[depth].edge,
          .node = nodes_[plan_[depth].is_forward ? edge.from : edge.to]});
  }
  has_right_op_ = had_right_op;
  return found;
}

bool PatternSearch::place_readers(std::size_t depth) {
  const PatternEdge& edge = query_.pattern.edges[plan_[depth].edge];
  for (const ValueId value : query_.graph.outputs(nodes_[edge.from])) {
    if (edge.output && query_.graph.value(value).slot != *edge.output) continue;
    if (!can_be_inner(value)) continue;
    for (const NodeId reader : query_.graph.users(value)) {
      if (is_over()) return false;
      if (try_node(depth, reader)) return true;
    }
  }
  return false;
}

bool PatternSearch::place_makers(std::size_t depth) {
  const PatternEdge& edge = query_.pattern.edges[plan_[depth].edge];
  for (const Operand& operand : query_.graph.operands(nodes_[edge.to])) {
    const Value& value = query_.graph.value(operand.value);
    if (value.kind != ValueKind::node_output || !fits_edge(query_.graph, edge, operand)) continue;
    if (is_over()) return false;
    if (try_node(depth, value.producer)) return true;
  }
  return false;
}

bool PatternSearch::try_node(std::size_t depth, NodeId node) {
  using Miss = PatternMiss::Kind;
  const std::uint32_t op = plan_[depth].op;
  if (op_of(node) != query_.pattern.op_count) return false;
  const NodeFit fit = query_.fit(op, node);
  if (fit == NodeFit::other_op) return false;
  has_right_op_ = true;
  if (fit != NodeFit::fits) {
    const Miss kind = fit == NodeFit::failing  ? Miss::failing
                      : fit == NodeFit::denied ? Miss::denied
                                               : Miss::taken;
    note({.kind = kind, .op = op, .node = node});
    return false;
  }
  nodes_[op] = node;
  bool found = true;
  for (std::uint32_t i = 0; i < query_.pattern.edges.size() && found; ++i) {
    const PatternEdge& edge = query_.pattern.edges[i];
    if (edge.from != op && edge.to != op) continue;
    if (nodes_[edge.from] == kNone<NodeId> || nodes_[edge.to] == kNone<NodeId>) continue;
    found = has_edge(i);
    if (!found) {
      note({.kind = Miss::no_edge, .edge = i, .node = nodes_[edge.to], .other = nodes_[edge.from]});
    }
  }
  if (found) {
    ++placed_;
    found = place(depth + 1);
    --placed_;
  }
  if (!found) nodes_[op] = kNone<NodeId>;
  return found;
}

bool PatternSearch::is_complete() {
  if (!edges_are_listed() || !values_stay_inside()) return false;
  if (query_.whole_fits(nodes_)) return true;
  note({.kind = PatternMiss::Kind::whole, .nodes = nodes_});
  return false;
}

bool PatternSearch::edges_are_listed() {
  for (std::uint32_t to = 0; to < nodes_.size(); ++to) {
    for (const Operand& operand : query_.graph.operands(nodes_[to])) {
      ++steps_;
      const Value& value = query_.graph.value(operand.value);
      if (value.kind != ValueKind::node_output) continue;
      const std::uint32_t from = op_of(value.producer);
      if (from == query_.pattern.op_count || is_listed(from, to, operand)) continue;
      note({.kind = PatternMiss::Kind::other_edge, .node = nodes_[to], .other = value.producer});
      return false;
    }
  }
  return true;
}

bool PatternSearch::values_stay_inside() {
  for (const NodeId node : nodes_) {
    for (const ValueId value : query_.graph.outputs(node)) {
      ++steps_;
      const auto readers = query_.graph.users(value);
      const auto is_inside = [&](NodeId reader) {
        return op_of(reader) != query_.pattern.op_count;
      };
      if (std::ranges::none_of(readers, is_inside)) continue;
      const auto outside = std::ranges::find_if_not(readers, is_inside);
      if (outside == readers.end() && !query_.graph.is_graph_output(value)) continue;
      note({.kind = PatternMiss::Kind::read_outside,
            .node = node,
            .other = outside == readers.end() ? kNone<NodeId> : *outside,
            .value = value});
      return false;
    }
  }
  return true;
}

// False if the value can never be internal to a match.
bool PatternSearch::can_be_inner(ValueId value) {
  const auto readers = query_.graph.users(value);
  const bool is_output = query_.graph.is_graph_output(value);
  if (!is_output && readers.size() < query_.pattern.op_count) return true;
  if (readers.empty()) return false;
  has_right_op_ = true;
  note({.kind = PatternMiss::Kind::read_outside,
        .node = query_.graph.value(value).producer,
        .other = is_output ? kNone<NodeId> : readers.back(),
        .value = value});
  return false;
}

bool PatternSearch::has_edge(std::uint32_t edge) const {
  const PatternEdge& wanted = query_.pattern.edges[edge];
  return std::ranges::any_of(query_.graph.operands(nodes_[wanted.to]), [&](const Operand& operand) {
    const Value& value = query_.graph.value(operand.value);
    return value.kind == ValueKind::node_output && value.producer == nodes_[wanted.from] &&
           fits_edge(query_.graph, wanted, operand);
  });
}

bool PatternSearch::is_listed(std::uint32_t from, std::uint32_t to, const Operand& operand) const {
  const auto& edges = query_.pattern.edges;
  return std::ranges::any_of(edges, [&](const PatternEdge& edge) {
    return edge.from == from && edge.to == to && fits_edge(query_.graph, edge, operand);
  });
}

std::uint32_t PatternSearch::op_of(NodeId node) const {
  return static_cast<std::uint32_t>(std::ranges::find(nodes_, node) - nodes_.begin());
}

bool PatternSearch::is_over() {
  if (++steps_ <= last_step_) return false;
  has_right_op_ = true;
  note({.kind = PatternMiss::Kind::too_long, .node = nodes_[anchor_op_]});
  return true;
}

void PatternSearch::note(PatternMiss miss) {
  // More than there are kinds, so that one more node placed outweighs any kind: the miss that came
  // furthest is the one that is reported.
  constexpr int kKinds = 16;
  miss.placed = placed_;
  const int rank = miss.kind == PatternMiss::Kind::too_long
                       ? kKinds * static_cast<int>(nodes_.size() + 1)
                       : kKinds * static_cast<int>(placed_) + static_cast<int>(miss.kind);
  if (rank <= miss_rank_) return;
  miss_rank_ = rank;
  miss_ = std::move(miss);
}

// ---- qdq groups ----
//
// Walks from each operator that reads a DQ to the Qs after it. A node of a chain reads from one
// node only and is that node's only reader: no node is in two walks, so all of them together are
// linear.

namespace {

// Looks up each op type once.
PerNode<QuantRole> roles_of(const Graph& graph) {
  std::unordered_map<std::uint64_t, QuantRole> known;  // by domain and op
  PerNode<QuantRole> roles(graph.node_count(), QuantRole::none);
  for (const NodeId node : graph.nodes()) {
    const Node& record = graph.node(node);
    const std::uint64_t op = std::uint64_t{index(record.domain)} << 32U | index(record.op);
    const auto [role, is_new] = known.try_emplace(op, QuantRole::none);
    if (is_new) role->second = quant_role(graph, node);
    roles[node] = role->second;
  }
  return roles;
}

class QdqFinder {
 public:
  QdqFinder(const Graph& graph, QdqReach reach)
      : graph_(graph), reach_(reach), roles_(roles_of(graph)) {}

  QdqGroups run() && {
    for (const NodeId node : graph_.nodes()) {
      if (roles_[node] == QuantRole::none) look_at(node);
    }
    return std::move(found_);
  }

 private:
  // Tries the node as an operator between DQs and Qs. If it turns out not to be one, the entries
  // made for it are removed again.
  void look_at(NodeId op) {
    if (reach_ == QdqReach::operators && reads_plain_floats(op)) return;
    const std::size_t before = found_.members.size();
    if (add_makers(op) && add_to_quantizers(op)) {
      found_.begin.push_back(static_cast<std::uint32_t>(found_.members.size()));
    } else {
      found_.members.resize(before);
    }
  }

  // What another node computed in floating point, or an input of the model.
  bool reads_plain_floats(NodeId op) const {
    return std::ranges::any_of(graph_.operands(op), [&](const Operand& operand) {
      const Value& value = graph_.value(operand.value);
      const bool is_made = value.kind == ValueKind::node_output;
      if (is_made && roles_[value.producer] == QuantRole::dequantize) return false;
      return (is_made || value.kind == ValueKind::input) && is_float_dtype(value.dtype);
    });
  }

  void add_once(NodeId node, std::size_t since) {
    const auto from = found_.members.begin() + static_cast<std::ptrdiff_t>(since);
    if (std::find(from, found_.members.end(), node) == found_.members.end()) {
      found_.members.push_back(node);
    }
  }

  // Adds the DQs that the operator reads; false when it reads none. Without chains a DQ of several readers
  // is none of the group: it would tie their groups together, and a runtime gives each reader a copy.
  bool add_makers(NodeId op) {
    const std::size_t before = found_.members.size();
    bool reads_any = false;
    for (const Operand& operand : graph_.operands(op)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind != ValueKind::node_output || roles_[value.producer] != QuantRole::dequantize) {
        continue;
      }
      reads_any = true;
      const bool is_shared = std::ranges::any_of(graph_.readers(value.producer),
                                                 [&](NodeId reader) { return reader != op; });
      if (reach_ == QdqReach::chains || !is_shared) add_once(value.producer, before);
    }
    return reads_any;
  }

  // Adds the operator, its chain, and the Qs at its end; false when anything else reads the chain.
  bool add_to_quantizers(NodeId op) {
    for (NodeId at = op; at != kNone<NodeId>; at = next_in_chain(at)) {
      found_.members.push_back(at);
      const auto readers = graph_.readers(at);
      if (is_returned(at) || readers.empty()) return false;
      const bool all_quantize = std::ranges::all_of(
          readers, [&](NodeId reader) { return roles_[reader] == QuantRole::quantize; });
      if (!all_quantize) continue;
      const std::size_t before = found_.members.size();
      for (const NodeId reader : readers) add_once(reader, before);
      return true;
    }
    return false;
  }

  bool is_returned(NodeId node) const {
    return std::ranges::any_of(graph_.outputs(node),
                               [&](ValueId output) { return graph_.is_graph_output(output); });
  }

  // The only reader of the node, if it is an operator that reads no other node; else kNone.
  NodeId next_in_chain(NodeId node) const {
    if (reach_ == QdqReach::operators) return kNone<NodeId>;
    const auto readers = graph_.readers(node);
    const NodeId next = readers.front();
    const auto is_next = [&](NodeId reader) { return reader == next; };
    if (!std::ranges::all_of(readers, is_next)) return kNone<NodeId>;
    if (roles_[next] != QuantRole::none) return kNone<NodeId>;
    for (const Operand& operand : graph_.operands(next)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind == ValueKind::node_output && value.producer != node) return kNone<NodeId>;
    }
    return next;
  }

  const Graph& graph_;
  QdqReach reach_;
  PerNode<QuantRole> roles_;
  QdqGroups found_;
};

}  // namespace

QdqGroups find_qdq_groups(const Graph& graph, QdqReach reach) {
  return QdqFinder(graph, reach).run();
}

// ---- list patterns ----

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
// 3. search around each of these nodes (PatternSearch).

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
  return std::ranges::all_of(pattern.where, [&](const Relation& relation) {
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
  rarest.op = static_cast<std::uint32_t>(std::ranges::min_element(counts) - counts.begin());
  for (const auto& [number, mask] : masks_[pattern]) {
    if ((mask >> rarest.op & 1U) == 0) continue;
    rarest.nodes.insert(rarest.nodes.end(), ops_.nodes[number].begin(), ops_.nodes[number].end());
  }
  std::ranges::sort(rarest.nodes);
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
