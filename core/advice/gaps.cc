#include "core/advice/gaps.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/decimal.h"
#include "core/condition/attribute_value.h"
#include "core/graph/node_lookup.h"
#include "core/graph/op_name.h"
#include "core/support/rule_check.h"
#include "core/support/support.h"
#include "core/support/support_list.h"

namespace cleave {
namespace {

void append(std::int64_t number, std::string& key) { key += std::to_string(number) + ','; }
void append(double number, std::string& key) { key += shortest_text(number) + ','; }
// Writes the length first, so that no two sequences of texts give the same key.
void append(const std::string& text, std::string& key) {
  key += std::to_string(text.size()) + ':' + text;
}
void append(const std::vector<Literal>& list, std::string& key) {
  key += '[';
  for (const Literal& item : list) {
    std::visit([&](const auto& value) { append(value, key); }, item);
  }
  key += ']';
}

void append_found(const FailedType& failed, std::string& key) {
  append(static_cast<std::int64_t>(failed.type), key);
  if (failed.type == ValueType::tensor) append(static_cast<std::int64_t>(failed.dtype), key);
}

void append_found(const FailedAttribute& failed, std::string& key) {
  if (failed.wanted.accepted.empty()) return;
  if (!failed.value) return append(static_cast<std::int64_t>(failed.origin), key);
  std::visit([&](const auto& value) { append(value, key); }, *failed.value);
}

void append_found(const FailedShape& failed, std::string& key) {
  if (!std::holds_alternative<WantedRank>(failed.wanted)) return;
  append(static_cast<std::int64_t>(failed.found.index()), key);
  if (const auto* const other = std::get_if<FoundNoTensor>(&failed.found)) {
    append(static_cast<std::int64_t>(other->type), key);
  } else if (const auto* const found = std::get_if<FoundRank>(&failed.found)) {
    append(static_cast<std::int64_t>(found->rank), key);
  }
}

void append_found(const FailedOpset&, std::string&) {}

void append_found(const UnmetCondition& failed, std::string& key) {
  append(static_cast<std::int64_t>(failed.found.index()), key);
  const auto* const rank = std::get_if<FoundRank>(&failed.found);
  if (rank != nullptr && std::holds_alternative<RankCondition>(failed.wanted)) {
    append(static_cast<std::int64_t>(rank->rank), key);
  }
}

}  // namespace

void append_key(const FailedCondition& failed, const FailedPart& part, std::string& key) {
  append(static_cast<std::int64_t>(failed.what), key);
  append(std::int64_t{failed.item}, key);
  append(std::int64_t{failed.clause}, key);
  std::visit([&](const auto& alternative) { append_found(alternative, key); }, part);
  key += '\n';
}

namespace {

using What = FailedCondition::What;

// The types that accept the value; nullopt, which is any type, when its type is unknown.
MaybeTypes types_of(const Value& value) {
  TypeSet types;
  if (!value.is_tensor()) {
    types.add(value.type);
  } else if (value.dtype != DType::unknown) {
    types.add(value.dtype);
  } else {
    return std::nullopt;
  }
  return types;
}

class Loosening {
 public:
  Loosening(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts)
      : graph_(graph), node_(node), facts_(facts), rule_(rule) {
    rule_.op = graph.op(node);
    rule_.domain = plain_domain(graph.domain(node));
    rule_.why.clear();
    rule_.unchecked.clear();
    rule_.line = 0;
    rule_.column = 0;
    // Native lists cannot ask for a schema version.
    if (rule_.opset && rule_.opset->same_schema) rule_.opset.reset();
  }

  // From the last condition to the first, since conditions may be erased.
  Rule run(const std::vector<FailedCondition>& failed) && {
    for (std::size_t i = failed.size(); i-- > 0;) loosen(failed[i]);
    return std::move(rule_);
  }

 private:
  template <class Item>
  static void take_out(std::vector<Item>& items, std::size_t i) {
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
  }

  const Value& input(std::uint32_t position) const {
    return graph_.value(find_plain_input(graph_, node_, position)->value);
  }

  void loosen(const FailedCondition& failed) {
    switch (failed.what) {
      case What::input:
        rule_.inputs[failed.item] = types_of(input(failed.item));
        return;
      case What::output:
        for (const ValueId output : graph_.outputs(node_)) {
          const Value& value = graph_.value(output);
          if (value.slot == failed.item) rule_.outputs[failed.item] = types_of(value);
        }
        return;
      case What::kwarg:
        return loosen_kwarg(failed.item);
      case What::attribute:
        return loosen_attribute(failed.item);
      case What::shape:
        return loosen_shape(rule_.shapes[failed.item], failed.clause);
      case What::condition:
        return loosen_condition(failed.item);
      case What::opset:
        rule_.opset.reset();
    }
  }

