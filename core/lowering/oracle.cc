// Answers of a compiler, remembered; wrong values and where they begin.

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/lowering/lowering.h"

namespace cleave {

// ---- oracle ----

Remedies operator|(const Remedies& one, const Remedies& other) {
  return {.pin_shapes = one.pin_shapes || other.pin_shapes,
          .freeze_values = one.freeze_values || other.freeze_values,
          .freeze_cuts = one.freeze_cuts || other.freeze_cuts,
          .constants_inside = one.constants_inside || other.constants_inside,
          .state_inside = one.state_inside || other.state_inside,
          .opset = std::max(one.opset, other.opset)};
}

// How a signature is made:
// 1. pick the lines that say what is wrong;
// 2. replace quoted text and brackets by "_";
// 3. drop paths and names of the partition, and replace digits in other words by "#";
// 4. join repeated signs, so that a list of names is as long as one name.

namespace {

// Two messages are the same fault when their signatures are equal. What follows is mostly detail that differs
// from node to node, and would make two faults of one.
constexpr std::size_t kLongestSignature = 160;
// A line with one of these says what is wrong. Lower case.
constexpr std::array<std::string_view, 9> kFaultWords = {
    "error",      "fail",      "not support",   "unsupported", "cannot",
    "unexpected", "exception", "unimplemented", "invalid"};
// A line that begins like this is followed by a backtrace, most recent call last.
constexpr std::array<std::string_view, 3> kTraceHeads = {"stack backtrace", "stack trace",
                                                         "backtrace:"};
constexpr std::string_view kPythonTrace = "Traceback (most recent call last)";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool holds_any(std::string_view line, std::span<const std::string_view> words) {
  const std::string text = lower_case(line);
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// The lines that are neither empty nor part of a backtrace. Python's comes before the message, with
// indented lines; others come after it.
std::vector<std::string_view> message_lines(std::string_view message) {
  std::vector<std::string_view> lines;
  bool is_in_python_trace = false;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    const std::string_view line = message.substr(0, end);
    message.remove_prefix(std::min(end + 1, message.size()));
    if (trimmed(line).empty()) continue;
    if (holds_any(trimmed(line).substr(0, 16), kTraceHeads)) break;
    if (line.find(kPythonTrace) != std::string_view::npos) {
      is_in_python_trace = true;
      continue;
    }
    if (is_in_python_trace && is_space(line.front())) continue;
    is_in_python_trace = false;
    lines.push_back(trimmed(line));
  }
  return lines;
}

char closing(char open) {
  switch (open) {
    case '(':
      return ')';
    case '[':
      return ']';
    case '{':
      return '}';
    case '<':
      return '>';
    default:
      return '\0';
  }
}

// Where the bracket opened at `begin` closes, counting nested ones; npos when it does not close.
std::size_t closing_at(std::string_view text, std::size_t begin) {
  const char open = text[begin];
  std::size_t depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == open) ++depth;
    const bool is_arrow = text[i] == '>' && i > 0 && text[i - 1] == '-';
    if (text[i] == closing(open) && !is_arrow && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// An apostrophe within a word ("can't") is not a quote.
bool opens_quote(std::string_view text, std::size_t i) {
  if (text[i] == '"' || text[i] == '`') return true;
  return text[i] == '\'' && (i == 0 || !is_word_char(text[i - 1]));
}

// Replaces quoted text and text in brackets by "_".
std::string without_details(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = std::string_view::npos;
    const bool is_quote = opens_quote(text, i);
    if (is_quote) end = text.find(text[i], i + 1);
    const bool is_less = text[i] == '<' && (i + 1 == text.size() || is_space(text[i + 1]));
    if (!is_quote && closing(text[i]) != '\0' && !is_less) end = closing_at(text, i);
    if (end == std::string_view::npos) {
      out += text[i];
    } else {
      out += '_';
      i = end;
    }
  }
  return out;
}

std::string with_numbers_hidden(std::string_view word) {
  std::string out;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (!is_digit(word[i])) {
      out += word[i];
      continue;
    }
    const bool is_hex = word[i] == '0' && i + 1 < word.size() && word[i + 1] == 'x';
    if (is_hex) ++i;
    while (i + 1 < word.size() &&
           (is_digit(word[i + 1]) ||
            (is_hex && std::isxdigit(static_cast<unsigned char>(word[i + 1])) != 0))) {
      ++i;
    }
    if (out.empty() || out.back() != '#') out += '#';
  }
  return out;
}

std::string plain_word(std::string_view word, const MessageNames& names) {
  std::string_view core = word;
  while (!core.empty() && std::string_view(".,:;=").find(core.back()) != std::string_view::npos) {
    core.remove_suffix(1);
  }
  if (names.contains(word) || names.contains(core)) return "_";
  if (core.find('/') != std::string_view::npos && core.size() > 1) return "_";
  if (core.find('\\') != std::string_view::npos || word.front() == '%') return "_";
  return with_numbers_hidden(word);
}

bool is_sign(std::string_view word) { return word == "_" || word == "#" || word == ","; }

std::string joined_words(std::string_view text, const MessageNames& names) {
  std::string out;
  std::string last;
  while (!(text = trimmed(text)).empty()) {
    const auto end = std::ranges::find_if(text, is_space);
    const auto length = static_cast<std::size_t>(end - text.begin());
    std::string word = plain_word(text.substr(0, length), names);
    text.remove_prefix(length);
    if (is_sign(word) && word == last) continue;
    if (!out.empty()) out += ' ';
    out += word;
    last = std::move(word);
  }
  return out;
}

}  // namespace

