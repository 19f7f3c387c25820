// Rules: which apply to a node, why one fails, and which match nothing.

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"

namespace cleave {

// ---- reason ----

std::string_view reason_code_name(ReasonCode code) {
  // In the order of the enumerators.
  static constexpr std::array<std::string_view, kReasonCodeCount> kNames = {
      "",
      "no_rule",
      "rule_failed",
      "denied",
      "non_tensor_input",
      "non_tensor_output",
      "fusion_group",
      "small_subgraph",
      "host_shape",
      "qdq_group",
      "over_cap",
      "costs_more",
      "shared_memory",
      "part_limit",
      "pattern_failed",
      "pattern_group",
      "runtime_graph",
      "part_condition",
  };
  return kNames[static_cast<std::size_t>(code)];
}

// ---- glob ----
//
// Matches globs by remembering the last star only: when the text after it does not match, the star
// takes one more character.

namespace {

// The position after the UTF-8 character at `at`; in text that is not UTF-8 any byte is a
// character.
std::size_t next_character(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) ++at;
  return at;
}

// The longest run of bytes without * and ?.
std::string_view longest_piece(std::string_view glob) {
  std::string_view longest;
  while (!glob.empty()) {
    const std::string_view piece = glob.substr(0, glob.find_first_of("*?"));
    if (piece.size() > longest.size()) longest = piece;
    glob.remove_prefix(std::min(piece.size() + 1, glob.size()));
  }
  return longest;
}

}  // namespace

bool is_glob(std::string_view pattern) { return pattern.find_first_of("*?") != pattern.npos; }

bool glob_match(std::string_view pattern, std::string_view text) {
  constexpr std::size_t kNoStar = std::string_view::npos;
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = kNoStar;
  std::size_t star_end = 0;  // end of the text that the star matches
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_end = t;
    } else if (p < pattern.size() && pattern[p] == '?') {
      ++p;
      t = next_character(text, t);
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != kNoStar) {
      p = star + 1;
      star_end = next_character(text, star_end);
      t = star_end;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// The window is the end of a long piece, since globs differ there more often than at the beginning.
void GlobSet::add(std::string_view glob, std::uint32_t id) {
  ++size_;
  std::string_view window = longest_piece(glob);
  if (window.size() > kWidest) window.remove_prefix(window.size() - kWidest);
  if (!window.empty()) widths_ |= 1U << window.size();
  (window.empty() ? without_window_ : by_window_[window]).push_back({glob, id});
}

void GlobSet::match_all(const Globs& globs, std::string_view text,
                        std::vector<std::uint32_t>& ids) {
  for (const Glob& glob : globs) {
    if (glob_match(glob.pattern, text)) ids.push_back(glob.id);
  }
}

std::vector<std::uint32_t> GlobSet::matches(std::string_view text) const {
  std::vector<std::uint32_t> ids;
  match_all(without_window_, text, ids);
  for (std::size_t width = 1; width <= std::min(kWidest, text.size()); ++width) {
    if ((widths_ >> width & 1U) == 0) continue;
    std::unordered_set<std::string_view> seen;
    for (std::size_t at = 0; at + width <= text.size(); ++at) {
      const auto found = by_window_.find(text.substr(at, width));
      if (found == by_window_.end() || !seen.insert(found->first).second) continue;
      match_all(found->second, text, ids);
    }
  }
  std::ranges::sort(ids);
  return ids;
}

// ---- rule check ----

namespace {

using What = FailedCondition::What;

// ---- opsets ----

bool opset_holds(const Graph& graph, NodeId node, const OpsetRule& rule, const OpFacts& facts) {
  const auto opset = opset_of(graph, node, facts);
  if (!opset) return false;
  if (!rule.same_schema) return *opset >= rule.lowest && *opset <= rule.highest;
  if (*opset == rule.lowest) return true;
  if (!facts.schema_version) return false;
  const auto version = facts.schema_version(graph.domain(node), graph.op(node), *opset);
  return version != 0 &&
         version == facts.schema_version(graph.domain(node), graph.op(node), rule.lowest);
}

}  // namespace

bool is_in_domain(std::string_view written, std::string_view domain) {
  // Without a domain a name is that of either format.
  if (plain_domain(written) == plain_domain(domain)) {
    return written != "tflite" || domain == written;
  }
  return is_glob(written) && glob_match(written, domain.empty() ? "ai.onnx" : domain);
}

// A graph may have its ops' domains in their names, too: torch.fx and TorchScript write aten::add.
bool names_op(const ParsedOp& name, std::string_view domain, std::string_view op) {
  const auto fits = [&](std::string_view of_domain, std::string_view called) {
    return (name.op == called || (is_glob(name.op) && glob_match(name.op, called))) &&
           is_in_domain(name.domain, of_domain);
  };
  if (name.op.empty() || fits(domain, op)) return true;
  if (const std::string_view path = torch_path(op); !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size() - 1);
    return fits(domain, path) || fits(path.substr(0, dot), path.substr(dot + 1)) ||
           is_torch_spelling(name.domain, name.op, op);
  }
  const ParsedOp parsed = parse_op(op);
  return domain.empty() && parsed.has_domain && fits(parsed.domain, parsed.op);
}

