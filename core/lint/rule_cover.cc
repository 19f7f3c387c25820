#include "core/lint/rule_cover.h"

#include <algorithm>
#include <functional>
#include <set>
#include <span>

#include "core/condition/attribute_value.h"
#include "core/graph/domain.h"
#include "core/support/glob.h"

namespace cleave {
namespace {

// Whether the pattern matches everything that the other one matches. A star of the narrow pattern
// must be matched by a star of the wide one: it is read as a character, which a star or ? matches.
bool covers_glob(const std::string& wide, const std::string& narrow) {
  if (wide.empty() || wide == narrow || wide == "*") return true;
  if (narrow.empty() || !is_glob(wide)) return false;
  if (is_glob(narrow) && wide.find('?') != wide.npos) return false;
  return glob_match(wide, narrow);
}

bool is_subset(const TypeSet& narrow, const TypeSet& wide) {
  return (narrow.dtypes & ~wide.dtypes) == 0 &&
         (unsigned{narrow.value_types} & ~unsigned{wide.value_types}) == 0;
}

bool covers_types(const MaybeTypes& wide, const MaybeTypes& narrow) {
  return !wide || (narrow && is_subset(*narrow, *wide));
}

bool covers_positions(const std::vector<MaybeTypes>& wide, const std::vector<MaybeTypes>& narrow) {
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (!covers_types(wide[i], i < narrow.size() ? narrow[i] : MaybeTypes())) return false;
  }
  return true;
}

bool covers_kwargs(const Rule& wide, const Rule& narrow) {
  return std::all_of(wide.kwargs.begin(), wide.kwargs.end(), [&](const auto& condition) {
    return std::any_of(narrow.kwargs.begin(), narrow.kwargs.end(), [&](const auto& other) {
      return other.first == condition.first && is_subset(other.second, condition.second);
    });
  });
}

std::optional<double> number_of(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

bool is_in_range(const AttributeValue& value, const AttributeRule& range) {
  const auto number = number_of(value);
  return number && (!range.min || *number >= *range.min) && (!range.max || *number <= *range.max);
}

bool covers_attribute(const AttributeRule& wide, const AttributeRule& narrow) {
  if (wide.name != narrow.name) return false;
  if (narrow.accepted.empty()) {
    if (!wide.accepted.empty()) return false;
    return (!wide.min || (narrow.min && *narrow.min >= *wide.min)) &&
           (!wide.max || (narrow.max && *narrow.max <= *wide.max));
  }
  return std::all_of(
      narrow.accepted.begin(), narrow.accepted.end(), [&](const AttributeValue& value) {
        if (wide.accepted.empty()) return is_in_range(value, wide);
        return std::find(wide.accepted.begin(), wide.accepted.end(), value) != wide.accepted.end();
      });
}

bool covers_shape(const ShapeRule& wide, const ShapeRule& narrow) {
  if (wide.input != narrow.input || (narrow.if_given && !wide.if_given)) return false;
  if (wide.rank && wide.rank != narrow.rank) return false;
  if (wide.is_static && !narrow.is_static) return false;
  if (wide.max_dim && (!narrow.max_dim || *narrow.max_dim > *wide.max_dim)) return false;
  return std::all_of(wide.multiple_of.begin(), wide.multiple_of.end(), [&](const auto& multiple) {
    return std::any_of(
        narrow.multiple_of.begin(), narrow.multiple_of.end(), [&](const auto& other) {
          return other.first == multiple.first && other.second % multiple.second == 0;
        });
  });
}

bool covers_opset(const Rule& wide, const Rule& narrow) {
  if (!wide.opset) return true;
  if (!narrow.opset || wide.opset->same_schema != narrow.opset->same_schema) return false;
  if (wide.opset->same_schema) return wide.opset->lowest == narrow.opset->lowest;
  return wide.opset->lowest <= narrow.opset->lowest && wide.opset->highest >= narrow.opset->highest;
}

bool covers_name(const Rule& wide, const Rule& narrow) {
  if (wide.is_exact_name || narrow.is_exact_name) {
    return wide.node_name.empty() ||
           (wide.node_name == narrow.node_name && wide.is_exact_name == narrow.is_exact_name);
  }
  return covers_glob(wide.node_name, narrow.node_name);
}

// Whether each condition of the wide rule follows from one of the narrow rule.
template <class Conditions, class Covers>
bool all_covered(const Conditions& wide, const Conditions& narrow, Covers covers_one) {
  return std::all_of(wide.begin(), wide.end(), [&](const auto& condition) {
    return std::any_of(narrow.begin(), narrow.end(),
                       [&](const auto& other) { return covers_one(condition, other); });
  });
}

}  // namespace

bool covers(const Rule& wide, const Rule& narrow) {
  const bool any_op = wide.op.empty();
  if (!any_op && plain_domain(wide.domain) != plain_domain(narrow.domain)) return false;
  if (!covers_glob(wide.op, narrow.op) || !covers_name(wide, narrow)) return false;
  return covers_types(wide.input_dtype, narrow.input_dtype) && covers_opset(wide, narrow) &&
         covers_positions(wide.inputs, narrow.inputs) &&
         covers_positions(wide.outputs, narrow.outputs) && covers_kwargs(wide, narrow) &&
         all_covered(wide.attributes, narrow.attributes, covers_attribute) &&
         all_covered(wide.shapes, narrow.shapes, covers_shape) &&
         all_covered(wide.conditions, narrow.conditions, std::equal_to<>());
}

namespace {

std::string key_of(const AttributeRule& attribute, const AttributeValue& value) {
  return "attribute " + attribute.name + '\0' + value_key(value);
}

std::string key_of_node(const std::string& name) { return "node " + name; }

bool is_for_several_ops(const Rule& rule) { return rule.op.empty() || is_glob(rule.op); }

}  // namespace

// Indexes the rule by the first of these that it has: a node's name, values of an attribute, a glob
// for ops.
void CoverIndex::Group::add(const Rule& rule, std::uint32_t i) {
  if (!rule.node_name.empty()) {
    if (!rule.is_exact_name && is_glob(rule.node_name)) {
      return by_node_glob.add(rule.node_name, i);
    }
    return by_key[key_of_node(rule.node_name)].push_back(i);
  }
  const auto asks = std::find_if(rule.attributes.begin(), rule.attributes.end(),
                                 [](const AttributeRule& one) { return !one.accepted.empty(); });
  if (asks != rule.attributes.end()) {
    std::set<std::string> keys;
    for (const AttributeValue& value : asks->accepted) keys.insert(key_of(*asks, value));
    for (const std::string& key : keys) by_key[key].push_back(i);
  } else if (is_glob(rule.op)) {
    by_op_glob.add(rule.op, i);
  } else {
    others.push_back(i);
  }
}

// A rule that asks for values of an attribute covers only those that ask for some of these.
template <class Covers>
std::optional<std::uint32_t> CoverIndex::Group::first(const Rule& rule, Covers covers_it) const {
  std::optional<std::uint32_t> best;
  const auto look = [&](std::span<const std::uint32_t> list) {
    const auto found = std::find_if(list.begin(), list.end(), covers_it);
    if (found != list.end() && (!best || *found < *best)) best = *found;
  };
  const auto look_up = [&](const std::string& key) {
    if (const auto found = by_key.find(key); found != by_key.end()) look(found->second);
  };
  look(by_node_glob.matches(rule.node_name));
  look(by_op_glob.matches(rule.op));
  look_up(key_of_node(rule.node_name));
  for (const AttributeRule& one : rule.attributes) {
    if (!one.accepted.empty()) look_up(key_of(one, one.accepted.front()));
  }
  look(std::span(others).first(std::min(others.size(), kMostCompared)));
  return best;
}

CoverIndex::CoverIndex(const std::vector<Rule>& rules) : rules_(rules) {
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    (is_for_several_ops(rules[i]) ? of_several_ops_ : by_op_[rules[i].op]).add(rules[i], i);
  }
}

std::optional<std::uint32_t> CoverIndex::find_cover(const Rule& rule,
                                                    std::optional<std::uint32_t> self) const {
  const auto covers_it = [&](std::uint32_t i) {
    if (i == self || !covers(rules_[i], rule)) return false;
    return !self || i < *self || !covers(rule, rules_[i]);
  };
  if (const auto found = of_several_ops_.first(rule, covers_it)) return found;
  const auto same_op = by_op_.find(rule.op);
  if (same_op == by_op_.end()) return std::nullopt;
  return same_op->second.first(rule, covers_it);
}

}  // namespace cleave
