// Attributes that rules can ask about: numbers, strings, and lists of them. Every other attribute
// of a node (tensors, bodies, nested literals) is `opaque`: it stays in the source file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/ids.h"

namespace cleave {

enum class AttributeType : std::uint8_t {
  integer,
  real,
  boolean,
  string,
  integers,
  reals,
  strings,
  opaque,
};

// Refers to [begin, begin + count) in the pool of its type: integers and booleans, reals, strings.
struct Attribute {
  NameId name;
  AttributeType type;
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

struct AttributePools {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string_view> strings;

  std::span<const std::int64_t> integers_of(const Attribute& a) const {
    return std::span(integers).subspan(a.begin, a.count);
  }
  std::span<const double> reals_of(const Attribute& a) const {
    return std::span(reals).subspan(a.begin, a.count);
  }
  std::span<const std::string_view> strings_of(const Attribute& a) const {
    return std::span(strings).subspan(a.begin, a.count);
  }
};

// One literal. Booleans and integers compare as numbers with reals; 1 equals 1.0 equals true.
using Literal = std::variant<std::int64_t, double, std::string>;
// A literal or a list of literals, as a rule or an operator's default states it.
using AttributeValue = std::variant<std::int64_t, double, std::string, std::vector<Literal>>;

}  // namespace cleave
