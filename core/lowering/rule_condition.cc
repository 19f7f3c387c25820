// Steps:
// 1. list the conditions that hold for some failed case: inputs, opset, attributes;
// 2. add ranges of attributes that separate failed from passed numbers.
#include "core/lowering/rule_condition.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "core/condition/attribute_value.h"
#include "core/graph/domain.h"
#include "core/support/rule_check.h"

namespace cleave {
namespace {

std::string literal_text(const Literal& literal) {
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&literal)) return std::to_string(*real);
  return '"' + std::get<std::string>(literal) + '"';
}

std::string value_text(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return literal_text(*integer);
  if (const auto* real = std::get_if<double>(&value)) return literal_text(*real);
  if (const auto* text = std::get_if<std::string>(&value)) return literal_text(*text);
  std::string list = "[";
  for (const Literal& item : std::get<std::vector<Literal>>(value)) {
    list += (list.size() > 1 ? "," : "") + literal_text(item);
  }
  return list + "]";
}

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
        ShapeRule shape;
        shape.input = position;
        shape.rank = rank;
        rule.shapes.push_back(shape);
        add(input + " has rank " + std::to_string(rank), rule);
      }
    }
  }

  void add_opset(const EvidenceCase& item) {
    const auto opset = imported_opset(*item.graph, item.graph->domain(item.node));
    if (!opset) return;
    Rule rule = op_rule_;
    rule.opset = OpsetRule{.lowest = *opset, .highest = *opset};
    add("opset " + std::to_string(*opset), rule);
  }

  void add_attribute(const EvidenceCase& item, const std::string& name) {
    const auto value = attribute_value(*item.graph, item.node, name, facts_);
    if (!value) return;
    Rule rule = op_rule_;
    AttributeRule condition;
    condition.name = name;
    condition.accepted.push_back(*value);
    rule.attributes.push_back(std::move(condition));
    add("attribute " + name + " is " + value_text(*value), rule);
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
    AttributeRule range;
    range.name = name;
    if (failed.low > passed.high) {
      range.min = static_cast<double>(passed.high + (failed.low - passed.high + 1) / 2);
    } else if (failed.high < passed.low) {
      range.max = static_cast<double>(failed.high + (passed.low - failed.high) / 2);
    } else {
      return;
    }
    Rule rule = op_rule_;
    rule.attributes.push_back(range);
    add("attribute " + name + " in a range", rule);
  }

  std::span<const EvidenceCase> cases_;
  const OpFacts& facts_;
  Rule op_rule_;
  std::set<std::string> attribute_names_;
  std::map<std::string, Rule> rules_;  // by text
};

}  // namespace

std::vector<RuleCondition> conditions_of(const OpName& op, std::span<const EvidenceCase> cases,
                                         const OpFacts& facts) {
  return ConditionList(op, cases, facts).build();
}

bool may_be_combined(const Rule& one, const Rule& other) {
  if (one.opset && other.opset) return false;
  for (std::size_t i = 0; i < std::min(one.inputs.size(), other.inputs.size()); ++i) {
    if (one.inputs[i] && other.inputs[i]) return false;
  }
  const auto has_same = [](const auto& items, const auto& others, auto subject) {
    return std::any_of(items.begin(), items.end(), [&](const auto& item) {
      return std::any_of(others.begin(), others.end(),
                         [&](const auto& with) { return item.*subject == with.*subject; });
    });
  };
  return !has_same(one.attributes, other.attributes, &AttributeRule::name) &&
         !has_same(one.shapes, other.shapes, &ShapeRule::input);
}

Rule combined(const Rule& one, const Rule& other) {
  Rule rule = one;
  if (other.opset) rule.opset = other.opset;
  rule.inputs.resize(std::max(one.inputs.size(), other.inputs.size()));
  for (std::size_t i = 0; i < other.inputs.size(); ++i) {
    if (other.inputs[i]) rule.inputs[i] = other.inputs[i];
  }
  rule.attributes.insert(rule.attributes.end(), other.attributes.begin(), other.attributes.end());
  rule.shapes.insert(rule.shapes.end(), other.shapes.begin(), other.shapes.end());
  return rule;
}

bool holds_of(const Rule& rule, const EvidenceCase& item, const OpFacts& facts) {
  if (!names_op(rule, item.graph->domain(item.node), item.graph->op(item.node))) return false;
  std::vector<FailedCondition> failed;
  find_failed_conditions(*item.graph, item.node, rule, facts, failed);
  return failed.empty();
}

}  // namespace cleave
