// Makes rules of support lists from what was refused and what was taken.

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "core/lowering/lowering.h"
#include "core/split/split.h"

namespace cleave {

// ---- node case ----

namespace {

std::string dim_text(const Graph& graph, Dim dim) {
  if (dim.is_fixed()) return std::to_string(dim.size());
  return dim.is_symbol() ? std::string(graph.text(dim.name())) : "?";
}

std::string value_text(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  std::string text = graph.is_parameter(id) ? "const " : "";
  text += value.is_tensor() ? dtype_name(value.dtype) : value_type_name(value.type);
  if (!value.is_tensor() || !graph.has_rank(id)) return text;
  text += '[';
  bool is_first = true;
  for (const Dim dim : graph.shape(id)) {
    if (!is_first) text += ',';
    text += dim_text(graph, dim);
    is_first = false;
  }
  return text + ']';
}

std::string slot_text(const Graph& graph, OperandSlot slot) {
  if (slot.is_capture()) return "^";
  if (slot.is_keyword()) return std::string(graph.text(slot.name())) + "=";
  return std::to_string(slot.position()) + (slot.is_inside_list() ? "*:" : ":");
}

std::string item_text(std::int64_t item) { return std::to_string(item); }
std::string item_text(double item) { return shortest_text(item); }
std::string item_text(std::string_view item) { return '"' + std::string(item) + '"'; }

// Empty when the attribute is opaque.
std::string attribute_text(const Graph& graph, const Attribute& attribute) {
  if (attribute.type == AttributeType::opaque) return {};
  std::vector<std::string> items;
  graph.attribute_pools().each(attribute,
                               [&items](auto item) { items.push_back(item_text(item)); });
  return '[' + joined(items, ",") + ']';
}

std::string opset_text(const Graph& graph, std::string_view domain) {
  for (const OpsetImport& import : graph.opsets()) {
    const bool both_default = domain.empty() && import.domain == "ai.onnx";
    if (import.domain == domain || both_default) return "@" + std::to_string(import.version);
  }
  return {};
}

std::string attributes_text(const Graph& graph, NodeId node) {
  std::vector<std::string> items;
  bool is_opaque = !graph.body_nodes(node).empty();
  for (const Attribute& attribute : graph.attributes(node)) {
    const std::string text = attribute_text(graph, attribute);
    is_opaque = is_opaque || text.empty();
    items.push_back(std::string(graph.text(attribute.name)) + "=" + text);
  }
  std::ranges::sort(items);
  std::string text = " {";
  for (const std::string& item : items) text += (text.size() > 2 ? " " : "") + item;
  text += '}';
  if (is_opaque) text += " of \"" + std::string(graph.node(node).name) + '"';
  return text;
}

}  // namespace

std::string node_case(const Graph& graph, NodeId node) {
  const std::string_view domain = graph.domain(node);
  std::string text = op_text(domain, graph.op(node)) + opset_text(graph, domain) + '(';
  bool is_first = true;
  for (const Operand& operand : graph.operands(node)) {
    if (!is_first) text += ", ";
    text += slot_text(graph, operand.slot) + value_text(graph, operand.value);
    is_first = false;
  }
  text += ')' + attributes_text(graph, node);
  return text + " -> " + std::to_string(graph.outputs(node).size());
}

// ---- allowed op ----

void AllowedOp::add(const Graph& graph, NodeId node, const OpFacts& facts) {
  if (const auto opset = opset_of(graph, node, facts)) {
    if (!rule_.opset) rule_.opset = OpsetRule{.lowest = *opset, .highest = *opset};
    rule_.opset->lowest = std::min(rule_.opset->lowest, *opset);
    rule_.opset->highest = std::max(rule_.opset->highest, *opset);
  }
  rule_.domain = plain_domain(graph.domain(node));
  rule_.op = graph.op(node);
  add_dtypes(graph, node);
}

Rule AllowedOp::rule() const {
  Rule rule = rule_;
  rule.inputs.assign(inputs_.begin(), inputs_.end());
  return rule;
}

void AllowedOp::add_dtypes(const Graph& graph, NodeId node) {
  std::vector<TypeSet> types;
  for (const Operand& operand : graph.operands(node)) {
    const Value& value = graph.value(operand.value);
    const bool is_plain = operand.slot.is_positional() && !operand.slot.is_inside_list() &&
                          operand.slot.position() == types.size();
    if (!is_plain || !value.is_tensor() || value.dtype == DType::unknown) break;
    types.emplace_back().add(value.dtype);
  }
  if (is_first_) inputs_ = types;
  is_first_ = false;
  inputs_.resize(std::min(inputs_.size(), types.size()));
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].dtypes |= types[i].dtypes;
}

