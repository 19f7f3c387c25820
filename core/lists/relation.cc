// Relations ("where"): terms, values, and how they compare.

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"

namespace cleave {

// ---- relation value ----

namespace {

using Kind = RelationTerm::Kind;
using Items = std::vector<RelationItem>;

// ---- arithmetic and comparison of two items ----

std::optional<double> real_of(const RelationItem& item) {
  if (const auto* const integer = std::get_if<std::int64_t>(&item)) {
    return static_cast<double>(*integer);
  }
  if (const auto* const real = std::get_if<double>(&item)) return *real;
  return std::nullopt;
}

// Unknown on overflow and on division by zero. The remainder has the sign of the divisor.
RelationItem integer_result(Kind kind, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (kind) {
    case Kind::plus:
      if (__builtin_add_overflow(a, b, &result)) return {};
      return result;
    case Kind::minus:
      if (__builtin_sub_overflow(a, b, &result)) return {};
      return result;
    case Kind::times:
      if (__builtin_mul_overflow(a, b, &result)) return {};
      return result;
    default:
      break;
  }
  if (b == 0) return {};
  if (b == -1) {
    if (kind == Kind::modulo) return std::int64_t{0};
    if (__builtin_sub_overflow(std::int64_t{0}, a, &result)) return {};
    return result;
  }
  const std::int64_t remainder = a % b;
  const bool is_below = remainder != 0 && (remainder < 0) != (b < 0);
  if (kind == Kind::modulo) return is_below ? remainder + b : remainder;
  return is_below ? a / b - 1 : a / b;
}

RelationItem real_result(Kind kind, double a, double b) {
  switch (kind) {
    case Kind::plus:
      return a + b;
    case Kind::minus:
      return a - b;
    case Kind::times:
      return a * b;
    case Kind::divide:
      if (b != 0) return a / b;
      return {};
    default:
      return {};
  }
}

RelationItem arithmetic(Kind kind, const RelationItem& a, const RelationItem& b) {
  const auto* const left = std::get_if<std::int64_t>(&a);
  const auto* const right = std::get_if<std::int64_t>(&b);
  if (left != nullptr && right != nullptr) return integer_result(kind, *left, *right);
  const auto x = real_of(a);
  const auto y = real_of(b);
  if (!x || !y) return {};
  return real_result(kind, *x, *y);
}

template <class Number>
bool holds(Kind kind, const Number& a, const Number& b) {
  switch (kind) {
    case Kind::equal:
      return a == b;
    case Kind::unequal:
      return a != b;
    case Kind::less:
      return a < b;
    case Kind::less_equal:
      return a <= b;
    case Kind::greater:
      return a > b;
    default:
      return a >= b;
  }
}

RelationItem truth(bool value) { return std::int64_t{value ? 1 : 0}; }

// Texts compare with == and != only; a text is unequal to any number.
RelationItem comparison(Kind kind, const RelationItem& a, const RelationItem& b) {
  if (a.index() == 0 || b.index() == 0) return {};
  const auto* const text_a = std::get_if<std::string>(&a);
  const auto* const text_b = std::get_if<std::string>(&b);
  if (text_a != nullptr || text_b != nullptr) {
    if (kind != Kind::equal && kind != Kind::unequal) return {};
    const bool same = text_a != nullptr && text_b != nullptr && *text_a == *text_b;
    return truth(same == (kind == Kind::equal));
  }
  const auto* const left = std::get_if<std::int64_t>(&a);
  const auto* const right = std::get_if<std::int64_t>(&b);
  if (left != nullptr && right != nullptr) return truth(holds(kind, *left, *right));
  return truth(holds(kind, *real_of(a), *real_of(b)));
}

RelationItem combine(Kind kind, const RelationItem& a, const RelationItem& b) {
  return is_comparison(kind) ? comparison(kind, a, b) : arithmetic(kind, a, b);
}

// ---- values ----

RelationValue value_of_item(RelationItem item) {
  return std::visit([](auto& held) -> RelationValue { return std::move(held); }, item);
}

const Items* items_of(const RelationValue& value) { return std::get_if<Items>(&value); }

// Unknown for a list.
RelationItem single(const RelationValue& value) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  return {};
}

std::optional<bool> truth_of_item(const RelationItem& item) {
  if (const auto* const integer = std::get_if<std::int64_t>(&item)) return *integer != 0;
  if (const auto* const real = std::get_if<double>(&item)) return *real != 0;
  return std::nullopt;
}

// Whether the value is true: a number other than 0, or a list of such numbers. nullopt when it is
// unknown or a text.
RelationValue truth_value(std::optional<bool> truth) {
  if (!truth) return {};
  return std::int64_t{*truth ? 1 : 0};
}

RelationValue compare_lists(Kind kind, const Items& a, const Items& b) {
  if (kind != Kind::equal && kind != Kind::unequal) return {};
  std::optional<bool> same = a.size() == b.size();
  for (std::size_t i = 0; same == true && i < a.size(); ++i) {
    same = truth_of_item(comparison(Kind::equal, a[i], b[i]));
  }
  if (!same) return {};
  return truth_value(*same == (kind == Kind::equal));
}

// all() of an empty list is true, any() is false.
RelationValue all_or_any(Kind kind, const RelationValue& value) {
  const Items* const items = items_of(value);
  if (items == nullptr) return truth_value(truth_of_item(single(value)));
  const bool decides = kind == Kind::any;
  bool is_known = true;
  for (const RelationItem& item : *items) {
    const auto truth = truth_of_item(item);
    if (truth == decides) return truth_value(decides);
    is_known = is_known && truth.has_value();
  }
  return is_known ? truth_value(!decides) : RelationValue{};
}

RelationValue least_or_greatest(Kind kind, const RelationValue& value) {
  const Items* const items = items_of(value);
  if (items == nullptr) return value;
  RelationItem best;
  for (const RelationItem& item : *items) {
    if (!real_of(item)) return {};
    const auto is_better =
        truth_of_item(comparison(kind == Kind::least ? Kind::less : Kind::greater, item, best));
    if (best.index() == 0 || is_better == true) best = item;
  }
  return value_of_item(best);
}

void add_items(const RelationValue& value, Items& list) {
  const Items* const items = items_of(value);
  if (items != nullptr) {
    list.insert(list.end(), items->begin(), items->end());
  } else {
    list.push_back(single(value));
  }
}

RelationValue length_of(const RelationValue& value) {
  const Items* const items = items_of(value);
  return items != nullptr ? RelationValue(static_cast<std::int64_t>(items->size()))
                          : RelationValue{};
}

}  // namespace