bool names_op_anywhere(const ParsedOp& name, std::string_view domain, std::string_view op) {
  return !name.op.empty() && names_op(name, name.has_domain ? domain : "", op);
}

bool names_op(const Rule& rule, std::string_view domain, std::string_view op) {
  return names_op(ParsedOp{.domain = rule.domain, .op = rule.op}, domain, op);
}

void find_failed_conditions(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts,
                            std::vector<FailedCondition>& failed) {
  for (std::uint32_t i = 0; i < rule.inputs.size(); ++i) {
    if (!rule.inputs[i]) continue;
    const Operand* input = find_plain_input(graph, node, i);
    if (input && !rule.inputs[i]->accepts(graph.value(input->value))) {
      failed.push_back({What::input, i});
    }
  }
  for (const ValueId output : graph.outputs(node)) {
    const std::uint32_t slot = graph.value(output).slot;
    if (slot >= rule.outputs.size() || !rule.outputs[slot]) continue;
    if (!rule.outputs[slot]->accepts(graph.value(output))) failed.push_back({What::output, slot});
  }
  for (std::uint32_t i = 0; i < rule.kwargs.size(); ++i) {
    const Operand* kwarg = find_plain_keyword(graph, node, rule.kwargs[i].first);
    if (kwarg && !rule.kwargs[i].second.accepts(graph.value(kwarg->value))) {
      failed.push_back({What::kwarg, i});
    }
  }
  for (std::uint32_t i = 0; i < rule.conditions.size(); ++i) {
    if (!condition_holds(graph, node, rule.conditions[i], facts)) {
      failed.push_back({What::condition, i});
    }
  }
  if (rule.opset && !opset_holds(graph, node, *rule.opset, facts)) failed.push_back({What::opset});
}

bool names_node(const Rule& rule, std::string_view node_name) {
  if (rule.node_name.empty()) return true;
  if (rule.is_exact_name) return rule.node_name == node_name;
  return glob_match(rule.node_name, node_name);
}

bool has_input_of(const Graph& graph, NodeId node, const TypeSet& types) {
  return std::ranges::any_of(graph.operands(node), [&](const Operand& operand) {
    return !graph.is_parameter(operand.value) && types.accepts(graph.value(operand.value));
  });
}

