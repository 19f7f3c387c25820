#include "core/lowering/learned_pattern.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/condition/attribute_value.h"
#include "core/graph/op_name.h"
#include "core/lowering/allowed_op.h"
#include "core/pattern/pattern_search.h"

namespace cleave {
namespace {

std::pair<std::string, std::string> op_of(const Graph& graph, NodeId node) {
  return {std::string(plain_domain(graph.domain(node))), std::string(graph.op(node))};
}

bool is_plain(OperandSlot slot) { return slot.is_positional() && !slot.is_inside_list(); }

// The edges between the nodes, each with the places of output and input.
PatternGraph pattern_graph(const Graph& graph, std::span<const NodeId> nodes) {
  PatternGraph pattern;
  pattern.op_count = nodes.size();
  for (std::uint32_t to = 0; to < nodes.size(); ++to) {
    for (const Operand& operand : graph.operands(nodes[to])) {
      const auto maker = std::find(nodes.begin(), nodes.end(), graph.value(operand.value).producer);
      if (maker == nodes.end()) continue;
      PatternEdge edge;
      edge.from = static_cast<std::uint32_t>(maker - nodes.begin());
      edge.to = to;
      const auto outputs = graph.outputs(*maker);
      if (outputs.size() > 1) edge.output = index(operand.value) - index(outputs[0]);
      if (is_plain(operand.slot)) edge.input = operand.slot.position();
      pattern.edges.push_back(edge);
    }
  }
  return pattern;
}

bool has_opaque(const Graph& graph, NodeId node) {
  const auto attributes = graph.attributes(node);
  return std::any_of(attributes.begin(), attributes.end(), [](const Attribute& attribute) {
    return attribute.type == AttributeType::opaque;
  });
}

}  // namespace

LearnedPattern::OpValues LearnedPattern::values_of(const Graph& graph, const OpFacts& facts,
                                                   NodeId node) {
  OpValues values;
  std::set<std::string> names;  // of the attributes that nodes of this op state
  for (const NodeId other : graph.nodes()) {
    if (graph.node(other).op != graph.node(node).op) continue;
    for (const Attribute& attribute : graph.attributes(other)) {
      names.emplace(graph.text(attribute.name));
    }
  }
  for (const std::string& name : names) {
    const auto value = attribute_value(graph, node, name, facts);
    values.attributes.emplace(name, value ? Asked(*value) : Asked());
  }
  for (const Operand& operand : graph.operands(node)) {
    if (!is_plain(operand.slot) || !is_constant(graph, operand.value, facts)) continue;
    values.constants.push_back(operand.slot.position());
    const auto elements = facts.elements ? facts.elements(graph, operand.value) : std::nullopt;
    if (elements && elements->size() == 1) {
      values.elements.emplace(operand.slot.position(), *elements);
    }
  }
  return values;
}

std::vector<LearnedPattern::OpValues> LearnedPattern::values_of(const Graph& graph,
                                                                const OpFacts& facts,
                                                                std::span<const NodeId> nodes) {
  std::vector<OpValues> values;
  for (const NodeId node : nodes) values.push_back(values_of(graph, facts, node));
  return values;
}

LearnedPattern::OpValues LearnedPattern::common(const OpValues& one, const OpValues& other) {
  const auto in_both = [](const auto& mine, const auto& others) {
    auto both = mine;
    std::erase_if(both, [&others](const auto& entry) {
      const auto found = others.find(entry.first);
      return found == others.end() || found->second != entry.second;
    });
    return both;
  };
  OpValues values{.attributes = in_both(one.attributes, other.attributes),
                  .elements = in_both(one.elements, other.elements),
                  .constants = {}};
  std::set_intersection(one.constants.begin(), one.constants.end(), other.constants.begin(),
                        other.constants.end(), std::back_inserter(values.constants));
  return values;
}

std::optional<LearnedPattern> LearnedPattern::of(const Graph& graph, const OpFacts& facts,
                                                 std::span<const NodeId> nodes, NodeId refused) {
  LearnedPattern pattern;
  pattern.graph_ = pattern_graph(graph, nodes);
  if (find_pattern_fault(pattern.graph_)) return std::nullopt;
  for (const NodeId node : nodes) {
    if (!graph.body_nodes(node).empty() || has_opaque(graph, node)) return std::nullopt;
    pattern.ops_.push_back(op_of(graph, node));
  }
  pattern.anchor_ =
      static_cast<std::uint32_t>(std::find(nodes.begin(), nodes.end(), refused) - nodes.begin());
  if (pattern.around(graph, refused).empty()) return std::nullopt;
  pattern.add(graph, facts, nodes, true);
  return pattern;
}

std::vector<NodeId> LearnedPattern::around(const Graph& graph, NodeId refused) const {
  const PatternQuery query = {graph, graph_,
                              [this, &graph](std::uint32_t op, NodeId node) {
                                return op_of(graph, node) == ops_[op] ? NodeFit::fits
                                                                      : NodeFit::other_op;
                              },
                              [](std::span<const NodeId>) { return true; }};
  PatternSearch search(query, anchor_);
  if (!search.run(refused)) return {};
  const auto nodes = search.nodes();
  return {nodes.begin(), nodes.end()};
}

bool LearnedPattern::is_known(const Graph& graph, const OpFacts& facts,
                              std::span<const NodeId> nodes) const {
  const std::vector<OpValues> values = values_of(graph, facts, nodes);
  const auto is_alike = [&](const Occurrence& one) {
    if (one.values != values) return false;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      AllowedOp mine, other;
      mine.add(graph, nodes[i], facts);
      other.add(*one.graph, one.nodes[i], *one.facts);
      if (mine.rule() != other.rule()) return false;
    }
    return true;
  };
  return std::any_of(taken_.begin(), taken_.end(), is_alike) ||
         std::any_of(refused_.begin(), refused_.end(), is_alike);
}