bool is_comparison(Kind kind) { return kind >= Kind::equal && kind <= Kind::greater_equal; }

bool is_unknown(const RelationValue& value) { return value.index() == 0; }

namespace {

// Whether the value is true: a number other than 0, or a list of such numbers. nullopt when it is
// unknown or a text.
std::optional<bool> truth_of(const RelationValue& value) {
  return truth_of_item(single(items_of(value) == nullptr ? value : all_or_any(Kind::all, value)));
}

// all(), any(), min(), max() and len() of the value. all() of an empty list is true.
RelationValue function_value(Kind kind, const RelationValue& value) {
  if (kind == Kind::length) return length_of(value);
  if (kind == Kind::all || kind == Kind::any) return all_or_any(kind, value);
  return least_or_greatest(kind, value);
}

}  // namespace

RelationValue combined(Kind kind, const RelationValue& a, const RelationValue& b) {
  const Items* const left = items_of(a);
  const Items* const right = items_of(b);
  if (left == nullptr && right == nullptr)
    return value_of_item(combine(kind, single(a), single(b)));
  if (left != nullptr && right != nullptr) {
    return is_comparison(kind) ? compare_lists(kind, *left, *right) : RelationValue{};
  }
  if (a.index() == 0 || b.index() == 0) return {};
  Items result;
  for (const RelationItem& item : left != nullptr ? *left : *right) {
    result.push_back(left != nullptr ? combine(kind, item, single(b))
                                     : combine(kind, single(a), item));
  }
  return result;
}

namespace {

// Applies `and` or `or`.
RelationValue logical(Kind kind, const RelationValue& a, const RelationValue& b) {
  const bool decides = kind == Kind::logical_or;
  const auto left = truth_of(a);
  const auto right = truth_of(b);
  if (left == decides || right == decides) return truth_value(decides);
  return left && right ? truth_value(!decides) : RelationValue{};
}

}  // namespace

RelationValue joined(const RelationValue& a, const RelationValue& b) {
  Items result;
  add_items(a, result);
  add_items(b, result);
  return result;
}