namespace {

FailedPart type_part(std::string subject, const TypeSet& wanted, const Value& value) {
  const std::string found = found_type_text(value.type, value.dtype);
  return {.condition = "type",
          .subject = std::move(subject),
          .expected = types_text(wanted),
          .actual = found,
          .found = found,
          .types = wanted,
          .dtype = value.is_tensor() ? value.dtype : DType::unknown};
}

FailedPart opset_part(const Graph& graph, NodeId node, const OpsetRule& wanted,
                      const OpFacts& facts) {
  const std::string_view domain = stated_domain(graph.domain(node));
  const auto found = opset_of(graph, node, facts);
  FailedPart part{.condition = "opset",
                  .subject = domain.empty() ? "opset" : "opset of " + std::string(domain),
                  .expected = "the schema of " + std::to_string(wanted.lowest),
                  .actual = found ? std::to_string(*found) : "not stated by the model"};
  if (domain == "tflite") part.subject = "version of the operator";
  if (!wanted.same_schema) {
    part.expected = std::to_string(wanted.lowest);
    if (wanted.highest != wanted.lowest) part.expected += " to " + std::to_string(wanted.highest);
  }
  if (found && *found < wanted.lowest) part.newer_opset = wanted.lowest;
  return part;
}

FailedPart failed_part(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts,
                       const FailedCondition& failed) {
  const std::uint32_t item = failed.item;
  switch (failed.what) {
    case What::input: {
      const ValueId value = find_plain_input(graph, node, item)->value;
      return type_part("input " + std::to_string(item), *rule.inputs[item], graph.value(value));
    }
    case What::output: {
      const auto outputs = graph.outputs(node);
      const auto at = std::ranges::find_if(
          outputs, [&](ValueId output) { return graph.value(output).slot == item; });
      return type_part("output " + std::to_string(item), *rule.outputs[item], graph.value(*at));
    }
    case What::kwarg: {
      const auto& [name, types] = rule.kwargs[item];
      const ValueId value = find_plain_keyword(graph, node, name)->value;
      return type_part("argument " + name, types, graph.value(value));
    }
    case What::condition: {
      FailedPart part;
      condition_holds(graph, node, rule.conditions[item], facts, &part);
      return part;
    }
    case What::opset:
      break;
  }
  return opset_part(graph, node, *rule.opset, facts);
}

// Attributes first, then the entries of "shapes".
int order_of(const Condition& condition) {
  if (condition.property == Property::attribute) return 0;
  return condition.is_clause ? 1 : 2;
}

}  // namespace

void Rule::add(Condition condition) {
  if (conditions.empty() || order_of(conditions.back()) <= order_of(condition)) {
    conditions.push_back(std::move(condition));
    return;
  }
  const auto place = std::ranges::upper_bound(
      conditions, condition,
      [](const auto& a, const auto& b) { return order_of(a) < order_of(b); });
  conditions.insert(place, std::move(condition));
}

void Rule::add(const ShapeEntry& entry) {
  for (Condition& condition : conditions_of(entry)) add(std::move(condition));
}

std::vector<FailedPart> failed_parts(const Graph& graph, NodeId node, const Rule& rule,
                                     const OpFacts& facts) {
  std::vector<FailedCondition> failed;
  find_failed_conditions(graph, node, rule, facts, failed);
  std::vector<FailedPart> parts;
  parts.reserve(failed.size());
  for (const FailedCondition& condition : failed) {
    parts.push_back(failed_part(graph, node, rule, facts, condition));
  }
  return parts;
}

bool fails_on_opset_alone(const Graph& graph, NodeId node, std::span<const SupportList> lists,
                          const Reason& reason, const OpFacts& facts) {
  if (reason.code != ReasonCode::rule_failed || reason.because != kNone<NodeId>) return false;
  std::vector<FailedCondition> failed;
  find_failed_conditions(graph, node, lists[reason.list].allow[reason.rule], facts, failed);
  return failed.size() == 1 && failed.front().what == FailedCondition::What::opset &&
         opset_of(graph, node, facts).has_value();
}

std::optional<std::int64_t> newer_opset_of(const std::vector<FailedPart>& failed) {
  return failed.size() == 1 ? failed.front().newer_opset : std::nullopt;
}

std::optional<std::int64_t> newer_opset_of(const Graph& graph, NodeId node, const Rule& rule,
                                           const OpFacts& facts) {
  return newer_opset_of(failed_parts(graph, node, rule, facts));
}

// ---- rule index ----

RulesByOp::RulesByOp(const std::vector<Rule>& rules)
    : RulesByOp(rules, [](const Rule&) { return true; }) {}

void RulesByOp::add(std::uint32_t i) {
  const std::string& op = rules_[i].op;
  if (is_glob(op)) {
    globs_.add(op, i);
  } else {
    (op.empty() ? any_ : exact_[op]).push_back(i);
  }
}