  void loosen_kwarg(std::uint32_t item) {
    const Operand* const kwarg = find_plain_keyword(graph_, node_, rule_.kwargs[item].first);
    const MaybeTypes types = types_of(graph_.value(kwarg->value));
    if (!types) return take_out(rule_.kwargs, item);
    rule_.kwargs[item].second = *types;
  }

  void loosen_attribute(std::uint32_t item) {
    AttributeRule& attribute = rule_.attributes[item];
    auto value = attribute_value(graph_, node_, attribute.name, facts_);
    if (attribute.accepted.empty() || !value) return take_out(rule_.attributes, item);
    attribute.accepted = {*std::move(value)};
  }

  // A rank becomes the one that the node has; any other condition is left out.
  void loosen_condition(std::uint32_t item) {
    auto* const rank = std::get_if<RankCondition>(&rule_.conditions[item]);
    const Operand* const operand =
        rank == nullptr ? nullptr : find_plain_input(graph_, node_, rank->input.position);
    if (operand == nullptr || !graph_.has_rank(operand->value)) {
      return take_out(rule_.conditions, item);
    }
    const std::size_t found = graph_.shape(operand->value).size();
    rank->rank = {
        .one_of = {static_cast<std::int64_t>(found)}, .min = {}, .max = {}, .multiple_of = {}};
  }

  void loosen_shape(ShapeRule& rule, std::uint32_t clause) const {
    if (clause == FailedCondition::kNoInput) {
      rule.if_given = true;
    } else if (clause == FailedCondition::kRank) {
      const ValueId id = find_plain_input(graph_, node_, rule.input)->value;
      rule.rank.reset();
      if (graph_.has_rank(id)) rule.rank = static_cast<std::int64_t>(graph_.shape(id).size());
    } else if (clause == FailedCondition::kStatic) {
      rule.is_static = false;
    } else if (clause == FailedCondition::kMaxDim) {
      rule.max_dim.reset();
    } else {
      take_out(rule.multiple_of, clause - FailedCondition::kFirstMultiple);
    }
  }

  const Graph& graph_;
  NodeId node_;
  const OpFacts& facts_;
  Rule rule_;
};

}  // namespace

Rule loosened(const Graph& graph, NodeId node, const Rule& rule,
              const std::vector<FailedCondition>& failed, const OpFacts& facts) {
  return Loosening(graph, node, rule, facts).run(failed);
}

namespace {

Rule rule_for_op(const Graph& graph, NodeId node, const Signature& signature) {
  Rule rule;
  rule.op = graph.op(node);
  rule.domain = plain_domain(graph.domain(node));
  for (const DType dtype : signature.args) {
    MaybeTypes& types = rule.inputs.emplace_back();
    if (dtype != DType::unknown) types.emplace().add(dtype);
  }
  for (const auto& [name, dtype] : signature.kwargs) {
    if (dtype == DType::unknown) continue;
    rule.kwargs.emplace_back(name, TypeSet{}).second.add(dtype);
  }
  return rule;
}

// ---- gaps ----

class GapFinder {
 public:
  GapFinder(const Graph& graph, const std::vector<SupportList>& lists, const OpFacts& facts)
      : graph_(graph), lists_(lists), facts_(facts) {}

  void add(NodeId node, const Reason& reason) {
    switch (reason.code) {
      case ReasonCode::no_rule:
      case ReasonCode::pattern_failed:
        return add_op(node);
      case ReasonCode::rule_failed:
        if (reason.because != kNone<NodeId>) return;  // the body node has the gap
        return add_condition(node, reason);
      case ReasonCode::runtime_graph:
        if (reason.because != kNone<NodeId>) return;  // the node that it becomes a part of has it
        return add_op(node);
      case ReasonCode::denied:
        return add_denied(node, reason);
      default:
        return;
    }
  }

  std::vector<GapFound> take() && { return std::move(found_); }

 private:
  // Adds the node to the gap with that key. Returns false when the gap is new; it then has only its
  // key.
  bool add_to(const std::string& key, NodeId node) {
    const auto [place, is_new] = places_.try_emplace(key, found_.size());
    if (is_new) found_.emplace_back().gap.key = key;
    found_[place->second].nodes.push_back(node);
    return !is_new;
  }