RelationValue item_at(const RelationValue& list, const RelationValue& index) {
  const Items* const items = items_of(list);
  const auto* const at = std::get_if<std::int64_t>(&index);
  if (items == nullptr || at == nullptr) return {};
  const auto place = axis_of(*at, items->size());
  return place ? value_of_item((*items)[*place]) : RelationValue{};
}

namespace {

// list[first:], the list from that item on; empty when it has no more items.
RelationValue tail_from(const RelationValue& list, const RelationValue& first) {
  const Items* const items = items_of(list);
  const auto* const from = std::get_if<std::int64_t>(&first);
  if (items == nullptr || from == nullptr) return {};
  const auto size = static_cast<std::int64_t>(items->size());
  const std::int64_t at = std::clamp(*from < 0 ? *from + size : *from, std::int64_t{0}, size);
  return Items(items->begin() + at, items->end());
}

RelationItem item_of(const Literal& literal) {
  return std::visit([](const auto& held) -> RelationItem { return held; }, literal);
}

RelationValue value_of_literal(const Literal& literal) {
  return std::visit([](const auto& held) -> RelationValue { return held; }, literal);
}

RelationValue dims_of(Shape shape) {
  std::vector<RelationItem> dims;
  for (const Dim dim : shape) {
    RelationItem& item = dims.emplace_back();
    if (dim.is_fixed()) item = dim.size();
  }
  return dims;
}

RelationValue strides_of(const OpFacts& facts, ValueId id) {
  const auto layout = facts.layout ? facts.layout(id) : std::nullopt;
  if (!layout || layout->layouts.contains(LayoutName::sparse)) return {};
  std::vector<RelationItem> strides;
  for (const auto& stride : layout->strides) {
    RelationItem& item = strides.emplace_back();
    if (stride) item = *stride;
  }
  return strides;
}

// One number, or a list of several.
template <class Number>
RelationValue numbers_of(const std::vector<Number>& numbers) {
  if (numbers.empty()) return {};
  if (numbers.size() == 1) return numbers.front();
  return Items(numbers.begin(), numbers.end());
}

bool is_of_quantization(std::string_view property) {
  return property.starts_with("scale") || property.starts_with("quantized") ||
         property == "zero_point";
}

RelationValue quantization_of(const Graph& graph, ValueId id, std::string_view property,
                              const OpFacts& facts) {
  const auto found = facts.quantization ? facts.quantization(graph, id) : std::nullopt;
  if (!found) return {};
  if (property == "quantized") return truth_value(found->kind != Quantization::Kind::none);
  if (found->kind == Quantization::Kind::other) return {};
  if (property == "scales") return static_cast<std::int64_t>(found->scales.size());
  if (property == "scale") return numbers_of(found->scales);
  if (property == "zero_point") return numbers_of(found->zero_points);
  if (found->kind != Quantization::Kind::axis) return {};
  return found->axis;
}

RelationValue elements_of(const Graph& graph, ValueId id, const OpFacts& facts) {
  if (!is_constant(graph, id, facts) || !facts.elements) return {};
  const auto elements = facts.elements(graph, id);
  if (!elements) return {};
  Items items;
  for (const Literal& element : *elements) items.push_back(item_of(element));
  return items;
}

RelationValue property_of(const Graph& graph, ValueId id, std::string_view property,
                          const OpFacts& facts) {
  const Value& value = graph.value(id);
  if (property == "given") return truth_value(true);
  if (property == "constant") return truth_value(is_constant(graph, id, facts));
  if (property == "tensor") return static_cast<std::int64_t>(index(id));
  if (!value.is_tensor()) return {};
  if (property == "dtype") {
    if (value.dtype == DType::unknown) return {};
    return std::string(dtype_name(value.dtype));
  }
  if (property == "stride") return strides_of(facts, id);
  if (property == "values") return elements_of(graph, id, facts);
  if (is_of_quantization(property)) return quantization_of(graph, id, property, facts);
  if (!graph.has_rank(id)) return {};
  const Shape shape = graph.shape(id);
  if (property == "rank") return static_cast<std::int64_t>(shape.size());
  if (property == "dim") return dims_of(shape);
  const auto count = property == "bytes" ? tensor_bytes(value.dtype, shape) : element_count(shape);
  return count ? RelationValue(static_cast<std::int64_t>(*count)) : RelationValue{};
}

RelationValue attribute_term(const Graph& graph, NodeId node, std::string_view name,
                             const OpFacts& facts) {
  const auto value = attribute_value(graph, node, name, facts);
  if (!value) return {};
  if (const auto* const integer = std::get_if<std::int64_t>(&*value)) return *integer;
  if (const auto* const real = std::get_if<double>(&*value)) return *real;
  if (const auto* const text = std::get_if<std::string>(&*value)) return *text;
  std::vector<RelationItem> items;
  for (const Literal& literal : std::get<std::vector<Literal>>(*value)) {
    items.push_back(item_of(literal));
  }
  return items;
}

// The property of all tensors that the node reads, or makes, as one list.
RelationValue every_term(const Graph& graph, NodeId node, const RelationTerm& term,
                         const OpFacts& facts) {
  Items list;
  const auto add = [&](ValueId value) {
    if (graph.value(value).is_tensor()) {
      add_items(property_of(graph, value, term.text, facts), list);
    }
  };
  if (term.kind == Kind::output) {
    for (const ValueId output : graph.outputs(node)) add(output);
    return list;
  }
  for (const Operand& operand : graph.operands(node)) {
    if (operand.slot.is_positional()) add(operand.value);
  }
  return list;
}

RelationValue input_term(const Graph& graph, NodeId node, const RelationTerm& term,
                         const OpFacts& facts) {
  if (const Operand* const input = find_plain_input(graph, node, term.position)) {
    return property_of(graph, input->value, term.text, facts);
  }
  return term.text == "given" ? truth_value(false) : RelationValue{};
}

RelationValue output_term(const Graph& graph, NodeId node, const RelationTerm& term,
                          const OpFacts& facts) {
  for (const ValueId output : graph.outputs(node)) {
    if (graph.value(output).slot == term.position)
      return property_of(graph, output, term.text, facts);
  }
  return term.text == "given" ? truth_value(false) : RelationValue{};
}

std::int64_t input_count(const Graph& graph, NodeId node) {
  std::int64_t count = 0;
  for (const Operand& operand : graph.operands(node)) count += operand.slot.is_capture() ? 0 : 1;
  return count;
}

std::string sign_text(Kind kind) {
  static constexpr std::array<std::string_view, 6> kSigns = {"==", "!=", "<", "<=", ">", ">="};
  return std::string(
      kSigns[static_cast<std::size_t>(kind) - static_cast<std::size_t>(Kind::equal)]);
}

// The values of all terms for the nodes, in order.
class TermValues {
 public:
  TermValues(const Relation& relation, const Graph& graph, std::span<const NodeId> nodes,
             const OpFacts& facts)
      : relation_(relation), graph_(graph), nodes_(nodes), facts_(facts) {
    values_.reserve(relation.terms.size());
    for (const RelationTerm& term : relation.terms) values_.push_back(compute(term));
  }