RuleIndices RulesByOp::names(std::string_view domain, std::string_view op) const {
  RuleIndices found;
  const auto look_up = [&](std::string_view name) {
    if (const auto exact = exact_.find(name); exact != exact_.end()) append(found, exact->second);
  };
  const ParsedOp parsed = parse_op(op);
  look_up(op);
  if (parsed.has_domain) look_up(parsed.op);
  for (const std::string& spelling : torch_spellings(op)) look_up(spelling);
  const std::string_view path = torch_path(op);
  const std::string_view name = path.substr(path.find('.') + 1);  // without torch's domain
  for (const std::string_view text : {op, parsed.has_domain ? parsed.op : "", path, name}) {
    if (!text.empty() && !globs_.empty()) append(found, globs_.matches(text));
  }
  std::erase_if(found, [&](std::uint32_t i) { return !names_op(rules_[i], domain, op); });
  append(found, any_);
  sort_unique(found);
  return found;
}

void RulesByName::add(const Rule& rule, std::uint32_t i) {
  if (!rule.is_exact_name && is_glob(rule.node_name)) {
    globs_.add(rule.node_name, i);
  } else {
    exact_[rule.node_name].push_back(i);
  }
}

RuleIndices RulesByName::matches(std::string_view node_name) const {
  RuleIndices found;
  if (!globs_.empty()) found = globs_.matches(node_name);
  const auto exact = exact_.find(node_name);
  if (exact == exact_.end()) return found;
  found.insert(found.end(), exact->second.begin(), exact->second.end());
  std::ranges::sort(found);
  return found;
}

namespace {

// The first condition that asks for certain values of an attribute; null: none. Axes are left out, since
// the same one has several numbers.
const Condition* condition_on_values(const Rule& rule) {
  const auto asks = [](const Condition& one) {
    return one.property == Property::attribute && !one.wanted.one_of.empty() &&
           one.name != "axis" && one.name != "axes";
  };
  const auto found = std::ranges::find_if(rule.conditions, asks);
  return found == rule.conditions.end() ? nullptr : &*found;
}

}  // namespace

RuleFilter::RuleFilter(const std::vector<Rule>& rules, const RuleIndices& of_op) {
  for (const std::uint32_t i : of_op) {
    const Condition* const condition = condition_on_values(rules[i]);
    if (condition == nullptr) {
      others_.push_back(i);
      continue;
    }
    std::set<std::string> keys;
    for (const AttributeValue& value : condition->wanted.one_of) keys.insert(value_key(value));
    const auto [attribute, is_new] = by_attribute_.try_emplace(condition->name);
    if (is_new) unstated_.push_back(condition->name);
    for (const std::string& key : keys) attribute->second[key].push_back(i);
  }
}

void RuleFilter::keep_defaults(const Graph& graph, NodeId node, const OpFacts& facts) {
  std::erase_if(unstated_, [&](const std::string& name) {
    return !may_have_unstated(graph, node, name, facts);
  });
}

RuleIndices RuleFilter::candidates(const Graph& graph, NodeId node, const OpFacts& facts) const {
  RuleIndices found = others_;
  const auto look_up = [&](std::string_view name) {
    const auto by_value = by_attribute_.find(name);
    if (by_value == by_attribute_.end()) return;
    const auto value = attribute_value(graph, node, name, facts);
    if (!value) return;
    const auto rules = by_value->second.find(value_key(*value));
    if (rules != by_value->second.end()) append(found, rules->second);
  };
  for (const Attribute& stated : graph.attributes(node)) look_up(graph.text(stated.name));
  for (const std::string& name : unstated_) {
    if (find_attribute(graph, node, name) == nullptr) look_up(name);
  }
  if (found.size() > others_.size()) sort_unique(found);
  return found;
}

namespace {

// True for a rule for nodes of some name, whatever their op.
bool is_for_names(const Rule& rule) { return rule.op.empty() && !rule.node_name.empty(); }

bool is_for_ops(const Rule& rule) { return !is_for_names(rule); }

void add_names(const std::vector<Rule>& rules, RulesByName& by_name) {
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    if (is_for_names(rules[i])) by_name.add(rules[i], i);
  }
}