MessageNames::MessageNames(const Graph& graph, const std::vector<NodeId>& nodes) {
  for (const NodeId node : nodes) {
    names_.insert(graph.node(node).name);
    names_.insert(graph.op(node));
    for (const ValueId value : graph.outputs(node)) names_.insert(graph.value(value).name);
    for (const Operand& operand : graph.operands(node)) {
      names_.insert(graph.value(operand.value).name);
    }
    for (const NodeId inner : graph.body_nodes(node)) {
      names_.insert(graph.node(inner).name);
      names_.insert(graph.op(inner));
    }
  }
  names_.erase(std::string_view());
}

std::string essential_lines(std::string_view message) {
  const std::vector<std::string_view> lines = message_lines(message);
  if (lines.empty()) return {};
  const auto cause = std::ranges::find(lines, "Caused by:");
  if (cause != lines.end() && cause != lines.begin() && cause + 1 != lines.end()) {
    return std::string(lines.front()) + " <- " + std::string(lines.back());
  }
  const auto fault = std::ranges::find_if(
      lines, [](std::string_view line) { return holds_any(line, kFaultWords); });
  if (fault == lines.end()) return std::string(lines.front());
  const std::string_view first = *fault;
  if (!first.ends_with(':')) return std::string(first);
  // It only says where, as its like behind it do: what is wrong is in the others.
  std::string rest;
  for (const std::string_view line :
       std::span(lines).subspan(static_cast<std::size_t>(fault - lines.begin()))) {
    if (!line.ends_with(':')) rest += (rest.empty() ? "" : " ") + std::string(line);
  }
  return rest.empty() ? std::string(first) : rest;
}

std::string failure_signature(const Answer& answer, const MessageNames& names) {
  if (answer.difference != Difference::none) return answer.stage + ": values";
  std::string text = joined_words(without_details(essential_lines(answer.message)), names);
  if (text.size() > kLongestSignature) text.resize(kLongestSignature);
  return answer.stage + ": " + text;
}

namespace {

auto fields_of(const Remedies& r) {
  return std::make_tuple(r.pin_shapes, r.freeze_values, r.freeze_cuts, r.constants_inside,
                         r.state_inside, r.opset);
}

}  // namespace

bool Questions::Asked::operator<(const Asked& other) const {
  // Compares sizes first: most sets differ there, so long ones are rarely compared.
  const auto key = std::make_tuple(items.size(), fields_of(remedies));
  const auto other_key = std::make_tuple(other.items.size(), fields_of(other.remedies));
  return key != other_key ? key < other_key : items < other.items;
}

const JudgedAnswer& Questions::know(const ItemSet& items, const Remedies& remedies, Answer answer) {
  JudgedAnswer judged{.answer = std::move(answer)};
  if (judged.fails()) judged.signature = failure_signature(judged.answer, names_);
  return known_.insert_or_assign({items, remedies}, std::move(judged)).first->second;
}

