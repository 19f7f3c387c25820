#include "formats/models/pt2/size_expression.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace cleave {
namespace {

constexpr int kMostNested = 100;
using Number = std::optional<std::int64_t>;

struct Term {
  std::string text;
  Number value;
  bool is_sum = false;  // needs brackets inside a product
};

Number multiplied(Number a, Number b) {
  std::int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) return std::nullopt;
  return product;
}

Number added(Number a, Number b) {
  std::int64_t sum = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &sum)) return std::nullopt;
  return sum;
}

Number floor_divided(Number a, Number b) {
  if (!a || !b || *b == 0 || *b == -1) return std::nullopt;
  return *a / *b - (*a % *b != 0 && (*a < 0) != (*b < 0) ? 1 : 0);
}

Number modulo(Number a, Number b) {
  const Number quotient = floor_divided(a, b);
  if (!quotient) return std::nullopt;
  return *a - *quotient * *b;
}

Number power(Number base, Number exponent) {
  constexpr std::int64_t kMost = 64;
  if (!exponent || *exponent < 0 || *exponent > kMost) return std::nullopt;
  Number result = 1;
  for (std::int64_t i = 0; i < *exponent; ++i) result = multiplied(result, base);
  return result;
}

class ExpressionReader {
 public:
  ExpressionReader(std::string_view text, const SymbolValue& value_of)
      : text_(text), value_of_(value_of) {}

  SizeText read() {
    Term term = read_term(0);
    pass_blanks();
    if (is_bad_ || at_ != text_.size()) return {std::string(text_), symbols_in(text_), {}};
    if (term.value && *term.value < 0) term.value.reset();
    return {std::move(term.text), symbols_in(text_), term.value};
  }

 private:
  Term bad() {
    is_bad_ = true;
    return {};
  }
  void pass_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool pass(char c) {
    pass_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view take_word() {
    pass_blanks();
    const std::size_t begin = at_;
    const auto is_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '-' || c == '.';
    };
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  Term read_term(int depth) {
    if (depth > kMostNested || is_bad_) return bad();
    const std::string_view name = take_word();
    if (!pass('(')) return bad();
    if (name == "Symbol") return read_symbol();
    if (name == "Integer") return read_integer();
    std::vector<Term> terms;
    while (!is_bad_ && !pass(')')) {
      terms.push_back(read_term(depth + 1));
      pass(',');
      if (at_ >= text_.size()) return bad();
    }
    return is_bad_ ? Term{} : combined(name, terms);
  }

  // Symbol('s77', positive=True, integer=True)
  Term read_symbol() {
    if (!pass('\'')) return bad();
    const std::size_t end = text_.find('\'', at_);
    const std::size_t close = text_.find(')', at_);
    if (end == text_.npos || close == text_.npos || close < end) return bad();
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = close + 1;
    return {std::string(name), value_of_(name)};
  }

  Term read_integer() {
    const std::string_view digits = take_word();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size() || !pass(')')) return bad();
    return {std::string(digits), number};
  }

  static std::string in_product(const Term& term) {
    return term.is_sum ? "(" + term.text + ")" : term.text;
  }

  Term combined(std::string_view name, const std::vector<Term>& terms) {
    if (terms.empty()) return bad();
    if (name == "Mul") return product(terms);
    if (name == "Add") return sum(terms);
    if (name == "Min" || name == "Max") return extreme(name, terms);
    if (terms.size() != 2) return bad();
    const std::string left = in_product(terms[0]), right = in_product(terms[1]);
    const Number a = terms[0].value, b = terms[1].value;
    if (name == "Pow") return {left + "^" + right, power(a, b)};
    if (name == "FloorDiv") return {left + "//" + right, floor_divided(a, b)};
    if (name == "Mod" || name == "PythonMod") return {left + "%" + right, modulo(a, b)};
    return bad();
  }

  static Term sum(const std::vector<Term>& terms) {
    Term all = terms.front();
    for (std::size_t i = 1; i < terms.size(); ++i) {
      all.text += " + " + terms[i].text;
      all.value = added(all.value, terms[i].value);
    }
    all.is_sum = true;
    return all;
  }

  static Term product(const std::vector<Term>& terms) {
    Term all = terms.front();
    all.text = in_product(all);
    for (std::size_t i = 1; i < terms.size(); ++i) {
      all.text += "*" + in_product(terms[i]);
      all.value = multiplied(all.value, terms[i].value);
    }
    all.is_sum = false;
    return all;
  }

  static Term extreme(std::string_view name, const std::vector<Term>& terms) {
    Term all{name == "Min" ? "min(" : "max(", terms.front().value};
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (i > 0) all.text += ", ";
      all.text += terms[i].text;
      if (!all.value || !terms[i].value) {
        all.value.reset();
      } else {
        all.value = name == "Min" ? std::min(*all.value, *terms[i].value)
                                  : std::max(*all.value, *terms[i].value);
      }
    }
    all.text += ")";
    return all;
  }

  std::string_view text_;
  const SymbolValue& value_of_;
  std::size_t at_ = 0;
  bool is_bad_ = false;
};

}  // namespace

SizeText read_size_expression(std::string_view expression, const SymbolValue& value_of) {
  return ExpressionReader(expression, value_of).read();
}

std::vector<std::string_view> symbols_in(std::string_view text) {
  constexpr std::string_view kSymbol = "Symbol('";
  std::vector<std::string_view> symbols;
  for (std::size_t at = text.find(kSymbol); at != text.npos; at = text.find(kSymbol, at)) {
    at += kSymbol.size();
    const std::size_t end = text.find('\'', at);
    if (end == text.npos) break;
    symbols.push_back(text.substr(at, end - at));
  }
  return symbols;
}

namespace {

// Finds rounded terms by the names of functions and their brackets.
class TermFinder {
 public:
  explicit TermFinder(std::string_view text) : text_(text) {}

  std::vector<std::string_view> find() {
    pass_term(0);
    if (is_bad_ || at_ != text_.size()) return {text_};
    return std::move(found_);
  }

 private:
  // Goes behind the term at at_, and adds what is rounded in it. Whether it has symbols.
  bool pass_term(int depth) {
    const std::size_t begin = at_, open = text_.find('(', at_);
    if (depth > kMostNested || open == text_.npos) return bad();
    const std::string_view name = text_.substr(begin, open - begin);
    at_ = open + 1;
    if (name == "Symbol" || name == "Integer") {
      at_ = text_.find(')', at_);
      if (at_ == text_.npos) return bad();
      ++at_;
      return name == "Symbol";
    }
    const std::size_t known = found_.size();
    std::size_t count = 0;  // of operands with symbols
    while (!is_bad_ && at_ < text_.size() && text_[at_] != ')') {
      if (text_[at_] == ',' || text_[at_] == ' ') {
        ++at_;
        continue;
      }
      count += pass_term(depth + 1) ? 1U : 0U;
    }
    if (is_bad_ || at_ == text_.size()) return bad();
    ++at_;
    const bool is_linear = name == "Add" || (name == "Mul" && count <= 1) || count == 0;
    if (!is_linear) {
      found_.resize(known);
      found_.push_back(text_.substr(begin, at_ - begin));
    }
    return count > 0;
  }

  bool bad() {
    is_bad_ = true;
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool is_bad_ = false;
  std::vector<std::string_view> found_;
};

}  // namespace

std::vector<std::string_view> rounded_terms(std::string_view expression) {
  return TermFinder(expression).find();
}

}  // namespace cleave
