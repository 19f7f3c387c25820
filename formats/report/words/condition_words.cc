#include "formats/report/words/condition_words.h"

#include "core/base/decimal.h"

namespace cleave {

std::string alternatives_text(const std::vector<std::string>& alternatives) {
  std::string text;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (i > 0) text += i + 1 == alternatives.size() ? " or " : ", ";
    text += alternatives[i];
  }
  return text;
}

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
  return names.empty() ? "nothing" : alternatives_text(names);
}

std::string found_type_text(ValueType type, DType dtype) {
  if (type == ValueType::unknown) return "of unknown type";
  if (type != ValueType::tensor) return "a " + std::string(value_type_name(type));
  return dtype == DType::unknown ? "of unknown dtype" : std::string(dtype_name(dtype));
}

std::string number_or_text(std::int64_t value) { return std::to_string(value); }

std::string number_or_text(double value) { return shortest_text(value); }

std::string number_or_text(const std::string& value) { return '"' + value + '"'; }

std::string literal_text(const Literal& value) {
  return std::visit([](const auto& held) { return number_or_text(held); }, value);
}

std::string literals_text(const std::vector<Literal>& list) {
  std::string text = "[";
  for (const Literal& item : list) {
    if (text.size() > 1) text += ", ";
    text += literal_text(item);
  }
  return text + "]";
}

std::string attribute_value_text(const AttributeValue& value) {
  if (const auto* const list = std::get_if<std::vector<Literal>>(&value)) {
    return literals_text(*list);
  }
  if (const auto* const real = std::get_if<double>(&value)) return number_or_text(*real);
  if (const auto* const text = std::get_if<std::string>(&value)) return number_or_text(*text);
  return number_or_text(std::get<std::int64_t>(value));
}

std::string rank_text(std::int64_t rank) { return "rank " + std::to_string(rank); }

std::string found_dim_text(const FoundDim& found) {
  std::string text = "unknown";
  if (!found.symbol.empty()) text = '"' + found.symbol + '"';
  if (found.size) text = std::to_string(*found.size);
  return text + " in dim " + std::to_string(found.axis);
}

}  // namespace cleave