const JudgedAnswer& Questions::ask(const ItemSet& items, const Remedies& remedies) {
  Asked asked{items, remedies};
  const auto known = known_.find(asked);
  if (known != known_.end()) return known->second;
  if (is_spent()) {
    static const JudgedAnswer kNotAsked = {.answer = {.runs = 0}};
    return kNotAsked;
  }
  return known_
      .emplace(std::move(asked), call({.nodes = nodes_of(order_, items), .remedies = remedies}))
      .first->second;
}

JudgedAnswer Questions::ask_again(const ItemSet& items, const Remedies& remedies,
                                  std::uint32_t attempt) {
  return call({.nodes = nodes_of(order_, items), .remedies = remedies, .attempt = attempt});
}

JudgedAnswer Questions::ask_tolerantly(const ItemSet& items, const Remedies& remedies,
                                       double tolerance) {
  if (is_spent()) return {.answer = {.runs = 0}};
  return call({.nodes = nodes_of(order_, items), .remedies = remedies, .tolerance = tolerance});
}

JudgedAnswer Questions::call(const Piece& piece) {
  JudgedAnswer judged{.answer = oracle_(piece)};
  runs_ += judged.answer.runs;
  if (judged.fails()) judged.signature = failure_signature(judged.answer, names_);
  return judged;
}

void Questions::note_blocked(const ItemSet& items, const JudgedAnswer& answer) {
  const bool is_silent = answer.answer.message.empty() && answer.answer.how.empty();
  if (blocked_ || answer.passes() || is_silent) return;
  const std::string line = essential_lines(answer.answer.message);
  blocked_ = Blocked{items, answer.answer.how.empty() ? line : answer.answer.how + ": " + line};
}

bool Questions::has_passed(std::uint32_t item, const Remedies& remedies) const {
  return std::ranges::any_of(known_, [&](const auto& entry) {
    return entry.second.passes() && entry.first.remedies == remedies &&
           std::ranges::binary_search(entry.first.items, item);
  });
}

std::vector<ItemSet> Questions::passed(const ItemSet& items, const Remedies& remedies) const {
  std::vector<ItemSet> passed;
  for (const auto& [asked, answer] : known_) {
    const bool is_within =
        std::includes(items.begin(), items.end(), asked.items.begin(), asked.items.end());
    if (answer.passes() && asked.remedies == remedies && is_within) passed.push_back(asked.items);
  }
  return passed;
}

bool Questions::is_spent() const {
  return runs_ >= limits_.most_runs || (limits_.is_time_up && limits_.is_time_up());
}

std::string Questions::plain_reason(std::string_view why) const {
  return failure_signature({.message = std::string(why)}, names_);
}

Judgement judge(const JudgedAnswer& answer, const std::string& signature) {
  if (answer.passes()) return Judgement::pass;
  const bool is_same = answer.fails() && (signature.empty() || answer.signature == signature);
  return is_same ? Judgement::same : Judgement::other;
}

// ---- wrong values ----

namespace {

constexpr auto kDataShapedOps = std::to_array<std::string_view>(
    {"Compress", "If", "Loop", "NonMaxSuppression", "NonZero", "Scan", "StringSplit", "Unique"});

// True for a Dropout with the third input, training_mode.
bool is_training(const Graph& graph, NodeId node) {
  return graph.op(node) == "Dropout" && graph.operands(node).size() > 2;
}

// The values made by a source, or by a node that reads such a value. One pass is enough, since
// nodes are in topological order.
template <class IsSource>
std::vector<bool> descendants(const Graph& graph, IsSource is_source) {
  std::vector<bool> descends(graph.value_count(), false);
  for (const NodeId node : graph.nodes()) {
    bool does = is_source(node);
    for (const Operand& operand : graph.operands(node)) {
      does = does || descends[index(operand.value)];
    }
    if (!does) continue;
    for (const ValueId output : graph.outputs(node)) descends[index(output)] = true;
  }
  return descends;
}

}  // namespace

std::vector<bool> random_values(const Graph& graph) {
  return descendants(
      graph, [&](NodeId node) { return is_random_op(graph.op(node)) || is_training(graph, node); });
}