void LearnedPattern::add(const Graph& graph, const OpFacts& facts, std::span<const NodeId> nodes,
                         bool is_taken) {
  (is_taken ? taken_ : refused_)
      .push_back({&graph, &facts, {nodes.begin(), nodes.end()}, values_of(graph, facts, nodes)});
}

Pattern LearnedPattern::pattern_of(std::span<const Occurrence* const> occurrences) const {
  Pattern pattern;
  pattern.graph = graph_;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    AllowedOp op;
    OpValues values = occurrences.front()->values[i];
    for (const Occurrence* const one : occurrences) {
      op.add(*one->graph, one->nodes[i], *one->facts);
      values = common(values, one->values[i]);
    }
    Rule rule = op.rule();
    for (const auto& [name, asked] : values.attributes) {
      if (const auto* const value = std::get_if<AttributeValue>(&asked)) {
        rule.attributes.push_back({.name = name, .accepted = {*value}, .min = {}, .max = {}});
      } else {
        rule.conditions.emplace_back(AbsentAttributeCondition{name});
      }
    }
    for (const std::uint32_t input : values.constants) {
      const auto elements = values.elements.find(input);
      if (elements == values.elements.end()) {
        rule.conditions.emplace_back(ConstantCondition{.input = {.position = input}});
      } else {
        ValuesCondition wanted;
        wanted.input.position = input;
        wanted.list = elements->second;
        rule.conditions.emplace_back(std::move(wanted));
      }
    }
    pattern.ops.push_back(std::move(rule));
  }
  return pattern;
}

std::vector<Pattern> LearnedPattern::patterns() const {
  std::vector<std::vector<const Occurrence*>> groups;
  for (const Occurrence& one : taken_) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return refused_.empty() || group.front()->values == one.values;
    });
    if (found == groups.end()) {
      groups.push_back({&one});
    } else {
      found->push_back(&one);
    }
  }
  std::vector<Pattern> patterns;
  for (const auto& group : groups) patterns.push_back(pattern_of(group));
  return patterns;
}

}  // namespace cleave