// ---- learned pattern ----

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
      const auto maker = std::ranges::find(nodes, graph.value(operand.value).producer);
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
  return std::ranges::any_of(graph.attributes(node), [](const Attribute& attribute) {
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
  pattern.anchor_ = static_cast<std::uint32_t>(std::ranges::find(nodes, refused) - nodes.begin());
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
  return std::ranges::any_of(taken_, is_alike) || std::ranges::any_of(refused_, is_alike);
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
        rule.add(attribute_is(name, {*value}));
      } else {
        rule.add(is_stated(name, false));
      }
    }
    for (const std::uint32_t input : values.constants) {
      const auto elements = values.elements.find(input);
      const bool is_known = elements != values.elements.end();
      Condition constant = of_input(is_known ? Property::values : Property::constant, {input});
      if (is_known) constant.wanted.list = elements->second;
      rule.add(std::move(constant));
    }
    pattern.ops.push_back(std::move(rule));
  }
  return pattern;
}

std::vector<Pattern> LearnedPattern::patterns() const {
  std::vector<std::vector<const Occurrence*>> groups;
  for (const Occurrence& one : taken_) {
    const auto found = std::ranges::find_if(groups, [&](const auto& group) {
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

// ---- learned rule ----

EvidenceCase& Evidence::at(const Graph& graph, NodeId node) {
  const OpName op(plain_domain(graph.domain(node)), graph.op(node));
  return cases_[op]
      .emplace(node_case(graph, node), EvidenceCase{.graph = &graph, .node = node})
      .first->second;
}

void Evidence::add_passed(const Graph& graph, std::span<const NodeId> nodes) {
  for (const NodeId node : nodes) at(graph, node).passed = true;
}

void Evidence::add_failed(const Graph& graph, NodeId node, const std::string& said) {
  EvidenceCase& own = at(graph, node);
  own.failed = true;
  own.said.insert(said);
  if (failed_.emplace(&graph, node).second) own.failing.push_back(node);
}

std::vector<OpName> Evidence::failed_ops() const {
  std::vector<OpName> ops;
  for (const auto& [op, cases] : cases_) {
    const bool has_failed =
        std::ranges::any_of(cases, [](const auto& entry) { return entry.second.failed; });
    if (has_failed) ops.push_back(op);
  }
  return ops;
}

std::vector<EvidenceCase> Evidence::cases(const OpName& op) const {
  std::vector<EvidenceCase> cases;
  const auto found = cases_.find(op);
  if (found == cases_.end()) return cases;
  for (const auto& [text, item] : found->second) cases.push_back(item);
  return cases;
}

std::vector<EvidenceCase> Evidence::passed() const {
  std::vector<EvidenceCase> passed;
  for (const auto& [op, cases] : cases_) {
    for (const auto& [text, item] : cases) {
      if (item.passed) passed.push_back(item);
    }
  }
  return passed;
}

// Steps of a list of conditions:
// 1. list the conditions that hold for some failed case: inputs, opset, attributes;
// 2. add ranges of attributes that separate failed from passed numbers.

namespace {

// The range of an attribute's whole numbers in one group of cases, passed or failed.
struct NumberRange {
  std::int64_t low = std::numeric_limits<std::int64_t>::max();
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
  void add(std::int64_t number) {
    low = std::min(low, number);
    high = std::max(high, number);
  }
  bool is_empty() const { return low > high; }
};

// The largest size of one tensor, or of one axis, of a node.
std::uint64_t size_of(const EvidenceCase& item, SizeOf of) {
  return sizes_of(*item.graph, std::span(&item.node, 1))[static_cast<std::size_t>(of)];
}

// A limit half way between those that passed and those that failed; nullopt when some that failed are no larger.
std::optional<SizeLimit> limit_between(SizeOf of, std::uint64_t passed, std::uint64_t failed) {
  if (passed == 0 || failed <= passed) return std::nullopt;
  return SizeLimit{of, passed + (failed - passed - 1) / 2, failed};
}

class ConditionList {
 public:
  ConditionList(const OpName& op, std::span<const EvidenceCase> cases, const OpFacts& facts)
      : cases_(cases), facts_(facts) {
    op_rule_.domain = op.first;
    op_rule_.op = op.second;
  }

  std::vector<RuleCondition> build() {
    collect_attribute_names();
    for (const EvidenceCase& item : cases_) {
      if (!item.failed) continue;
      add_inputs(item);
      add_opset(item);
      for (const std::string& name : attribute_names_) add_attribute(item, name);
    }
    for (const std::string& name : attribute_names_) add_ranges(name);
    std::vector<RuleCondition> list;
    for (auto& [text, rule] : rules_) list.push_back({std::move(rule), text});
    for (const SizeOf of : {SizeOf::tensor_bytes, SizeOf::axis_elements}) add_size(of, list);
    return list;
  }

 private:
  void collect_attribute_names() {
    for (const EvidenceCase& item : cases_) {
      for (const Attribute& attribute : item.graph->attributes(item.node)) {
        attribute_names_.emplace(item.graph->text(attribute.name));
      }
    }
  }

  void add(std::string text, const Rule& rule) { rules_.emplace(std::move(text), rule); }

  void add_inputs(const EvidenceCase& item) {
    for (const Operand& operand : item.graph->operands(item.node)) {
      const Value& value = item.graph->value(operand.value);
      const bool is_plain = operand.slot.is_positional() && !operand.slot.is_inside_list();
      if (!is_plain || !value.is_tensor()) continue;
      const std::uint32_t position = operand.slot.position();
      const std::string input = "input " + std::to_string(position);
      if (value.dtype != DType::unknown) {
        Rule rule = op_rule_;
        rule.inputs.resize(position + 1);
        rule.inputs[position].emplace().add(value.dtype);
        add(input + " is " + std::string(dtype_name(value.dtype)), rule);
      }
      if (item.graph->has_rank(operand.value)) {
        const auto rank = static_cast<std::int64_t>(item.graph->shape(operand.value).size());
        Rule rule = op_rule_;
        rule.add(ShapeEntry{.input = position, .rank = rank});
        add(input + " has rank " + std::to_string(rank), rule);
      }
    }
  }

  void add_opset(const EvidenceCase& item) {
    const auto opset = opset_of(*item.graph, item.node, facts_);
    if (!opset) return;
    Rule rule = op_rule_;
    rule.opset = OpsetRule{.lowest = *opset, .highest = *opset};
    add("opset " + std::to_string(*opset), rule);
  }

  void add_attribute(const EvidenceCase& item, const std::string& name) {
    const auto value = attribute_value(*item.graph, item.node, name, facts_);
    if (!value) return;
    Rule rule = op_rule_;
    rule.add(attribute_is(name, {*value}));
    add("attribute " + name + " is " + attribute_value_text(*value), rule);
  }

  // If all failed numbers are on one side of all passed ones, the range starts half way between.
  void add_ranges(const std::string& name) {
    NumberRange passed;
    NumberRange failed;
    for (const EvidenceCase& item : cases_) {
      const auto value = attribute_value(*item.graph, item.node, name, facts_);
      if (!value) continue;
      const auto* number = std::get_if<std::int64_t>(&*value);
      if (number == nullptr) return;
      if (item.passed) passed.add(*number);
      if (item.failed) failed.add(*number);
    }
    if (passed.is_empty() || failed.is_empty() || failed.low == failed.high) return;
    Condition range = attribute_is(name, {});
    if (failed.low > passed.high) {
      range.wanted.min = static_cast<double>(passed.high + (failed.low - passed.high + 1) / 2);
    } else if (failed.high < passed.low) {
      range.wanted.max = static_cast<double>(failed.high + (passed.low - failed.high) / 2);
    } else {
      return;
    }
    Rule rule = op_rule_;
    rule.add(std::move(range));
    add("attribute " + name + " in a range", rule);
  }

  void add_size(SizeOf of, std::vector<RuleCondition>& list) const {
    std::uint64_t passed = 0;
    std::map<std::set<std::string>, std::uint64_t> failed;  // by how: one reason may be the size
    for (const EvidenceCase& item : cases_) {
      const std::uint64_t size = size_of(item, of);
      if (item.passed) passed = std::max(passed, size);
      if (!item.failed || item.passed) continue;
      const auto least = failed.emplace(item.said, size).first;
      least->second = std::min(least->second, size);
    }
    for (const auto& [said, least] : failed) {
      const auto limit = limit_between(of, passed, least);
      if (!limit) continue;
      Rule rule = op_rule_;
      rule.add(larger_than(of, limit->most));
      list.push_back({std::move(rule), "size", limit});
    }
  }

  std::span<const EvidenceCase> cases_;
  const OpFacts& facts_;
  Rule op_rule_;
  std::set<std::string> attribute_names_;
  std::map<std::string, Rule> rules_;  // by text
};

}  // namespace

Condition larger_than(SizeOf of, std::uint64_t most) {
  const std::string end =
      (of == SizeOf::axis_elements ? ".dim) > " : ".bytes) > ") + std::to_string(most);
  return relation_condition(parse_relation("max(in" + end + " or max(out" + end).value());
}

std::vector<RuleCondition> conditions_of(const OpName& op, std::span<const EvidenceCase> cases,
                                         const OpFacts& facts) {
  return ConditionList(op, cases, facts).build();
}

bool may_be_combined(const Rule& one, const Rule& other) {
  if (one.opset && other.opset) return false;
  for (std::size_t i = 0; i < std::min(one.inputs.size(), other.inputs.size()); ++i) {
    if (one.inputs[i] && other.inputs[i]) return false;
  }
  return std::ranges::none_of(one.conditions, [&](const Condition& mine) {
    return std::ranges::any_of(other.conditions, [&](const auto& theirs) {
      return mine.property == theirs.property && mine.name == theirs.name &&
             mine.place.position == theirs.place.position;
    });
  });
}

Rule combined(const Rule& one, const Rule& other) {
  Rule rule = one;
  if (other.opset) rule.opset = other.opset;
  rule.inputs.resize(std::max(one.inputs.size(), other.inputs.size()));
  for (std::size_t i = 0; i < other.inputs.size(); ++i) {
    if (other.inputs[i]) rule.inputs[i] = other.inputs[i];
  }
  for (const Condition& condition : other.conditions) rule.add(condition);
  return rule;
}

bool holds_of(const Rule& rule, const EvidenceCase& item, const OpFacts& facts) {
  if (!names_op(rule, item.graph->domain(item.node), item.graph->op(item.node))) return false;
  std::vector<FailedCondition> failed;
  find_failed_conditions(*item.graph, item.node, rule, facts, failed);
  return failed.empty();
}

// Steps for each op that failed:
// 1. if it never passed, deny the whole op, or the words by which each of its nodes chooses another algorithm than the op's
//    default ("direction": "bidirectional"): of that one nothing was seen;
// 2. list single conditions that hold for no passed case, and pairs of the others;
// 3. take the condition that covers most of the failed cases left, until none covers any;
// 4. deny the remaining nodes by name.

namespace {

// With more conditions than this for an op, pairs are not tried: there are too many, and most that
// separate the cases would do so by chance.
constexpr std::size_t kMostPaired = 120;

struct Candidate {
  Rule rule;
  std::string text;
  std::size_t conditions = 1;
  std::optional<SizeLimit> limit = {};
  std::vector<std::size_t> covered = {};  // failed cases that it covers
};

class OpLearner {
 public:
  OpLearner(const OpName& op, const Evidence& evidence, const LearningContext& context)
      : op_(op), context_(context), cases_(evidence.cases(op)) {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (cases_[i].passed) {
        passed_.push_back(i);
      } else if (cases_[i].failed) {
        failed_.push_back(i);
      }
    }
    for (const NodeId node : context_.graph.nodes()) {
      if (context_.graph.op(node) == op_.second) nodes_.push_back(node);
    }
  }

  std::vector<LearnedRule> learn() {
    std::vector<LearnedRule> rules;
    if (passed_.empty()) {
      LearnedRule rule = {
          .rule = whole_op(), .failed = failed_.size(), .failing = failing_of(failed_)};
      add_words(rule);
      rules.push_back(std::move(rule));
      return rules;
    }
    std::vector<std::size_t> left = failed_;
    const std::vector<Candidate> candidates = candidates_for(left);
    while (!left.empty()) {
      const Candidate* best = best_of(candidates, left);
      if (best == nullptr) break;
      rules.push_back({.rule = best->rule,
                       .conditions = best->conditions,
                       .failed = best->covered.size(),
                       .passed = passed_.size(),
                       .failing = failing_of(best->covered),
                       .limit = best->limit});
      std::vector<std::size_t> rest;
      std::set_difference(left.begin(), left.end(), best->covered.begin(), best->covered.end(),
                          std::back_inserter(rest));
      left = std::move(rest);
    }
    for (const std::size_t i : left) add_by_name(cases_[i], nodes_of_case(cases_[i]), rules);
    for (const EvidenceCase& item : cases_) {
      if (item.failed && item.passed) add_by_name(item, item.failing, rules);
    }
    return rules;
  }

 private:
  Rule whole_op() const {
    Rule rule;
    rule.domain = op_.first;
    rule.op = op_.second;
    for (const std::size_t i : failed_) {
      const Graph& graph = *cases_[i].graph;
      const auto opset = opset_of(graph, cases_[i].node, context_.facts);
      if (!opset) continue;
      if (!rule.opset) rule.opset = OpsetRule{.lowest = *opset, .highest = *opset};
      rule.opset->lowest = std::min(rule.opset->lowest, *opset);
      rule.opset->highest = std::max(rule.opset->highest, *opset);
    }
    return rule;
  }

  // The first word, by name, that each failed case states, and that is not the operator's default.
  void add_words(LearnedRule& rule) const {
    const EvidenceCase& first = cases_[failed_.front()];
    std::set<std::string> names;
    for (const Attribute& attribute : first.graph->attributes(first.node)) {
      names.emplace(first.graph->text(attribute.name));
    }
    for (const std::string& name : names) {
      std::vector<AttributeValue> words;
      for (const std::size_t i : failed_) {
        const auto word = chosen_word(cases_[i], name);
        if (!word) break;
        if (!contains(words, AttributeValue(*word))) words.emplace_back(*word);
        if (i != failed_.back()) continue;
        rule.rule.add(attribute_is(name, std::move(words)));
        rule.conditions = 1;
        return;
      }
    }
  }

  std::optional<std::string> chosen_word(const EvidenceCase& item, const std::string& name) const {
    const auto stated = attribute_value(*item.graph, item.node, name, {});
    const auto* const word = stated ? std::get_if<std::string>(&*stated) : nullptr;
    if (word == nullptr || !context_.facts.default_attribute) return std::nullopt;
    const auto& [domain, op] = op_;
    const auto opset = opset_of(*item.graph, item.node, context_.facts);
    const auto by_default = context_.facts.default_attribute(domain, op, opset ? *opset : 0, name);
    if (!by_default || *by_default == *stated) return std::nullopt;
    return *word;
  }

  std::vector<NodeId> failing_of(const std::vector<std::size_t>& cases) const {
    std::vector<NodeId> nodes;
    for (const std::size_t i : cases) {
      nodes.insert(nodes.end(), cases_[i].failing.begin(), cases_[i].failing.end());
    }
    return nodes;
  }

  // `nodes`: first those of the case that failed, then others of it.
  void add_by_name(const EvidenceCase& item, const std::vector<NodeId>& nodes,
                   std::vector<LearnedRule>& rules) const {
    std::vector<Rule> named = rules_by_name(*item.graph, nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool was_tried = i < item.failing.size();
      const NodeId failing = was_tried ? nodes[i] : item.failing.back();
      if (!was_tried) {
        named[i].why = "not tried alone: same op, types and attributes as \"" +
                       std::string(item.graph->node(failing).name) + '"';
      }
      rules.push_back({.rule = std::move(named[i]),
                       .failed = 1,
                       .passed = passed_.size(),
                       .failing = {failing}});
    }
  }

  // All nodes of a case that never passed: first those that failed.
  std::vector<NodeId> nodes_of_case(const EvidenceCase& item) {
    const Graph& graph = *item.graph;
    const auto [known, is_new] = nodes_of_cases_.try_emplace(&graph);
    for (const NodeId node : graph.nodes()) {
      if (!is_new) break;
      if (graph.op(node) == op_.second) known->second[node_case(graph, node)].push_back(node);
    }
    const std::set<NodeId> failing(item.failing.begin(), item.failing.end());
    std::vector<NodeId> nodes = item.failing;
    for (const NodeId node : known->second[node_case(graph, item.node)]) {
      if (!failing.contains(node)) nodes.push_back(node);
    }
    return nodes;
  }

  bool holds(const Rule& rule, std::size_t i) const {
    return holds_of(rule, cases_[i], context_.facts);
  }

  bool holds_of_passed(const Rule& rule) const {
    return std::ranges::any_of(passed_, [&](std::size_t i) { return holds(rule, i); });
  }

  // Single conditions that hold for no passed case, and pairs of the other conditions.
  std::vector<Candidate> candidates_for(const std::vector<std::size_t>& failed) const {
    std::vector<Candidate> candidates;
    std::vector<RuleCondition> open;
    for (RuleCondition& condition : conditions_of(op_, cases_, context_.facts)) {
      if (holds_of_passed(condition.rule)) {
        open.push_back(std::move(condition));
      } else {
        candidates.push_back({std::move(condition.rule), std::move(condition.text),
                              condition.limit ? 2U : 1U, condition.limit});
      }
    }
    for (std::size_t i = 0; i < open.size() && open.size() <= kMostPaired; ++i) {
      for (std::size_t k = i + 1; k < open.size(); ++k) {
        if (!may_be_combined(open[i].rule, open[k].rule)) continue;
        Rule rule = combined(open[i].rule, open[k].rule);
        if (holds_of_passed(rule)) continue;
        candidates.push_back({std::move(rule), open[i].text + " and " + open[k].text, 2});
      }
    }
    for (Candidate& candidate : candidates) {
      for (const std::size_t i : failed) {
        if (holds(candidate.rule, i)) candidate.covered.push_back(i);
      }
    }
    return candidates;
  }

  // The candidate that covers most of the rest; then the shortest, one on the type of an input (a compiler without a
  // type refuses all nodes of it, whatever else they have in common), the one that denies the fewest nodes, one on a
  // word (which chooses an algorithm, where a number is a size), the first by its text. Null when none covers any.
  const Candidate* best_of(const std::vector<Candidate>& candidates,
                           const std::vector<std::size_t>& left) const {
    const Candidate* best = nullptr;
    std::tuple<std::size_t, std::size_t, bool, std::size_t, std::ptrdiff_t, std::string_view>
        best_rank;
    for (const Candidate& candidate : candidates) {
      const std::size_t missed = left.size() - covered_of(candidate, left);
      if (missed == left.size()) continue;
      if (best != nullptr && std::tuple(missed, candidate.conditions) >
                                 std::tuple(std::get<0>(best_rank), std::get<1>(best_rank))) {
        continue;
      }
      const auto words = std::ranges::count_if(candidate.rule.conditions, is_on_word);
      const std::tuple rank(missed, candidate.conditions, candidate.rule.inputs.empty(),
                            denied_nodes(candidate.rule), -words, std::string_view(candidate.text));
      if (best != nullptr && rank >= best_rank) continue;
      best = &candidate;
      best_rank = rank;
    }
    return best;
  }

  static bool is_on_word(const Condition& condition) {
    const std::vector<AttributeValue>& values = condition.wanted.one_of;
    return !values.empty() && std::holds_alternative<std::string>(values.front());
  }

  static std::size_t covered_of(const Candidate& candidate, const std::vector<std::size_t>& left) {
    return static_cast<std::size_t>(std::ranges::count_if(left, [&candidate](std::size_t i) {
      return std::ranges::binary_search(candidate.covered, i);
    }));
  }

  std::size_t denied_nodes(const Rule& rule) const {
    std::size_t count = 0;
    for (const NodeId node : nodes_) {
      count += holds_of(rule, {.graph = &context_.graph, .node = node}, context_.facts) ? 1U : 0U;
    }
    return count;
  }

  const OpName& op_;
  const LearningContext& context_;
  std::vector<EvidenceCase> cases_;
  std::vector<NodeId> nodes_;                 // of the op, in the context's graph
  std::vector<std::size_t> passed_, failed_;  // indices; a case that did both is in `passed_`
  // By graph, by text of the case: the op's nodes; those of a graph once one of its cases is asked for.
  std::map<const Graph*, std::map<std::string, std::vector<NodeId>>> nodes_of_cases_;
};

// A size within which everything passes, and beyond which all cases of several ops fail that failed, one of them of an
// op that passes within it, and all as `said`: other words are another reason. `explained` gets these ops.
std::optional<LearnedRule> rule_of_size(const Evidence& evidence, SizeOf of,
                                        const std::string& said, std::set<OpName>& explained) {
  LearnedRule rule;
  std::uint64_t most = 0, refused = std::numeric_limits<std::uint64_t>::max();
  const std::vector<EvidenceCase> passed = evidence.passed();
  for (const EvidenceCase& item : passed) most = std::max(most, size_of(item, of));
  bool has_taken_op = false;
  for (const OpName& op : evidence.failed_ops()) {
    const std::vector<EvidenceCase> cases = evidence.cases(op);
    const bool is_beyond = std::all_of(cases.begin(), cases.end(), [&](const EvidenceCase& item) {
      return !item.failed ||
             (!item.passed && item.said == std::set{said} && size_of(item, of) > most);
    });
    if (!is_beyond) continue;
    explained.insert(op);
    for (const EvidenceCase& item : cases) {
      has_taken_op = has_taken_op || item.passed;
      if (!item.failed) continue;
      refused = std::min(refused, size_of(item, of));
      rule.failing.insert(rule.failing.end(), item.failing.begin(), item.failing.end());
      ++rule.failed;
    }
  }
  rule.limit = limit_between(of, most, refused);
  if (!has_taken_op || explained.size() < 2 || !rule.limit) return std::nullopt;
  rule.rule.add(larger_than(of, rule.limit->most));
  rule.conditions = 1;
  rule.passed = passed.size();
  return rule;
}

}  // namespace

std::vector<LearnedRule> learn_rules(const Evidence& evidence, const LearningContext& context) {
  std::vector<LearnedRule> rules;
  std::set<OpName> explained;
  std::set<std::string> words;
  for (const OpName& op : evidence.failed_ops()) {
    for (const EvidenceCase& item : evidence.cases(op)) {
      words.insert(item.said.begin(), item.said.end());
    }
  }
  for (const SizeOf of : {SizeOf::axis_elements, SizeOf::tensor_bytes}) {
    for (const std::string& said : words) {
      std::set<OpName> ops;
      auto rule = rule_of_size(evidence, of, said, ops);
      if (!rule || ops.size() <= explained.size()) continue;
      rules = {*std::move(rule)};
      explained = std::move(ops);
    }
  }
  for (const OpName& op : evidence.failed_ops()) {
    if (explained.contains(op)) continue;
    for (LearnedRule& rule : OpLearner(op, evidence, context).learn()) {
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

std::vector<Rule> rules_by_name(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<Rule> rules;
  for (const NodeId node : nodes) {
    Rule rule;
    rule.domain = plain_domain(graph.domain(node));
    rule.op = graph.op(node);
    rule.node_name = graph.node(node).name;
    rules.push_back(std::move(rule));
  }
  return rules;
}

// ---- grown piece ----

namespace {

// Steps from the refused node. Patterns that compilers fuse have a few nodes on a path, and each step asks the
// compiler up to three times.
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
      std::ranges::stable_sort(
          tries, [](const Nodes* a, const Nodes* b) { return a->size() < b->size(); });
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