std::vector<bool> values_shaped_by_data(const Graph& graph) {
  return descendants(graph, [&](NodeId node) { return contains(kDataShapedOps, graph.op(node)); });
}

namespace {

// Beside the middle, where a half cannot be run there. Such cuts tend to stand close together, and
// doubled steps leave a group of them in four tries on either side. Chosen, not measured.
constexpr std::array<std::uint32_t, 4> kSteps = {1, 2, 4, 8};
// Of wrong values: each is a bisection with runs of the compiler, and whoever mends the first ones sees the rest.
constexpr std::size_t kMostFindings = 8;
// Factor on the tolerance for two right halves before they count as wrong together.
constexpr double kTogetherTolerance = 10;
// Ops whose result jumps when their inputs change a little, as op_key() spells them.
constexpr std::array<std::string_view, 11> kDeciders = {
    "argmax",         "argmin", "equal",       "greater",
    "greaterorequal", "less",   "lessorequal", "nonmaxsuppression",
    "nonzero",        "topk",   "unique"};

// Items [begin, end) of the order.
struct Interval {
  std::uint32_t begin;
  std::uint32_t end;
};

enum class Half : std::uint8_t { first, second, neither, unresolved };

class ValueSearch {
 public:
  ValueSearch(const FailedPartition& failed, const Oracle& oracle, const AskingLimits& limits,
              const FiniteTest& is_finite)
      : failed_(failed), questions_(failed.order, names_, oracle, limits), is_finite_(is_finite) {}

  AllWrongValues run() {
    AllWrongValues all{.found = {}, .is_no_fault = true};
    const Interval whole{0, static_cast<std::uint32_t>(failed_.order.count())};
    left_ = {{whole, failed_.answer}};
    while (!left_.empty()) {
      if (all.found.size() == kMostFindings) return {std::move(all.found), false};
      const auto [interval, wrong] = std::move(left_.back());
      left_.pop_back();
      wrong_ = wrong;
      all.found.push_back(search(interval));
      const ValueVerdict verdict = all.found.back().verdict;
      has_blamed_ = has_blamed_ || blames(verdict);
      const bool is_searched_on = is_no_fault(verdict) || verdict == ValueVerdict::not_finite ||
                                  (blames(verdict) && holds_quantised(found_));
      const bool is_rest_right = is_searched_on && look_at_rest(interval);
      all.is_no_fault = all.is_no_fault && is_no_fault(verdict) && is_rest_right;
    }
    return all;
  }

 private:
  struct Left {
    Interval interval;
    Answer wrong;
  };

  static bool is_no_fault(ValueVerdict verdict) {
    return verdict == ValueVerdict::tie_order || verdict == ValueVerdict::one_step ||
           verdict == ValueVerdict::rounding_decides;
  }

  static bool blames(ValueVerdict verdict) {
    return verdict == ValueVerdict::culprit || verdict == ValueVerdict::together;
  }

  // The finding in an interval that is wrong; found_ becomes the items that it explains.
  WrongValues search(Interval interval) {
    Half half = Half::first;
    std::uint32_t cut = interval.end;
    const bool is_worth_it = wrong_.difference != Difference::lower_precision;
    questions_.forget_blocked();
    while (is_worth_it && interval.end - interval.begin > 1) {
      std::tie(half, cut) = wrong_half(interval);
      if (half == Half::first) interval.end = cut;
      if (half == Half::second) interval.begin = cut;
      if (half == Half::neither || half == Half::unresolved) break;
    }
    WrongValues result{.first_wrong = wrong_.first_wrong};
    decide(interval, half, result);
    if (result.verdict == ValueVerdict::together) {
      interval = narrowed(interval, cut, result);
      if (is_rounding(interval)) {
        result.verdict = ValueVerdict::one_step;
        result.necessary.reset();
      }
    }
    result.nodes = nodes_of(failed_.order, items_of(interval));
    if (blames(result.verdict) && is_finite_ && !is_finite_(result.nodes)) {
      result.verdict = ValueVerdict::not_finite;
      result.necessary.reset();
    }
    result.message = wrong_.message;
    if (!is_whole(interval)) result.remedies = pinned();
    result.runs = questions_.runs();
    if (const auto& blocked = questions_.blocked()) {
      result.blocked = nodes_of(failed_.order, blocked->items);
      result.blocked_why = blocked->why;
    }
    found_ = interval;
    return result;
  }