NamedRules named_rules(const std::vector<Rule>& rules, const RuleIndices& all) {
  // Fewer rules are looked at one by one sooner than a filter of them is made.
  constexpr std::size_t kMany = 32;
  NamedRules named;
  for (const std::uint32_t i : all) {
    if (rules[i].node_name.empty()) {
      named.unnamed.push_back(i);
    } else {
      named.by_name.add(rules[i], i);
    }
  }
  if (named.unnamed.size() > kMany) named.filter.emplace(rules, named.unnamed);
  return named;
}

}  // namespace

RuleIndex::RuleIndex(const SupportList& list)
    : list_(list), allow_(list.allow, is_for_ops), deny_(list.deny, is_for_ops) {
  add_names(list.allow, allow_by_name_);
  add_names(list.deny, deny_by_name_);
}

OpRules RuleIndex::rules_of(std::string_view domain, std::string_view op) const {
  return {named_rules(list_.allow, allow_.names(domain, op)),
          named_rules(list_.deny, deny_.names(domain, op))};
}

// ---- part conditions ----

namespace {

bool is_named(const Graph& graph, NodeId node, const std::string& name) {
  return names_op_anywhere(parse_op(name), graph.domain(node), graph.op(node));
}

std::optional<Reason> failed_of(const Graph& graph, const PartConditions& part,
                                std::span<const NodeId> nodes) {
  for (std::size_t i = 0; i < part.min_ops.size(); ++i) {
    const auto found = static_cast<std::uint64_t>(std::ranges::count_if(
        nodes, [&](NodeId node) { return is_named(graph, node, part.min_ops[i].op); }));
    if (found >= part.min_ops[i].count) continue;
    return Reason{.code = ReasonCode::part_condition,
                  .rule = static_cast<std::uint32_t>(i),
                  .size = static_cast<std::uint32_t>(found)};
  }
  const bool has_other = part.not_only.empty() || std::ranges::any_of(nodes, [&](NodeId node) {
                           return std::ranges::none_of(part.not_only, [&](const auto& name) {
                             return is_named(graph, node, name);
                           });
                         });
  if (has_other) return std::nullopt;
  return Reason{.code = ReasonCode::part_condition, .rule = kNotOnly};
}

}  // namespace

bool have_part_conditions(std::span<const SupportList> lists) {
  return std::ranges::any_of(lists, [](const SupportList& list) { return list.part.is_any(); });
}

std::optional<Reason> failed_part_condition(const Graph& graph, std::span<const SupportList> lists,
                                            std::span<const NodeId> nodes) {
  for (std::size_t i = 0; i < lists.size(); ++i) {
    auto reason = failed_of(graph, lists[i].part, nodes);
    if (!reason) continue;
    reason->list = static_cast<std::uint16_t>(i);
    return reason;
  }
  return std::nullopt;
}

// ---- unused rules ----

std::vector<Rule> allowing_rules(const SupportList& list) {
  std::vector<Rule> rules;
  rules.reserve(list.allow.size());
  const auto add = [&](const Rule& rule) {
    Rule& named = rules.emplace_back();
    named.op = rule.op;
    named.domain = rule.domain;
    named.line = rule.line;
    named.column = rule.column;
  };
  for (const Rule& rule : list.allow) add(rule);
  for (const Pattern& pattern : list.patterns) {
    for (const Rule& op : pattern.ops) add(op);
  }
  return rules;
}

