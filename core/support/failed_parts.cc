// What a rule asked and what the node has instead, in words.
#include <algorithm>
#include <array>
#include <charconv>

#include "core/support/rule_check.h"

namespace cleave {
namespace {

using What = FailedPart::What;

std::string joined(const std::vector<std::string>& alternatives) {
  std::string text;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (i > 0) text += i + 1 == alternatives.size() ? " or " : ", ";
    text += alternatives[i];
  }
  return text;
}

std::string text_of(const TypeSet& types) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < unsigned{kDTypeCount}; ++i) {
    if ((types.dtypes >> i & 1U) != 0) names.emplace_back(dtype_name(static_cast<DType>(i)));
  }
  for (unsigned i = 0; i <= static_cast<unsigned>(ValueType::unknown); ++i) {
    if ((types.value_types >> i & 1U) != 0) {
      names.emplace_back(value_type_name(static_cast<ValueType>(i)));
    }
  }
  return names.empty() ? "nothing" : joined(names);
}

std::string type_text(const Value& value) {
  if (!value.is_tensor()) {
    return value.type == ValueType::unknown ? "of unknown type"
                                            : "a " + std::string(value_type_name(value.type));
  }
  return value.dtype == DType::unknown ? "of unknown dtype" : std::string(dtype_name(value.dtype));
}

std::string number_text(double number) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  return {buffer.data(), end};
}

std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return number_text(value); }
std::string text_of(const std::string& value) { return '"' + value + '"'; }
std::string text_of(const std::vector<Literal>& list) {
  std::string text = "[";
  for (const Literal& item : list) {
    if (text.size() > 1) text += ", ";
    text += std::visit([](const auto& value) { return text_of(value); }, item);
  }
  return text + "]";
}
std::string text_of(const AttributeValue& value) {
  return std::visit([](const auto& alternative) { return text_of(alternative); }, value);
}

std::string expected_text(const AttributeRule& rule) {
  if (rule.accepted.empty()) {
    if (!rule.max) return "at least " + number_text(rule.min.value_or(0));
    if (!rule.min) return "at most " + number_text(*rule.max);
    return number_text(*rule.min) + " to " + number_text(*rule.max);
  }
  std::vector<std::string> values;
  for (const AttributeValue& value : rule.accepted) values.push_back(text_of(value));
  return joined(values);
}

std::string actual_text(const Graph& graph, NodeId node, std::string_view name,
                        const OpFacts& facts) {
  if (const auto value = attribute_value(graph, node, name, facts)) {
    return text_of(*value) + (find_attribute(graph, node, name) ? "" : " by default");
  }
  return find_attribute(graph, node, name) ? "no number, string or list of these" : "not given";
}

std::string dim_text(const Graph& graph, Dim dim) {
  if (dim.is_fixed()) return std::to_string(dim.size());
  return dim.is_symbol() ? '"' + std::string(graph.text(dim.name())) + '"' : "unknown";
}

std::string in_dim(std::int64_t axis) { return " in dim " + std::to_string(axis); }

// "7 in dim 1", of the first dim for which `is_bad` holds.
template <class Predicate>
std::string first_bad_dim(const Graph& graph, Shape shape, Predicate is_bad) {
  const auto bad = std::find_if(shape.begin(), shape.end(), is_bad);
  if (bad == shape.end()) return "";
  return dim_text(graph, *bad) + in_dim(bad - shape.begin());
}

FailedPart describe_shape(const Graph& graph, ValueId value, const ShapeRule& rule,
                          std::uint32_t clause) {
  FailedPart part{What::shape, "shape of input " + std::to_string(rule.input), "", ""};
  const bool ranked = graph.value(value).is_tensor() && graph.has_rank(value);
  const Shape shape = ranked ? graph.shape(value) : Shape{};
  if (clause == FailedCondition::kRank) {
    part.expected = "rank " + std::to_string(*rule.rank);
    part.actual = "rank " + std::to_string(shape.size());
  } else if (clause == FailedCondition::kStatic) {
    part.expected = "a known size in every dim";
    part.actual = first_bad_dim(graph, shape, [](Dim dim) { return !dim.is_fixed(); });
  } else if (clause == FailedCondition::kMaxDim) {
    part.expected = "at most " + std::to_string(*rule.max_dim) + " in every dim";
    part.actual = first_bad_dim(
        graph, shape, [&](Dim dim) { return !dim.is_fixed() || dim.size() > *rule.max_dim; });
  } else {
    const auto [axis, factor] = rule.multiple_of[clause - FailedCondition::kFirstMultiple];
    part.expected = "a multiple of " + std::to_string(factor) + in_dim(axis);
    const auto at = axis_of(axis, shape.size());
    part.actual =
        at ? dim_text(graph, shape[*at]) + in_dim(axis) : "rank " + std::to_string(shape.size());
  }
  if (!graph.value(value).is_tensor()) part.actual = type_text(graph.value(value));
  if (graph.value(value).is_tensor() && !ranked) part.actual = "of unknown rank";
  return part;
}

FailedPart describe_opset(const Graph& graph, NodeId node, const OpsetRule& rule) {
  const std::string_view domain = graph.domain(node);
  const std::string name = domain.empty() ? "opset" : "opset of " + std::string(domain);
  std::string expected = "the schema of " + std::to_string(rule.lowest);
  if (!rule.same_schema) {
    expected = std::to_string(rule.lowest);
    if (rule.highest != rule.lowest) expected += " to " + std::to_string(rule.highest);
  }
  const auto opset = imported_opset(graph, domain);
  return {What::opset, name, expected, opset ? std::to_string(*opset) : "not stated by the model"};
}

FailedPart describe(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts,
                    const FailedCondition& failed) {
  const auto value = [&](ValueId id) -> const Value& { return graph.value(id); };
  switch (failed.what) {
    case What::input:
      return {What::input, "input " + std::to_string(failed.item),
              text_of(*rule.inputs[failed.item]),
              type_text(value(find_plain_input(graph, node, failed.item)->value))};
    case What::output:
      for (const ValueId output : graph.outputs(node)) {
        if (value(output).slot != failed.item) continue;
        return {What::output, "output " + std::to_string(failed.item),
                text_of(*rule.outputs[failed.item]), type_text(value(output))};
      }
      break;
    case What::kwarg: {
      const auto& [name, types] = rule.kwargs[failed.item];
      return {What::kwarg, "argument " + name, text_of(types),
              type_text(value(find_plain_keyword(graph, node, name)->value))};
    }
    case What::attribute: {
      const AttributeRule& attribute = rule.attributes[failed.item];
      return {What::attribute, "attribute " + attribute.name, expected_text(attribute),
              actual_text(graph, node, attribute.name, facts)};
    }
    case What::shape: {
      const ShapeRule& shape = rule.shapes[failed.item];
      return describe_shape(graph, find_plain_input(graph, node, shape.input)->value, shape,
                            failed.clause);
    }
    case What::opset:
      return describe_opset(graph, node, *rule.opset);
  }
  return {};
}

}  // namespace

std::vector<FailedPart> failed_parts(const Graph& graph, NodeId node, const Rule& rule,
                                     const OpFacts& facts) {
  std::vector<FailedCondition> failed;
  find_failed_conditions(graph, node, rule, facts, failed);
  std::vector<FailedPart> parts;
  parts.reserve(failed.size());
  for (const FailedCondition& condition : failed) {
    parts.push_back(describe(graph, node, rule, facts, condition));
  }
  return parts;
}

}  // namespace cleave