  // Asks about what the last finding does not explain of the interval that it was found in. False
  // when that could not be run; what is wrong is left to be searched.
  bool look_at_rest(Interval interval) {
    bool is_known = true;
    for (const Interval rest :
         {Interval{found_.end, interval.end}, Interval{interval.begin, found_.begin}}) {
      if (rest.begin == rest.end) continue;
      const JudgedAnswer& answer = ask(rest);
      if (is_wrong(answer)) {
        if (!has_blamed_ || answer.answer.difference == Difference::wrong)
          left_.push_back({rest, answer.answer});
      } else {
        is_known = is_known && answer.passes();
      }
    }
    return is_known;
  }

  static ItemSet items_of(Interval interval) {
    ItemSet items(interval.end - interval.begin);
    for (std::uint32_t i = 0; i < items.size(); ++i) items[i] = interval.begin + i;
    return items;
  }

  bool is_whole(Interval interval) const {
    return interval.end - interval.begin == failed_.order.count();
  }

  Remedies pinned() const { return failed_.remedies | Remedies{.pin_shapes = true}; }

  // Pins open shapes: a refusal would hide the values.
  const JudgedAnswer& ask(Interval interval) {
    const ItemSet items = items_of(interval);
    const JudgedAnswer& answer = questions_.ask(items, pinned());
    if (answer.answer.outcome != OracleOutcome::unchanged) return answer;
    return questions_.ask(items, failed_.remedies);
  }

  static bool is_wrong(const JudgedAnswer& answer) {
    return answer.fails() && answer.answer.difference != Difference::none;
  }

  // Which half is wrong when the interval is cut at `cut`. Ties and steps are no fault, so they are looked
  // at only where the other half is right.
  Half wrong_half_at(Interval interval, std::uint32_t cut) {
    std::optional<std::pair<Half, Answer>> tie;
    for (const Half half : {Half::first, Half::second}) {
      const Interval part =
          half == Half::first ? Interval{interval.begin, cut} : Interval{cut, interval.end};
      const JudgedAnswer& answer = ask(part);
      if (is_wrong(answer)) {
        const Difference difference = answer.answer.difference;
        if (difference == Difference::tie_order || difference == Difference::one_step) {
          if (!tie || answer.answer.beyond_rounding > tie->second.beyond_rounding) {
            tie.emplace(half, answer.answer);
          }
          continue;
        }
        wrong_ = answer.answer;
        return half;
      }
      if (!answer.passes() && !tie && !only_quantises(part)) {
        questions_.note_blocked(items_of(part), answer);
        return Half::unresolved;
      }
    }
    if (!tie) return Half::neither;
    wrong_ = tie->second;
    return tie->first;
  }

  // Compilers may refuse a QuantizeLinear or DequantizeLinear without an operator. It makes nothing wrong then.
  bool only_quantises(Interval part) const {
    const std::vector<NodeId> nodes = nodes_of(failed_.order, items_of(part));
    return quant_role(failed_.graph, operator_of(failed_.graph, nodes)) != QuantRole::none;
  }

  // True when an item is a quantised operator.
  bool holds_quantised(Interval interval) const {
    const ItemSet items = items_of(interval);
    return std::ranges::any_of(
        items, [&](std::uint32_t item) { return failed_.order.nodes.of(item).size() > 1; });
  }

  // As above, at the cut nearest to the middle for which both halves can be run.
  std::pair<Half, std::uint32_t> wrong_half(Interval interval) {
    const std::uint32_t middle = interval.begin + (interval.end - interval.begin) / 2;
    Half half = wrong_half_at(interval, middle);
    if (half != Half::unresolved) return {half, middle};
    for (const std::uint32_t step : kSteps) {
      for (const std::uint32_t cut : {middle + step, middle - step}) {
        if (cut <= interval.begin || cut >= interval.end) continue;
        half = wrong_half_at(interval, cut);
        if (half != Half::unresolved) return {half, cut};
      }
    }
    return {Half::unresolved, middle};
  }

