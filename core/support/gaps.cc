#include "core/support/gaps.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/support/rule_check.h"

namespace cleave {
namespace {

using What = FailedPart::What;

// The types that accept the value; nothing, which is any, when they are not known.
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

// ---- remedies ----

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

// Loosens a rule until it holds of a node: each condition that fails asks for what the node has, or
// for nothing any more where it is a bound.
class Loosening {
 public:
  Loosening(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts)
      : graph_(graph), node_(node), facts_(facts), rule_(rule) {
    rule_.op = graph.op(node);
    rule_.domain = plain_domain(graph.domain(node));
    rule_.why.clear();
    rule_.line = 0;
    rule_.column = 0;
    // No list but ONNX Runtime's can ask for a schema.
    if (rule_.opset && rule_.opset->same_schema) rule_.opset.reset();
  }

  // From the last condition to the first, since some are taken out.
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

  void loosen_shape(ShapeRule& rule, std::uint32_t clause) const {
    if (clause == FailedCondition::kRank) {
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

// True when other nodes that fail the condition may be of another gap: by what they have instead.
bool depends_on_actual(const Rule& rule, const FailedCondition& failed) {
  switch (failed.what) {
    case What::input:
    case What::output:
    case What::kwarg:
      return true;
    case What::attribute:
      return !rule.attributes[failed.item].accepted.empty();
    case What::shape:
      return failed.clause == FailedCondition::kRank;
    case What::opset:
      return false;
  }
  return false;
}

// Whether the model or the operator states a value makes no other gap.
std::string_view without_origin(std::string_view actual) {
  constexpr std::string_view kByDefault = " by default";
  if (actual.ends_with(kByDefault)) actual.remove_suffix(kByDefault.size());
  return actual;
}

// ---- gaps ----

class GapFinder {
 public:
  GapFinder(const Graph& graph, const std::vector<SupportList>& lists, const OpFacts& facts)
      : graph_(graph), lists_(lists), facts_(facts) {}

  void add(NodeId node, const Reason& reason) {
    if (reason.because != kNone<NodeId>) return;  // a body node has the gap
    switch (reason.code) {
      case ReasonCode::no_rule:
        return add_op(node);
      case ReasonCode::rule_failed:
        return add_condition(node, reason);
      case ReasonCode::denied:
        return add_denied(node, reason);
      default:
        return;
    }
  }

  std::vector<GapFound> take() && { return std::move(found_); }

 private:
  // The gap of that key: false when it is new, and has its key alone.
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
    for (std::size_t i = 0; i < failed_.size(); ++i) {
      key += parts[i].subject + '\n' + parts[i].expected + '\n';
      if (depends_on_actual(rule, failed_[i])) {
        key += without_origin(parts[i].actual);
        key += '\n';
      }
    }
    if (add_to(key, node)) return;
    Gap& gap = new_gap(Gap::Kind::condition, node);
    gap.list = reason.list;
    gap.rule = rule;
    gap.failed = std::move(parts);
    gap.remedy = Loosening(graph_, node, rule, facts_).run(failed_);
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
  std::vector<Rule>& deny = lists_[gap.list].deny;
  deny.erase(std::find(deny.begin(), deny.end(), gap.rule));
}

std::vector<SupportList> FilledLists::with_remedies() const {
  std::vector<SupportList> lists = lists_;
  lists.push_back(remedies_);
  return lists;
}

}  // namespace cleave