  Gap& new_gap(Gap::Kind kind, NodeId node) {
    Gap& gap = found_.back().gap;
    gap.kind = kind;
    gap.op = graph_.op(node);
    gap.domain = plain_domain(graph_.domain(node));
    gap.signature = signature_of(graph_, node);
    return gap;
  }

  std::string op_key(NodeId node) const {
    return std::string(plain_domain(graph_.domain(node))) + '\n' + std::string(graph_.op(node)) +
           '\n';
  }

  void add_op(NodeId node) {
    const Signature signature = signature_of(graph_, node);
    std::string key = "op\n" + op_key(node);
    for (const DType dtype : signature.args) key += std::string(dtype_name(dtype)) + ',';
    for (const auto& [name, dtype] : signature.kwargs) {
      key += std::string(name) + '=' + std::string(dtype_name(dtype)) + ',';
    }
    if (add_to(key, node)) return;
    new_gap(Gap::Kind::op, node).remedy = rule_for_op(graph_, node, signature);
  }

  void add_condition(NodeId node, const Reason& reason) {
    const Rule& rule = lists_[reason.list].allow[reason.rule];
    failed_.clear();
    find_failed_conditions(graph_, node, rule, facts_, failed_);
    std::vector<FailedPart> parts = failed_parts(graph_, node, rule, facts_);
    std::string key = "condition\n" + std::to_string(reason.list) + '\n' +
                      std::to_string(reason.rule) + '\n' + op_key(node);
    for (std::size_t i = 0; i < failed_.size(); ++i) append_key(failed_[i], parts[i], key);
    if (add_to(key, node)) return;
    Gap& gap = new_gap(Gap::Kind::condition, node);
    gap.list = reason.list;
    gap.rule = rule;
    gap.failed = std::move(parts);
    gap.remedy = loosened(graph_, node, rule, failed_, facts_);
  }

  void add_denied(NodeId node, const Reason& reason) {
    const Rule& rule = lists_[reason.list].deny[reason.rule];
    const std::string key = "denied\n" + std::to_string(reason.list) + '\n' +
                            std::to_string(rule.line) + '\n' + std::to_string(rule.column) + '\n' +
                            rule.op + '\n' + rule.node_name;
    if (add_to(key, node)) return;
    Gap& gap = new_gap(Gap::Kind::denied, node);
    gap.list = reason.list;
    gap.rule = rule;
  }

  const Graph& graph_;
  const std::vector<SupportList>& lists_;
  const OpFacts& facts_;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<GapFound> found_;
  std::vector<FailedCondition> failed_;
};

}  // namespace

std::vector<GapFound> find_gaps(const Graph& graph, const std::vector<SupportList>& lists,
                                const OpFacts& facts, const NodeSet& accepted) {
  GapFinder finder(graph, lists, facts);
  const Support support = match_support(graph, lists, facts);
  for (const NodeId node : graph.nodes()) {
    if (!accepted.contains(node)) finder.add(node, support.reasons[node]);
  }
  for (const auto& [node, reason] : refused_body_nodes(graph, lists, facts)) {
    finder.add(node, reason);
  }
  return std::move(finder).take();
}

void FilledLists::fill(const Gap& gap) {
  if (gap.kind != Gap::Kind::denied) {
    remedies_.allow.push_back(gap.remedy);
    return;
  }
  SupportList& list = lists_[gap.list];
  const bool was_overlay = is_overlay(list);
  list.deny.erase(std::find(list.deny.begin(), list.deny.end(), gap.rule));
  // An overlay without rules has no effect, as verdicts about no node; a list would accept nothing.
  if (was_overlay && list.deny.empty()) list.role = ListRole::verdicts;
}

std::vector<SupportList> FilledLists::with_remedies() const {
  std::vector<SupportList> lists = lists_;
  const std::vector<Rule>& rules = remedies_.allow;
  bool is_added = false;
  for (SupportList& list : lists) {
    if (list.role != ListRole::all_of || is_overlay(list)) continue;
    list.allow.insert(list.allow.end(), rules.begin(), rules.end());
    is_added = true;
  }
  if (is_added) return lists;
  const bool is_for_runtime = std::any_of(lists.begin(), lists.end(), [](const SupportList& list) {
    return list.view == GraphView::onnxruntime;
  });
  lists.push_back(remedies_);
  if (is_for_runtime) lists.back().view = GraphView::onnxruntime;
  return lists;
}

}  // namespace cleave