  void decide(Interval interval, Half half, WrongValues& result) {
    if (wrong_.difference == Difference::lower_precision) {
      result.verdict = ValueVerdict::lower_precision;
    } else if (half == Half::unresolved) {
      result.verdict = ValueVerdict::unresolved;
    } else if (half != Half::neither) {
      result.verdict = verdict_of(wrong_.difference);
    } else if (wrong_.difference == Difference::one_step) {
      // Each half is right, and what is left of their errors moves a few values over a step.
      result.verdict = ValueVerdict::one_step;
    } else {
      result.deciders = deciders_of(interval);
      result.verdict =
          result.deciders.empty() ? verdict_of_sum(interval) : ValueVerdict::rounding_decides;
    }
  }

  static ValueVerdict verdict_of(Difference difference) {
    switch (difference) {
      case Difference::tie_order:
        return ValueVerdict::tie_order;
      case Difference::one_step:
        return ValueVerdict::one_step;
      case Difference::lower_precision:
        return ValueVerdict::lower_precision;
      case Difference::none:
      case Difference::wrong:
        break;
    }
    return ValueVerdict::culprit;
  }

  // The ops of the interval that decide an order, above the first wrong value if it is known.
  std::vector<NodeId> deciders_of(Interval interval) const {
    ItemSet items = items_of(interval);
    const auto last = item_of(interval, wrong_.first_wrong);
    if (last) items = cone_of(failed_.order, items, *last);
    std::vector<NodeId> nodes;
    for (const NodeId node : nodes_of(failed_.order, items)) {
      const std::string key = op_key(failed_.graph.op(node));
      if (std::ranges::find(kDeciders, key) != kDeciders.end()) {
        nodes.push_back(node);
      }
    }
    return nodes;
  }

  // The item of the interval that makes the value.
  std::optional<std::uint32_t> item_of(Interval interval, std::optional<ValueId> value) const {
    if (!value) return std::nullopt;
    const NodeId producer = failed_.graph.value(*value).producer;
    for (std::uint32_t item = interval.begin; item < interval.end; ++item) {
      const auto nodes = failed_.order.nodes.of(item);
      if (contains(nodes, index(producer))) return item;
    }
    return std::nullopt;
  }

  // The answer where ten times the error is allowed, so that errors that add up are none.
  JudgedAnswer ask_tolerantly(Interval interval) {
    const ItemSet items = items_of(interval);
    JudgedAnswer answer = questions_.ask_tolerantly(items, pinned(), kTogetherTolerance);
    if (answer.answer.outcome != OracleOutcome::unchanged) return answer;
    return questions_.ask_tolerantly(items, failed_.remedies, kTogetherTolerance);
  }

  ValueVerdict verdict_of_sum(Interval interval) {
    const JudgedAnswer answer = ask_tolerantly(interval);
    if (answer.passes()) return ValueVerdict::errors_add_up;
    if (answer.answer.difference == Difference::one_step) return ValueVerdict::one_step;
    wrong_.beyond_rounding = answer.answer.beyond_rounding;
    return is_wrong(answer) ? ValueVerdict::together : ValueVerdict::unresolved;
  }

  // True when the interval is far off. What it says then is kept for the report.
  bool is_far_off(Interval interval, bool& is_right) {
    const JudgedAnswer answer = ask_tolerantly(interval);
    is_right = answer.passes();
    if (!is_wrong(answer) || answer.answer.difference != Difference::wrong) return false;
    wrong_ = answer.answer;
    return true;
  }

  // The shortest interval within this one that is still far off: cut off at its end first, then at its
  // beginning. Both sides of `cut` are right. Its last item is necessary if it is seen to be right without.
  Interval narrowed(Interval interval, std::uint32_t cut, WrongValues& result) {
    bool is_needed = true, is_right = true;
    for (std::uint32_t right = cut; interval.end - right > 1;) {
      const std::uint32_t middle = right + (interval.end - right) / 2;
      if (is_far_off({interval.begin, middle}, is_right)) {
        interval.end = middle;
      } else {
        right = middle;
        is_needed = is_right;
      }
    }
    for (std::uint32_t right = cut; right - interval.begin > 1;) {
      const std::uint32_t middle = interval.begin + (right - interval.begin) / 2;
      if (is_far_off({middle, interval.end}, is_right)) {
        interval.begin = middle;
      } else {
        right = middle;
      }
    }
    if (is_needed) {
      const std::vector<NodeId> last = nodes_of(failed_.order, ItemSet{interval.end - 1});
      result.necessary = operator_of(failed_.graph, last);
    }
    return interval;
  }

