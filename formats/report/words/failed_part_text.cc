#include "formats/report/words/failed_part_text.h"

#include <array>
#include <variant>

#include "formats/base/text/diagnostic.h"
#include "formats/report/words/condition_text.h"
#include "formats/report/words/condition_words.h"

namespace cleave {
namespace {

std::string no_tensor_text(ValueType type) {
  return type == ValueType::unknown ? "of unknown type" : "a " + std::string(value_type_name(type));
}

// ---- attribute values ----

std::string wanted_text(const AttributeRule& rule) {
  if (rule.accepted.empty()) {
    if (!rule.max) return "at least " + number_or_text(rule.min.value_or(0));
    if (!rule.min) return "at most " + number_or_text(*rule.max);
    return number_or_text(*rule.min) + " to " + number_or_text(*rule.max);
  }
  std::vector<std::string> values;
  for (const AttributeValue& value : rule.accepted) values.push_back(attribute_value_text(value));
  return alternatives_text(values);
}

std::string found_text(const FailedAttribute& failed) {
  switch (failed.origin) {
    case ValueOrigin::stated:
      return attribute_value_text(*failed.value);
    case ValueOrigin::by_default:
      return attribute_value_text(*failed.value) + " by default";
    case ValueOrigin::opaque:
      return "not a number, string or list of these";
    case ValueOrigin::absent:
      break;
  }
  return "not given";
}

// ---- shapes ----

std::string in_dim(std::int64_t axis) { return " in dim " + std::to_string(axis); }

std::string text_of(const WantedInput&) { return "given"; }
std::string text_of(const WantedRank& wanted) { return rank_text(wanted.rank); }
std::string text_of(const WantedStatic&) { return "a known size in every dim"; }
std::string text_of(const WantedMaxDim& wanted) {
  return "at most " + std::to_string(wanted.most) + " in every dim";
}
std::string text_of(const WantedMultiple& wanted) {
  return "a multiple of " + std::to_string(wanted.factor) + in_dim(wanted.axis);
}

std::string text_of(const FoundNoTensor& found) { return no_tensor_text(found.type); }
std::string text_of(const FoundNoRank&) { return "of unknown rank"; }
std::string text_of(const FoundRank& found) {
  return rank_text(static_cast<std::int64_t>(found.rank));
}
std::string text_of(const FoundDim& found) { return found_dim_text(found); }
std::string text_of(const FoundNoInput&) { return "not given"; }

// ---- parts ----

FailedPartWords words(const FailedType& failed) {
  std::string subject;
  switch (failed.place) {
    case FailedType::Place::input:
      subject = "input " + std::to_string(failed.position);
      break;
    case FailedType::Place::output:
      subject = "output " + std::to_string(failed.position);
      break;
    case FailedType::Place::keyword:
      subject = "argument " + failed.keyword;
  }
  return {subject, types_text(failed.wanted), found_type_text(failed.type, failed.dtype)};
}

FailedPartWords words(const FailedAttribute& failed) {
  return {"attribute " + failed.wanted.name, wanted_text(failed.wanted), found_text(failed)};
}

FailedPartWords words(const FailedShape& failed) {
  const auto text = [](const auto& alternative) { return text_of(alternative); };
  const bool is_missing = std::holds_alternative<FoundNoInput>(failed.found);
  return {(is_missing ? "input " : "shape of input ") + std::to_string(failed.input),
          std::visit(text, failed.wanted), std::visit(text, failed.found)};
}

FailedPartWords words(const FailedOpset& failed) {
  const OpsetRule& wanted = failed.wanted;
  std::string expected = "the schema of " + std::to_string(wanted.lowest);
  if (!wanted.same_schema) {
    expected = std::to_string(wanted.lowest);
    if (wanted.highest != wanted.lowest) expected += " to " + std::to_string(wanted.highest);
  }
  return {failed.domain.empty() ? "opset" : "opset of " + failed.domain, expected,
          failed.found ? std::to_string(*failed.found) : "not stated by the model"};
}

// Empty when the part is no relation.
std::string relation_text(const FailedPart& part) {
  const auto* const unmet = std::get_if<UnmetCondition>(&part);
  if (unmet == nullptr) return {};
  const auto* const wanted = std::get_if<RelationCondition>(&unmet->wanted);
  if (wanted == nullptr) return {};
  return relation_failure_text(*wanted, std::get<RelationFailure>(unmet->found));
}

FailedPartWords words(const UnmetCondition& failed) { return condition_words(failed); }

}  // namespace

FailedPartWords words_of(const FailedPart& part) {
  return std::visit([](const auto& failed) { return words(failed); }, part);
}

std::string_view condition_name(const FailedPart& part) {
  // In the order of the alternatives of FailedPart and of Condition.
  static constexpr std::array<std::string_view, 4> kParts = {"type", "attribute", "shape", "opset"};
  static constexpr std::array<std::string_view, 13> kConditions = {
      "constant",   "given",       "outputs_used", "rank",   "max_rank", "dim",
      "inputs_all", "inputs_same", "input_shape",  "values", "layout",   "absent_attribute",
      "where"};
  static_assert(std::variant_size_v<Condition> == kConditions.size());
  const auto* const unmet = std::get_if<UnmetCondition>(&part);
  return unmet == nullptr ? kParts[part.index()] : kConditions[unmet->wanted.index()];
}

std::string failed_parts_text(const std::vector<FailedPart>& parts) {
  std::string text;
  for (const FailedPart& part : parts) {
    if (!text.empty()) text += "; ";
    if (const std::string relation = relation_text(part); !relation.empty()) {
      text += escaped(relation);
      continue;
    }
    const FailedPartWords words = words_of(part);
    text += escaped(words.subject) + " is " + escaped(words.actual) + ", wants " +
            escaped(words.expected);
  }
  return text;
}

}  // namespace cleave