namespace {

// Ops that are named as near misses of one rule. More would be a list to search, not a hint.
constexpr std::size_t kMostOps = 3;

// The distinct ops of the graph, bodies included, in model order.
std::vector<UsedOp> used_ops(const Graph& graph) {
  std::vector<UsedOp> ops;
  std::unordered_map<std::uint64_t, std::size_t> places;
  const auto note = [&](NodeId node) {
    const std::uint64_t key = std::uint64_t{index(graph.node(node).domain)} << 32U |
                              std::uint64_t{index(graph.node(node).op)};
    const auto place = places.try_emplace(key, ops.size());
    if (place.second) ops.push_back({graph.domain(node), graph.op(node)});
    ++ops[place.first->second].nodes;
  };
  for (const NodeId node : graph.nodes()) {
    note(node);
    for (const NodeId inner : graph.body_nodes(node)) note(inner);
  }
  return ops;
}

bool names_any(const SupportList& list, const std::vector<UsedOp>& ops) {
  const std::vector<Rule> rules = allowing_rules(list);
  const RulesByOp allow(rules);
  return std::ranges::any_of(
      ops, [&](const UsedOp& op) { return !allow.names(op.domain, op.op).empty(); });
}

}  // namespace

std::vector<IdleList> find_idle_lists(const Graph& graph, std::span<const SupportList> lists) {
  std::vector<UsedOp> ops = used_ops(graph);
  std::vector<IdleList> idle;
  if (ops.empty()) return idle;
  const bool has_others = !all_are_overlays(lists);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].role == ListRole::verdicts || (has_others && is_overlay(lists[i]))) continue;
    if (!names_any(lists[i], ops)) idle.push_back({static_cast<std::uint16_t>(i), {}});
  }
  if (idle.empty()) return idle;
  std::ranges::stable_sort(ops, std::ranges::greater{}, &UsedOp::nodes);
  ops.resize(std::min(ops.size(), kMostOps));
  for (IdleList& list : idle) list.ops = ops;
  return idle;
}

namespace {

constexpr std::string_view kAten = "torch.ops.aten.";

// From torch's decomposition tables, torch._decomp.core_aten_decompositions() and the default of
// run_decompositions(). Each pair is one of several that a name may have.
struct Pair {
  std::string_view exported, decomposed;
};
constexpr std::array<Pair, 31> kPairs = {{
    {"conv1d", "convolution"},
    {"conv2d", "convolution"},
    {"conv3d", "convolution"},
    {"conv_transpose1d", "convolution"},
    {"conv_transpose2d", "convolution"},
    {"conv_transpose3d", "convolution"},
    {"linear", "addmm"},
    {"linear", "mm"},
    {"matmul", "mm"},
    {"matmul", "bmm"},
    {"batch_norm", "_native_batch_norm_legit_no_training"},
    {"batch_norm", "_native_batch_norm_legit_functional"},
    {"batch_norm", "_native_batch_norm_legit"},
    {"layer_norm", "native_layer_norm"},
    {"group_norm", "native_group_norm"},
    {"instance_norm", "_native_batch_norm_legit"},
    {"softmax", "_softmax"},
    {"log_softmax", "_log_softmax"},
    {"dropout", "native_dropout"},
    {"max_pool1d", "max_pool2d_with_indices"},
    {"max_pool2d", "max_pool2d_with_indices"},
    {"max_pool3d", "max_pool3d_with_indices"},
    {"adaptive_avg_pool2d", "_adaptive_avg_pool2d"},
    {"adaptive_avg_pool3d", "_adaptive_avg_pool3d"},
    {"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu"},
    {"flatten", "view"},
    {"unflatten", "view"},
    {"reshape", "view"},
    {"contiguous", "clone"},
    {"to", "_to_copy"},
    {"type_as", "_to_copy"},
}};

// True for "relu_", which writes its argument; not for "__and__".
bool writes_in_place(std::string_view name) {
  return name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_';
}

}  // namespace

std::vector<IrTwin> ir_twins(std::string_view op) {
  std::vector<IrTwin> twins;
  if (!op.starts_with(kAten)) return twins;
  std::string_view name = op.substr(kAten.size());
  name = name.substr(0, name.find('.'));
  enum class Form { exported, decomposed };
  const auto add = [&](std::string_view twin, Form form) {
    twins.push_back({"aten." + std::string(twin), form == Form::decomposed});
  };
  for (const Pair& pair : kPairs) {
    if (pair.exported == name) add(pair.decomposed, Form::decomposed);
    if (pair.decomposed == name) add(pair.exported, Form::exported);
  }
  if (writes_in_place(name)) {
    add(name.substr(0, name.size() - 1), Form::decomposed);
  } else if (!name.ends_with('_')) {
    add(std::string(name) + "_", Form::exported);
  }
  return twins;
}