  // True when the rounding of a quantiser explains an interval that is far off: up to the quantiser it is
  // right to a step, and what comes behind that is right on right inputs.
  bool is_rounding(Interval interval) {
    if (wrong_.beyond_rounding > 0) return false;
    std::uint32_t cut = interval.end - 1;
    while (cut > interval.begin && !ends_in_quantizer(cut)) --cut;
    return cut > interval.begin && is_right_to_a_step({interval.begin, cut}) &&
           is_right_to_a_step({cut, interval.end});
  }

  bool ends_in_quantizer(std::uint32_t cut) const {
    const std::vector<NodeId> nodes = nodes_of(failed_.order, ItemSet{cut - 1});
    return std::ranges::any_of(
        nodes, [&](NodeId node) { return op_key(failed_.graph.op(node)).starts_with("quantize"); });
  }

  bool is_right_to_a_step(Interval part) {
    const JudgedAnswer& answer = ask(part);
    return answer.passes() || answer.answer.difference == Difference::one_step;
  }

  const FailedPartition& failed_;
  MessageNames names_;
  Questions questions_;
  const FiniteTest& is_finite_;
  Answer wrong_;         // for the interval known to be wrong
  Interval found_ = {};  // of the last finding
  bool has_blamed_ = false;
  std::vector<Left> left_;  // wrong, and still to be searched; the last one is next
};

}  // namespace

AllWrongValues find_wrong_values(const FailedPartition& failed, const Oracle& oracle,
                                 const AskingLimits& limits, const FiniteTest& is_finite) {
  return ValueSearch(failed, oracle, limits, is_finite).run();
}

// ---- piece sizes ----

PieceSizes sizes_of(const Graph& graph, std::span<const NodeId> nodes) {
  PieceSizes sizes = {};
  const auto size = [&sizes](SizeOf of) -> std::uint64_t& {
    return sizes[static_cast<std::size_t>(of)];
  };
  const auto is_within = [&](NodeId node) {
    // Model order is the order of ids, so no set is needed.
    return std::binary_search(nodes.begin(), nodes.end(), node);
  };
  // The bytes of the value, which also count for the largest tensor and the longest axis.
  const auto measure = [&](ValueId value) {
    const std::uint64_t bytes = value_bytes(graph, value).value_or(0);
    size(SizeOf::tensor_bytes) = std::max(size(SizeOf::tensor_bytes), bytes);
    if (!graph.value(value).is_tensor() || !graph.has_rank(value)) return bytes;
    for (const Dim dim : graph.shape(value)) {
      const auto length = static_cast<std::uint64_t>(dim.is_fixed() ? dim.size() : 0);
      size(SizeOf::axis_elements) = std::max(size(SizeOf::axis_elements), length);
    }
    return bytes;
  };
  std::unordered_set<ValueId> read;
  for (const NodeId node : nodes) {
    for (const Operand& operand : graph.operands(node)) {
      // A compiler gets a value once, however many nodes read it.
      if (!read.insert(operand.value).second) continue;
      const std::uint64_t bytes = measure(operand.value);
      const NodeId maker = graph.value(operand.value).producer;
      if (graph.is_parameter(operand.value)) {
        size(SizeOf::parameter_bytes) += bytes;
      } else if (maker == kNone<NodeId> || !is_within(maker)) {
        ++size(SizeOf::inputs);
      }
    }
    for (const ValueId output : graph.outputs(node)) {
      measure(output);
      const auto users = graph.users(output);
      // An output that nobody reads does not leave, and is no output of the piece.
      const bool leaves = graph.is_graph_output(output) || !std::ranges::all_of(users, is_within);
      size(SizeOf::outputs) += leaves ? 1U : 0U;
    }
  }
  size(SizeOf::nodes) = nodes.size();
  size(SizeOf::activation_bytes) = activation_peak(graph, nodes);
  return sizes;
}

}  // namespace cleave
