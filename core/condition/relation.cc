// Steps of parse_relation():
// 1. split the text into tokens;
// 2. read binary operators by precedence climbing and the rest by recursive descent, with a limit
//    on the levels of nesting.
// A term is added after its operands.
#include "core/condition/relation.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/quotes.h"
#include "core/base/spelling.h"

namespace cleave {
namespace {

using Kind = RelationTerm::Kind;
using Index = std::uint32_t;

constexpr std::size_t kMostBytes = 4096;
constexpr int kMostLevels = 64;
constexpr std::int64_t kMostPosition = 65535;

// ---- tokens ----

struct Token {
  enum class Type : std::uint8_t { integer, real, text, word, sign, end };
  Type type = Type::end;
  std::string_view text = {};  // a text without its quotes
  std::size_t begin = 0, end = 0;
  std::int64_t integer = 0;
  double real = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  Result<Token, RelationFault> next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    const std::size_t begin = at_;
    if (at_ == text_.size()) return Token{.begin = begin, .end = begin};
    const char c = text_[at_];
    if (is_digit(c)) return number(begin);
    if (is_letter(c)) return word(begin);
    if (c == '"' || c == '\'') return quoted(begin);
    return sign(begin);
  }

 private:
  Token token(Token::Type type, std::size_t begin) const {
    return {.type = type, .text = text_.substr(begin, at_ - begin), .begin = begin, .end = at_};
  }

  Result<Token, RelationFault> number(std::size_t begin) {
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.')) ++at_;
    if (at_ + 1 < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      if (text_[at_] == '-' || text_[at_] == '+') ++at_;
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    }
    Token made = token(Token::Type::integer, begin);
    const char* const first = made.text.data();
    const char* const last = first + made.text.size();
    const auto whole = std::from_chars(first, last, made.integer);
    if (whole.ec == std::errc() && whole.ptr == last) return made;
    const auto real = std::from_chars(first, last, made.real);
    if (real.ec != std::errc() || real.ptr != last) return RelationFault{begin, "no number"};
    made.type = Token::Type::real;
    return made;
  }

  Token word(std::size_t begin) {
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return token(Token::Type::word, begin);
  }

  Result<Token, RelationFault> quoted(std::size_t begin) {
    const std::size_t close = text_.find(text_[begin], begin + 1);
    if (close == text_.npos) return RelationFault{begin, "the text has no closing quote"};
    at_ = close + 1;
    Token made = token(Token::Type::text, begin);
    made.text = text_.substr(begin + 1, close - begin - 1);
    return made;
  }

