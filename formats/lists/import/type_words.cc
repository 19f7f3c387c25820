#include "formats/lists/import/type_words.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace cleave {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 27> kTypes = {{
    {"fp32", DType::float32},      {"float", DType::float32},        {"float32", DType::float32},
    {"fp16", DType::float16},      {"float16", DType::float16},      {"half", DType::float16},
    {"bf16", DType::bfloat16},     {"bfloat16", DType::bfloat16},    {"fp64", DType::float64},
    {"double", DType::float64},    {"float64", DType::float64},      {"int8", DType::int8},
    {"uint8", DType::uint8},       {"int16", DType::int16},          {"uint16", DType::uint16},
    {"int32", DType::int32},       {"uint32", DType::uint32},        {"int64", DType::int64},
    {"uint64", DType::uint64},     {"bool", DType::boolean},         {"boolean", DType::boolean},
    {"fp8", DType::float8_e4m3fn}, {"float8", DType::float8_e4m3fn}, {"int4", DType::int4},
    {"uint4", DType::uint4},       {"string", DType::string},        {"i64", DType::int64},
}};

}  // namespace

std::optional<DType> dtype_of_word(std::string_view word) {
  std::string small(word);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto* const known = std::find_if(kTypes.begin(), kTypes.end(),
                                         [&](const auto& type) { return type.first == small; });
  if (known == kTypes.end()) return std::nullopt;
  return known->second;
}

TypeSet allowed_types(const OnnxFormal& formal) {
  constexpr std::string_view kTensor = "tensor(";
  TypeSet types;
  if (formal.allowed == nullptr) return types;
  for (const std::string* const name : *formal.allowed) {
    std::string_view inner = *name;
    if (!inner.starts_with(kTensor)) continue;
    inner.remove_prefix(kTensor.size());
    inner.remove_suffix(1);
    if (const auto dtype = dtype_of_word(inner)) types.add(*dtype);
  }
  return types;
}

}  // namespace cleave
