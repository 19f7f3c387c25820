// Sizes that depend on symbols, as sympy writes them: "Mul(Integer(2), Symbol('s77', ...))". Turns
// them into a number if the symbols are known, and into readable text: "2*s77".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// The value of a symbol, if known.
using SymbolValue = std::function<std::optional<std::int64_t>(std::string_view symbol)>;

struct SizeText {
  std::string text;                       // "2*s77"; unchanged if not understood
  std::vector<std::string_view> symbols;  // views into the expression; may repeat
  std::optional<std::int64_t> value;      // if all symbols are known, and it is 0 or more
};

// Understands Symbol, Integer, Mul, Add, Pow, FloorDiv, Mod, Min and Max; other expressions have no
// value. Linear; nested at most 100 deep.
SizeText read_size_expression(std::string_view expression, const SymbolValue& value_of);

// The names of the symbols in any text of this form. Linear.
std::vector<std::string_view> symbols_in(std::string_view text);

// The outermost terms that are not linear in the symbols, as they are in the text: "FloorDiv(Symbol('s77'), Integer(2))" of
// "Add(FloorDiv(Symbol('s77'), Integer(2)), Integer(1))". From a size without any, torch finds its symbol, if it has one.
// Linear; of text that is nested more than 100 deep, or no expression, all of it.
std::vector<std::string_view> rounded_terms(std::string_view expression);

}  // namespace cleave
