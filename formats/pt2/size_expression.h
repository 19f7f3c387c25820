// Sizes that depend on symbols, as sympy writes them: "Mul(Integer(2), Symbol('s77', ...))". Turned
// into a number where the symbols are known, and into what people read: "2*s77".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// The value of a symbol, where it is known.
using SymbolValue = std::function<std::optional<std::int64_t>(std::string_view symbol)>;

struct SizeText {
  std::string text;                       // "2*s77"; as it was, where it is not understood
  std::vector<std::string_view> symbols;  // views into the expression; may repeat
  std::optional<std::int64_t> value;      // where all symbols are known, and it is 0 or more
};

// Understands Symbol, Integer, Mul, Add, Pow, FloorDiv, Mod, Min and Max; anything else has no
// value. Linear; nested at most 100 deep.
SizeText read_size_expression(std::string_view expression, const SymbolValue& value_of);

// The names of the symbols in any text of the format. Linear.
std::vector<std::string_view> symbols_in(std::string_view text);

}  // namespace cleave