  const RelationValue& whole() const { return values_.back(); }

  RelationFailure failure() const {
    std::uint32_t at = static_cast<std::uint32_t>(relation_.terms.size() - 1);
    while (relation_.terms[at].kind == Kind::logical_and) {
      const RelationTerm& term = relation_.terms[at];
      const auto left = truth_of(values_[term.first]);
      const auto right = truth_of(values_[term.second]);
      const bool is_left = left == false || (!left && right != false);
      at = is_left ? term.first : term.second;
    }
    return describe(at);
  }

 private:
  RelationValue compute(const RelationTerm& term) const {
    switch (term.kind) {
      case Kind::literal:
        return value_of_literal(term.literal);
      case Kind::attribute:
        return attribute_term(graph_, nodes_[term.node], term.text, facts_);
      case Kind::input:
        if (term.position == RelationTerm::kNone) {
          return every_term(graph_, nodes_[term.node], term, facts_);
        }
        return input_term(graph_, nodes_[term.node], term, facts_);
      case Kind::output:
        if (term.position == RelationTerm::kNone) {
          return every_term(graph_, nodes_[term.node], term, facts_);
        }
        return output_term(graph_, nodes_[term.node], term, facts_);
      case Kind::input_count:
        return input_count(graph_, nodes_[term.node]);
      case Kind::output_count:
        return static_cast<std::int64_t>(graph_.outputs(nodes_[term.node]).size());
      default:
        return compute_from(term, values_[term.first]);
    }
  }