  Result<Token, RelationFault> sign(std::size_t begin) {
    constexpr std::array<std::string_view, 4> kDouble = {"==", "!=", "<=", ">="};
    const std::string_view two = text_.substr(begin, 2);
    at_ += std::find(kDouble.begin(), kDouble.end(), two) != kDouble.end() ? 2U : 1U;
    const Token made = token(Token::Type::sign, begin);
    if (made.text.size() == 2) return made;
    if (made.text == "=") return RelationFault{begin, "write == to compare"};
    if (made.text == "&") return RelationFault{begin, "write `and` for both, not && or &"};
    if (made.text == "|") return RelationFault{begin, "write `or` for one of two, not || or |"};
    if (made.text == "!") return RelationFault{begin, "write `not`, or != to compare"};
    constexpr std::string_view kKnown = "<>+-*/%()[].,:";
    if (kKnown.find(made.text.front()) != kKnown.npos) return made;
    return RelationFault{begin, "expected an operator, a name or a number"};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// ---- operators, functions and properties ----

struct Operator {
  std::string_view text;
  Kind kind;
  int binds;  // the higher, the tighter
};
constexpr int kCompares = 3;
constexpr int kNegates = 2;  // `not` binds looser than a comparison
constexpr std::array<Operator, 13> kOperators = {{
    {"or", Kind::logical_or, 0},
    {"and", Kind::logical_and, 1},
    {"==", Kind::equal, kCompares},
    {"!=", Kind::unequal, kCompares},
    {"<", Kind::less, kCompares},
    {"<=", Kind::less_equal, kCompares},
    {">", Kind::greater, kCompares},
    {">=", Kind::greater_equal, kCompares},
    {"+", Kind::plus, 4},
    {"-", Kind::minus, 4},
    {"*", Kind::times, 5},
    {"/", Kind::divide, 5},
    {"%", Kind::modulo, 5},
}};

struct Function {
  std::string_view name;
  Kind kind;
};
constexpr std::array<Function, 5> kFunctions = {{{"len", Kind::length},
                                                 {"min", Kind::least},
                                                 {"max", Kind::greatest},
                                                 {"all", Kind::all},
                                                 {"any", Kind::any}}};

constexpr std::array<std::string_view, 8> kNames = {"attr", "in",  "out", "len",
                                                    "min",  "max", "all", "any"};
constexpr std::array<std::string_view, 6> kNamesOfPatterns = {"node", "len", "min",
                                                              "max",  "all", "any"};
constexpr std::array<std::string_view, 13> kProperties = {
    "dim",       "stride", "rank",       "dtype",  "constant",       "elements", "given",
    "quantized", "scale",  "zero_point", "scales", "quantized_axis", "values"};

const Operator* find_operator(const Token& token) {
  if (token.type != Token::Type::sign && token.type != Token::Type::word) return nullptr;
  const auto* const found =
      std::find_if(kOperators.begin(), kOperators.end(),
                   [&](const Operator& known) { return known.text == token.text; });
  return found == kOperators.end() ? nullptr : found;
}

// Empty when no name is near.
template <class Names>
std::string did_you_mean(std::string_view word, const Names& known) {
  NearestName nearest(word);
  for (const std::string_view name : known) nearest.offer(name);
  if (nearest.best().empty()) return {};
  return ": did you mean " + in_quotes(nearest.best()) + "?";
}

// ---- the parser ----

// Each function reads what its name says and gives the index of its term, or nullopt when a fault
// was found; then fault_ says which.
class Parser {
 public:
  // `op_count`: of the pattern; 0 for a relation of a rule, which is about one node.
  Parser(std::string_view text, std::size_t op_count) : tokens_(text), op_count_(op_count) {
    relation_.text = text;
  }

  Result<Relation, RelationFault> parse() {
    if (relation_.text.size() > kMostBytes) {
      return RelationFault{0, "the relation is longer than " + std::to_string(kMostBytes) +
                                  " bytes, the most that is read"};
    }
    step();
    const auto whole = expression(0);
    if (whole && token_.type != Token::Type::end) {
      fail("expected an operator, found " + in_quotes(token_.text));
    }
    if (fault_) return *std::move(fault_);
    return std::move(relation_);
  }

 private:
  // ---- tokens ----

  void step() {
    auto next = tokens_.next();
    previous_end_ = token_.end;
    if (next) {
      token_ = *next;
    } else {
      if (!fault_) fault_ = std::move(next).error();
      token_ = {};
    }
  }

  std::nullopt_t fail(std::string message) {
    if (!fault_) fault_ = RelationFault{token_.begin, std::move(message)};
    return std::nullopt;
  }

  bool is_sign(std::string_view text) const {
    return token_.type == Token::Type::sign && token_.text == text;
  }
  bool is_word(std::string_view text) const {
    return token_.type == Token::Type::word && token_.text == text;
  }

  bool take_sign(std::string_view text) {
    if (!is_sign(text)) {
      const std::string found =
          token_.type == Token::Type::end ? "the end" : in_quotes(token_.text);
      fail("expected " + in_quotes(text) + ", found " + found);
      return false;
    }
    step();
    return true;
  }

  // ---- terms ----

  std::optional<Index> add(RelationTerm term, std::size_t begin) {
    if (fault_) return std::nullopt;
    if (relation_.terms.size() >= Relation::kMostTerms) {
      return fail("the relation has more than " + std::to_string(Relation::kMostTerms) +
                  " terms, the most that are read");
    }
    term.begin = static_cast<Index>(begin);
    term.end = static_cast<Index>(previous_end_);
    relation_.terms.push_back(std::move(term));
    return static_cast<Index>(relation_.terms.size() - 1);
  }

  // Operators that bind at least so tightly.
  std::optional<Index> expression(int least) {
    if (++levels_ > kMostLevels) {
      return fail("nested deeper than " + std::to_string(kMostLevels) + " levels");
    }
    const std::size_t begin = token_.begin;
    auto left = least <= kNegates && is_word("not") ? negation() : signed_term();
    while (left) {
      const Operator* const found = find_operator(token_);
      if (found == nullptr || found->binds < least) break;
      step();
      const auto right = expression(found->binds + 1);
      if (!right) return std::nullopt;
      left = add({.kind = found->kind, .first = *left, .second = *right}, begin);
      const Operator* const next = find_operator(token_);
      if (found->binds == kCompares && next != nullptr && next->binds == kCompares) {
        return fail("comparisons do not chain: write `a < b and b < c`");
      }
    }
    --levels_;
    return left;
  }

  std::optional<Index> negation() {
    const std::size_t begin = token_.begin;
    step();
    const auto operand = expression(kNegates);
    if (!operand) return std::nullopt;
    return add({.kind = Kind::logical_not, .first = *operand}, begin);
  }

  std::optional<Index> signed_term() {
    const std::size_t begin = token_.begin;
    if (!is_sign("-")) return indexed();
    step();
    if (++levels_ > kMostLevels) return fail("too many signs");
    const auto operand = signed_term();
    --levels_;
    if (!operand) return std::nullopt;
    return add({.kind = Kind::negate, .first = *operand}, begin);
  }

  std::optional<Index> indexed() {
    const std::size_t begin = token_.begin;
    return with_indices(primary(), begin);
  }

  // The term, which begins at `begin`, with the brackets that follow it.
  std::optional<Index> with_indices(std::optional<Index> term, std::size_t begin) {
    while (term && is_sign("[")) {
      step();
      const auto at = expression(0);
      if (!at) return std::nullopt;
      const bool is_tail = is_sign(":");
      if (is_tail) step();
      if (!take_sign("]")) return std::nullopt;
      const Kind kind = is_tail ? Kind::tail : Kind::item;
      term = add({.kind = kind, .first = *term, .second = *at}, begin);
    }
    return term;
  }

  std::optional<Index> primary() {
    const Token token = token_;
    switch (token.type) {
      case Token::Type::integer:
        step();
        return add({.literal = token.integer}, token.begin);
      case Token::Type::real:
        step();
        return add({.literal = token.real}, token.begin);
      case Token::Type::text:
        step();
        return add({.literal = std::string(token.text)}, token.begin);
      case Token::Type::word:
        return named();
      case Token::Type::sign:
        if (is_sign("(")) return bracketed();
        return fail("expected a value, found " + in_quotes(token.text));
      case Token::Type::end:
        break;
    }
    return fail("expected a value, found the end");
  }

  std::optional<Index> bracketed() {
    step();
    const auto inner = expression(0);
    if (!inner || !take_sign(")")) return std::nullopt;
    return inner;
  }

  std::optional<Index> named() {
    if (is_word("node")) return of_node();
    if (is_of_node()) {
      if (op_count_ == 0) return fact(0, token_.begin);
      return fail("say of which node: node[0]." + std::string(token_.text));
    }
    for (const Function& function : kFunctions) {
      if (is_word(function.name)) return call(function);
    }
    if (op_count_ > 0) return no_name(did_you_mean(token_.text, kNamesOfPatterns), "node[0].");
    return no_name(did_you_mean(token_.text, kNames), "");
  }

  std::nullopt_t no_name(const std::string& meant, const std::string& node) {
    const std::string known = ": values are " + node + "attr.NAME, " + node + "in[0].dim, " + node +
                              "out[0].rank, numbers and \"texts\"";
    return fail(in_quotes(token_.text) + " is no name" + (meant.empty() ? known : meant));
  }

  bool is_of_node() const { return is_word("attr") || is_word("in") || is_word("out"); }

  // node[i]. and what follows; `node` is the word at the cursor.
  std::optional<Index> of_node() {
    const std::size_t begin = token_.begin;
    const auto node = node_number();
    if (!node) return std::nullopt;
    if (!is_of_node()) return fail("expected attr, in or out of the node");
    return fact(*node, begin);
  }

  // Reads `node[i].`
  std::optional<Index> node_number() {
    if (op_count_ == 0) return fail("node[...] is for patterns: a rule is about one node");
    step();
    if (!take_sign("[")) return std::nullopt;
    if (token_.type != Token::Type::integer) {
      return fail("expected the number of an op, counted from 0");
    }
    if (static_cast<std::uint64_t>(token_.integer) >= op_count_) {
      return fail("the pattern has no op " + std::string(token_.text) + ", the last is " +
                  std::to_string(op_count_ - 1));
    }
    const auto node = static_cast<Index>(token_.integer);
    step();
    if (!take_sign("]") || !take_sign(".")) return std::nullopt;
    return node;
  }

  // attr.NAME, in[i].PROPERTY or out[i].PROPERTY of a node.
  std::optional<Index> fact(Index node, std::size_t begin) {
    if (is_word("attr")) return attribute(node, begin);
    const Kind kind = is_word("in") ? Kind::input : Kind::output;
    step();
    return property(kind, node, begin);
  }

  std::optional<Index> attribute(Index node, std::size_t begin) {
    step();
    if (!take_sign(".")) return std::nullopt;
    if (token_.type != Token::Type::word) return fail("expected the name of an attribute");
    std::string name(token_.text);
    step();
    return add({.kind = Kind::attribute, .node = node, .text = std::move(name)}, begin);
  }

  // The cursor is behind `in` or `out` of the term that begins at `begin`.
  std::optional<Index> property(Kind kind, Index node, std::size_t begin) {
    std::uint32_t position = RelationTerm::kNone;
    if (!is_sign(".")) {
      if (!take_sign("[")) return std::nullopt;
      if (token_.type != Token::Type::integer || token_.integer > kMostPosition) {
        return fail("expected a position, counted from 0");
      }
      position = static_cast<std::uint32_t>(token_.integer);
      step();
      if (!take_sign("]")) return std::nullopt;
    }
    if (!take_sign(".")) return std::nullopt;
    const auto known = std::find(kProperties.begin(), kProperties.end(), token_.text);
    if (token_.type != Token::Type::word || known == kProperties.end()) {
      const std::string meant = did_you_mean(token_.text, kProperties);
      return fail("no such property" +
                  (meant.empty()
                       ? ": there are dim, stride, rank, dtype, constant, elements, given, "
                         "quantized, scale, zero_point, scales, quantized_axis and values"
                       : meant));
    }
    step();
    return add({.kind = kind, .position = position, .node = node, .text = std::string(*known)},
               begin);
  }

  std::optional<Index> call(const Function& function) {
    const std::size_t begin = token_.begin;
    step();
    if (!take_sign("(")) return std::nullopt;
    if (function.kind == Kind::length && counts_of_node()) return count(0, begin, token_.begin);
    if (function.kind == Kind::length && op_count_ > 0 && is_word("node"))
      return count_of_node(begin);
    auto argument = expression(0);
    while (argument && is_sign(",")) {
      if (function.kind != Kind::least && function.kind != Kind::greatest) {
        return fail(in_quotes(function.name) + " takes one argument");
      }
      step();
      const auto other = expression(0);
      if (!other) return std::nullopt;
      argument = add({.kind = Kind::list, .first = *argument, .second = *other}, begin);
    }
    if (!argument || !take_sign(")")) return std::nullopt;
    return add({.kind = function.kind, .first = *argument}, begin);
  }

  bool counts_of_node() const { return op_count_ == 0 && (is_word("in") || is_word("out")); }

  // len(node[0].in), and len() of any other term of a node.
  std::optional<Index> count_of_node(std::size_t begin) {
    const std::size_t at = token_.begin;
    const auto node = node_number();
    if (!node) return std::nullopt;
    if (is_word("in") || is_word("out")) return count(*node, begin, at);
    if (!is_word("attr")) return fail("expected attr, in or out of the node");
    auto list = attribute(*node, at);
    if (!list || !take_sign(")")) return std::nullopt;
    return add({.kind = Kind::length, .first = *list}, begin);
  }

  // len(in), len(out), len(in[0].dim). What is counted begins at `at`.
  std::optional<Index> count(Index node, std::size_t begin, std::size_t at) {
    const bool is_input = is_word("in");
    step();
    if (is_sign(")")) {
      step();
      return add({.kind = is_input ? Kind::input_count : Kind::output_count, .node = node}, begin);
    }
    const auto list = with_indices(property(is_input ? Kind::input : Kind::output, node, at), at);
    if (!list || !take_sign(")")) return std::nullopt;
    return add({.kind = Kind::length, .first = *list}, begin);
  }

  Tokens tokens_;
  std::size_t op_count_;
  Token token_;
  std::size_t previous_end_ = 0;
  int levels_ = 0;
  Relation relation_;
  std::optional<RelationFault> fault_;
};

}  // namespace

Result<Relation, RelationFault> parse_relation(std::string_view text) {
  return Parser(text, 0).parse();
}

Result<Relation, RelationFault> parse_pattern_relation(std::string_view text,
                                                       std::size_t op_count) {
  return Parser(text, op_count).parse();
}

}  // namespace cleave
