#include "formats/report/words/failed_part_text.h"

#include "core/base/decimal.h"
#include "formats/text/diagnostic.h"

namespace cleave {
namespace {

std::string joined(const std::vector<std::string>& alternatives) {
  std::string text;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (i > 0) text += i + 1 == alternatives.size() ? " or " : ", ";
    text += alternatives[i];
  }
  return text;
}

// ---- types ----

std::string types_text(const TypeSet& types) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < unsigned{kDTypeCount}; ++i) {
    if ((types.dtypes >> i & 1U) != 0) names.emplace_back(dtype_name(static_cast<DType>(i)));
  }
  for (unsigned i = 0; i <= static_cast<unsigned>(ValueType::unknown); ++i) {
    if ((unsigned{types.value_types} >> i & 1U) != 0) {
      names.emplace_back(value_type_name(static_cast<ValueType>(i)));
    }
  }
  return names.empty() ? "nothing" : joined(names);
}

std::string no_tensor_text(ValueType type) {
  return type == ValueType::unknown ? "of unknown type" : "a " + std::string(value_type_name(type));
}

std::string type_text(ValueType type, DType dtype) {
  if (type != ValueType::tensor) return no_tensor_text(type);
  return dtype == DType::unknown ? "of unknown dtype" : std::string(dtype_name(dtype));
}

// ---- attribute values ----

std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(double value) { return shortest_text(value); }
std::string text_of(const std::string& value) { return '"' + value + '"'; }
std::string text_of(const std::vector<Literal>& list) {
  std::string text = "[";
  for (const Literal& item : list) {
    if (text.size() > 1) text += ", ";
    text += std::visit([](const auto& value) { return text_of(value); }, item);
  }
  return text + "]";
}
std::string value_text(const AttributeValue& value) {
  return std::visit([](const auto& alternative) { return text_of(alternative); }, value);
}

std::string wanted_text(const AttributeRule& rule) {
  if (rule.accepted.empty()) {
    if (!rule.max) return "at least " + text_of(rule.min.value_or(0));
    if (!rule.min) return "at most " + text_of(*rule.max);
    return text_of(*rule.min) + " to " + text_of(*rule.max);
  }
  std::vector<std::string> values;
  for (const AttributeValue& value : rule.accepted) values.push_back(value_text(value));
  return joined(values);
}

std::string found_text(const FailedAttribute& failed) {
  switch (failed.origin) {
    case ValueOrigin::stated:
      return value_text(*failed.value);
    case ValueOrigin::by_default:
      return value_text(*failed.value) + " by default";
    case ValueOrigin::opaque:
      return "not a number, string or list of these";
    case ValueOrigin::absent:
      break;
  }
  return "not given";
}

// ---- shapes ----

std::string in_dim(std::int64_t axis) { return " in dim " + std::to_string(axis); }
std::string rank_text(std::int64_t rank) { return "rank " + std::to_string(rank); }

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
std::string text_of(const FoundDim& found) {
  std::string text = "unknown";
  if (!found.symbol.empty()) text = '"' + found.symbol + '"';
  if (found.size) text = std::to_string(*found.size);
  return text + in_dim(found.axis);
}

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
  return {subject, types_text(failed.wanted), type_text(failed.type, failed.dtype)};
}

FailedPartWords words(const FailedAttribute& failed) {
  return {"attribute " + failed.wanted.name, wanted_text(failed.wanted), found_text(failed)};
}

FailedPartWords words(const FailedShape& failed) {
  const auto text = [](const auto& alternative) { return text_of(alternative); };
  return {"shape of input " + std::to_string(failed.input), std::visit(text, failed.wanted),
          std::visit(text, failed.found)};
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

}  // namespace

FailedPartWords words_of(const FailedPart& part) {
  return std::visit([](const auto& failed) { return words(failed); }, part);
}

std::string failed_parts_text(const std::vector<FailedPart>& parts) {
  std::string text;
  for (const FailedPart& part : parts) {
    const FailedPartWords words = words_of(part);
    if (!text.empty()) text += "; ";
    text += escaped(words.subject) + " is " + escaped(words.actual) + ", wants " +
            escaped(words.expected);
  }
  return text;
}

}  // namespace cleave