  RelationValue compute_from(const RelationTerm& term, const RelationValue& first) const {
    switch (term.kind) {
      case Kind::item:
        return item_at(first, values_[term.second]);
      case Kind::tail:
        return tail_from(first, values_[term.second]);
      case Kind::negate:
        return combined(Kind::minus, std::int64_t{0}, first);
      case Kind::logical_not: {
        const auto truth = truth_of(first);
        return truth ? truth_value(!*truth) : RelationValue{};
      }
      case Kind::logical_and:
      case Kind::logical_or:
        return logical(term.kind, first, values_[term.second]);
      case Kind::length:
      case Kind::least:
      case Kind::greatest:
      case Kind::all:
      case Kind::any:
        return function_value(term.kind, first);
      case Kind::list:
        return joined(first, values_[term.second]);
      default:
        return combined(term.kind, first, values_[term.second]);
    }
  }

  std::string text_of(std::uint32_t term) const {
    const std::uint32_t begin = relation_.terms[term].begin;
    return relation_.text.substr(begin, relation_.terms[term].end - begin);
  }

  // If one side of a comparison is unknown, the failure names that side.
  RelationFailure describe(std::uint32_t at) const {
    const RelationTerm& term = relation_.terms[at];
    RelationFailure failure;
    failure.is_unknown = !truth_of(values_[at]);
    failure.part = text_of(at);
    if (!is_comparison(term.kind)) return failure;
    for (const std::uint32_t side : {term.first, term.second}) {
      if (!failure.is_unknown || !is_unknown(values_[side])) continue;
      failure.part = text_of(side);
      return failure;
    }
    failure.is_comparison = true;
    failure.sign = sign_text(term.kind);
    failure.left = values_[term.first];
    failure.right = values_[term.second];
    return failure;
  }

  const Relation& relation_;
  const Graph& graph_;
  std::span<const NodeId> nodes_;
  const OpFacts& facts_;
  std::vector<RelationValue> values_;
};

}  // namespace

bool relation_holds(const Relation& relation, const Graph& graph, NodeId node,
                    const OpFacts& facts) {
  return relation_holds(relation, graph, std::span(&node, 1), facts);
}

bool relation_holds(const Relation& relation, const Graph& graph, std::span<const NodeId> nodes,
                    const OpFacts& facts) {
  return truth_of(TermValues(relation, graph, nodes, facts).whole()) == true;
}

RelationFailure relation_failure(const Relation& relation, const Graph& graph, NodeId node,
                                 const OpFacts& facts) {
  return relation_failure(relation, graph, std::span(&node, 1), facts);
}

RelationFailure relation_failure(const Relation& relation, const Graph& graph,
                                 std::span<const NodeId> nodes, const OpFacts& facts) {
  return TermValues(relation, graph, nodes, facts).failure();
}

// ---- relation ----
//
// Steps of parse_relation():
// 1. split the text into tokens;
// 2. read binary operators by precedence climbing and the rest by recursive descent, with a limit
//    on the levels of nesting.
// A term is added after its operands.

namespace {

using Index = std::uint32_t;

// A relation comes from a file that anyone may have written: its text, its nesting, which the parser goes down
// by calls, and the positions that it names are bounded before anything is made of them.
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
    if (is_word_char(c)) return word(begin);
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
    if (const auto whole = parse_number<std::int64_t>(made.text)) {
      made.integer = *whole;
      return made;
    }
    const auto real = parse_number<double>(made.text);
    if (!real) return RelationFault{begin, "no number"};
    made.type = Token::Type::real;
    made.real = *real;
    return made;
  }

  Token word(std::size_t begin) {
    while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
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
    at_ += contains(kDouble, two) ? 2U : 1U;
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
// Only the order counts: `or` is 0, `and` 1, and what computes is above what compares.
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
constexpr std::array<std::string_view, 15> kProperties = {
    "dim",       "stride", "rank",       "dtype",  "constant",       "elements", "given", "tensor",
    "quantized", "scale",  "zero_point", "scales", "quantized_axis", "values",   "bytes"};

const Operator* find_operator(const Token& token) {
  if (token.type != Token::Type::sign && token.type != Token::Type::word) return nullptr;
  const auto* const found = std::ranges::find(kOperators, token.text, &Operator::text);
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
    const auto known = std::ranges::find(kProperties, token_.text);
    if (token_.type != Token::Type::word || known == kProperties.end()) {
      const std::string meant = did_you_mean(token_.text, kProperties);
      return fail("no such property" +
                  (meant.empty()
                       ? ": there are dim, stride, rank, dtype, constant, elements, bytes, given, "
                         "tensor, quantized, scale, zero_point, scales, quantized_axis and values"
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
