#include "core/lowering/oracle.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <tuple>

#include "core/base/white_space.h"

namespace cleave {

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
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool holds_any(std::string_view line, std::span<const std::string_view> words) {
  const std::string text = lower_case(line);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
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
  return text[i] == '\'' && (i == 0 || !is_word(text[i - 1]));
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
    const auto end = std::find_if(text.begin(), text.end(), is_space);
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
  const auto cause = std::find(lines.begin(), lines.end(), "Caused by:");
  if (cause != lines.end() && cause != lines.begin() && cause + 1 != lines.end()) {
    return std::string(lines.front()) + " <- " + std::string(lines.back());
  }
  const auto fault = std::find_if(lines.begin(), lines.end(), [](std::string_view line) {
    return holds_any(line, kFaultWords);
  });
  return std::string(fault == lines.end() ? lines.front() : *fault);
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
  return std::any_of(known_.begin(), known_.end(), [&](const auto& entry) {
    return entry.second.passes() && entry.first.remedies == remedies &&
           std::binary_search(entry.first.items.begin(), entry.first.items.end(), item);
  });
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

}  // namespace cleave