// Steps of a search for near misses:
// 1. list the ops of the graph, and those that no allow rule of a list names;
// 2. for each rule that names no op of the graph, look up the ops whose names differ by a slip of
//    case, module or domain only;
// 3. if there is none, compare the rule with ops of about its length, a few million letters in all,
//    so that hints do not take long.

namespace {

std::string without_digits(std::string_view text) {
  std::string result;
  std::ranges::remove_copy_if(text, std::back_inserter(result), is_digit);
  return result;
}

// The last of a name's parts; of torch's "torch.ops.aten.add.Tensor" the one before the overload, which says nothing alone.
std::string_view own_name(std::string_view name) {
  if (name.starts_with("torch.ops.")) name = name.substr(0, name.rfind('.'));
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string_view first_component(std::string_view name) { return name.substr(0, name.find('.')); }

bool is_dotted(std::string_view name) { return name.find('.') != name.npos; }

constexpr std::size_t kShortest = 5;           // below, one letter makes another op: Sin, Sinh
constexpr std::size_t kLongest = 256;          // above, no name is compared letter by letter
constexpr std::size_t kMostEdits = 2;          // in a name of ten letters or more; else 1
constexpr std::size_t kMostSteps = 4'000'000;  // of comparisons, for one list

std::size_t most_edits(std::string_view op) {
  return std::clamp(op.size() / 5, std::size_t{1}, kMostEdits);
}

bool is_misspelt(std::string_view rule, std::string_view op) {
  const std::size_t most = most_edits(own_name(op));
  return edit_distance(rule, op, most) <= most && without_digits(rule) != without_digits(op);
}

// The parts of a name as one text, for tables.
std::string key_of(std::string_view domain, std::string_view a, std::string_view b = {}) {
  std::string key(plain_domain(domain));
  key += '\0';
  key += a;
  key += '\0';
  return key += b;
}

// The ops that a list does not cover, in model order, by the parts of their names that each kind of
// slip leaves unchanged.
class Candidates {
 public:
  explicit Candidates(std::vector<UsedOp> ops) : ops_(std::move(ops)) {
    for (std::uint32_t i = 0; i < ops_.size(); ++i) {
      const auto [domain, op] = std::pair(ops_[i].domain, ops_[i].op);
      by_name_[op].push_back(i);
      by_lower_.try_emplace(key_of(domain, lower_case(op)), i);
      const std::string_view last = own_name(op);
      by_last_.try_emplace(key_of(domain, last, is_dotted(op) ? "." : ""), i);
      if (is_dotted(op)) by_ends_.try_emplace(key_of(domain, first_component(op), last), i);
      by_length_[key_of(domain, std::to_string(op.size()))].push_back(i);
    }
  }

  bool empty() const { return ops_.empty(); }

  // The op that the rule most likely means: by the likeliest kind of slip, then the first in the
  // model; null when there is none.
  const UsedOp* likeliest(const Rule& rule) {
    for (const auto find : {&Candidates::other_domain, &Candidates::other_case,
                            &Candidates::other_module, &Candidates::misspelt}) {
      const auto found = (this->*find)(rule);
      // A rule that says of which format it is means no operator of another.
      const bool is_meant = rule.domain != "tflite" || (found && is_in_domain(*found, rule));
      if (found && is_meant) return &ops_[*found];
    }
    return nullptr;
  }

 private:
  using Place = std::optional<std::uint32_t>;  // in ops_
  using Table = std::unordered_map<std::string, std::uint32_t>;

  static Place in(const Table& table, const std::string& key) {
    const auto found = table.find(key);
    return found == table.end() ? Place() : Place(found->second);
  }

  static Place first(Place a, Place b) { return a && b ? std::min(a, b) : (a ? a : b); }

  bool is_in_domain(std::uint32_t place, const Rule& rule) const {
    return cleave::is_in_domain(rule.domain, ops_[place].domain);
  }

  Place other_domain(const Rule& rule) {
    const auto named = by_name_.find(rule.op);
    if (named == by_name_.end()) return {};
    const auto other = std::ranges::find_if(
        named->second, [&](std::uint32_t i) { return !is_in_domain(i, rule); });
    return other == named->second.end() ? Place() : Place(*other);
  }

  Place other_case(const Rule& rule) {
    return in(by_lower_, key_of(rule.domain, lower_case(rule.op)));
  }

  Place other_module(const Rule& rule) {
    const std::string_view last = own_name(rule.op);
    if (!is_dotted(rule.op)) return in(by_last_, key_of(rule.domain, last, "."));
    return first(in(by_last_, key_of(rule.domain, last)),
                 in(by_ends_, key_of(rule.domain, first_component(rule.op), last)));
  }

  Place misspelt(const Rule& rule) {
    const std::size_t size = rule.op.size();
    if (own_name(rule.op).size() < kShortest || size > kLongest) return {};
    Place found;
    for (std::size_t length = size - kMostEdits; length <= size + kMostEdits; ++length) {
      const auto ops = by_length_.find(key_of(rule.domain, std::to_string(length)));
      if (ops != by_length_.end()) found = first(found, misspelt_of(rule, ops->second));
    }
    return found;
  }

  Place misspelt_of(const Rule& rule, const std::vector<std::uint32_t>& places) {
    for (const std::uint32_t place : places) {
      const std::string_view op = ops_[place].op;
      const std::size_t steps = 2 * kMostEdits * op.size();
      if (steps > steps_left_) return {};
      steps_left_ -= steps;
      // The rule's own name is longer than those, and no other op's: is_known() is asked, too.
      const std::size_t shortest = is_dotted(op) ? kShortest : kShortest - 1;
      if (own_name(op).size() >= shortest && is_misspelt(rule.op, op)) return place;
    }
    return {};
  }

  std::vector<UsedOp> ops_;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> by_name_;
  Table by_lower_, by_last_, by_ends_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_length_;
  std::size_t steps_left_ = kMostSteps;
};

bool is_known(const Graph& graph, const Rule& rule, const OpFacts& facts) {
  if (!facts.schema_version) return false;
  const auto opset = imported_opset(graph, rule.domain);
  return opset && facts.schema_version(rule.domain, rule.op, *opset) != 0;
}

// How the allow rules of a list and the ops of a graph fit.
struct Fit {
  std::vector<bool> names_an_op;  // by rule
  std::vector<UsedOp> uncovered;  // ops that no rule names
};

Fit fit(const std::vector<Rule>& allow, const std::vector<UsedOp>& ops) {
  const RulesByOp by_op(allow, [](const Rule& rule) { return !rule.op.empty(); });
  Fit fit{.names_an_op = std::vector<bool>(allow.size()), .uncovered = {}};
  for (const UsedOp& op : ops) {
    const RuleIndices rules = by_op.names(op.domain, op.op);
    if (rules.empty()) fit.uncovered.push_back(op);
    for (const std::uint32_t rule : rules) fit.names_an_op[rule] = true;
  }
  return fit;
}

}  // namespace

std::vector<NearMiss> near_misses(const Graph& graph, std::span<const SupportList> lists,
                                  const OpFacts& facts) {
  const std::vector<UsedOp> ops = used_ops(graph);
  std::vector<NearMiss> misses;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::vector<Rule> allow = allowing_rules(lists[i]);
    Fit here = fit(allow, ops);
    Candidates candidates(std::move(here.uncovered));
    for (std::uint32_t j = 0; j < allow.size() && !candidates.empty(); ++j) {
      const bool is_of_several = is_glob(allow[j].op) || is_glob(allow[j].domain);
      if (allow[j].op.empty() || is_of_several || here.names_an_op[j]) continue;
      const UsedOp* const op = candidates.likeliest(allow[j]);
      if (op && !is_known(graph, allow[j], facts)) {
        misses.push_back({static_cast<std::uint16_t>(i), j, op->op, op->domain});
      }
    }
  }
  return misses;
}

}  // namespace cleave
