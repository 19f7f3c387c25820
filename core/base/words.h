// Numbers and names as text: quotes, spellings, decimals, lists that are cut at a limit.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cleave {

// ---- quotes ----
//
// Puts names and user input in quotes for a message. Does not escape: formats/base/faults.h does
// that when the message is printed.

inline std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

// ---- white space ----
//
// White space in text.

// Blank, tab, or anything that ends a line or a page.
inline constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";

// The text without white space at both ends.
inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

// The parts of a text that each separator ends: a last one may be without.
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator);
inline std::vector<std::string_view> split_at(std::string_view text, char separator) {
  return split_at(text, std::string_view(&separator, 1));
}

// "a, b or c"
template <class Words>
std::string alternatives_text(const Words& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// ---- letters ----
//
// Letters of ASCII, whatever the locale is.

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
// A letter, digit or "_", as names in programs are made of: "conv_1".
constexpr bool is_word_char(char c) { return is_letter(c) || is_digit(c) || c == '_'; }

std::string lower_case(std::string_view text);
std::string upper_case(std::string_view text);

// ---- parsing ----

// The number that the whole text is: no white space, no "+", nothing behind it. nullopt where it is none, or outside
// the type.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

// ---- spelling ----
//
// Near misses in spelling: "did you mean ...?".

// The number of insertions, deletions, replacements and swaps of neighbours that turn a into b;
// `limit + 1` when it is above `limit`. O(limit x length).
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

// Collects the candidate nearest to a name. A candidate counts when its distance is at most a third
// of the name's length (at least one); one that differs in case alone, or has Normalization for Norm, is
// nearest.
class NearestName {
 public:
  explicit NearestName(std::string_view name);
  void offer(std::string_view candidate);
  // The nearest candidate, the first on a tie; empty when none was near enough.
  std::string_view best() const { return best_; }

 private:
  std::string_view name_;
  std::string_view best_;
  std::size_t limit_;
};

// ---- number text ----
//
// Numbers as people read them: thousands separated; bytes, FLOPs and times with a unit; shares and
// rates.

// "2,431"
std::string count_text(std::uint64_t count);

// "512 B", "9.19 MiB": three digits and a binary unit.
std::string bytes_text(std::uint64_t bytes);

// "64 FLOP", "3.63 GFLOP": three digits and a decimal unit. Below 0 or not finite: "? FLOP".
std::string flops_text(double flops);

// "12.3 ms", "450 us", "2.1 s": three digits. Below 0 or not finite: "? s".
std::string duration_text(double microseconds);

// The same of energy: "3.2 mJ", "45 uJ".
std::string joules_text(double millijoules);

// "1 node", "1,024 nodes"
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);
// The same of a word whose plural ends in s.
std::string counted(std::uint64_t count, std::string_view thing);

// "87.1%". Never rounds to 100% or to 0%.
std::string percent_text(double ratio);

// "35,000", "7.25": inferences a second.
std::string rate_text(double rate);

// ---- decimal ----
//
// Writes real numbers as decimal digits, independent of the locale.

// The fewest digits that read back as the same number: "0.1", "1e+30".
std::string shortest_text(double number);

// `decimals` digits after the point: fixed_text(2.25, 1) is "2.2" (ties go to the even digit).
std::string fixed_text(double number, int decimals);

// `digits` digits in all, without trailing zeros, like printf's %g: rounded_text(31.508, 3) is "31.5".
std::string rounded_text(double number, int digits);

// ---- capped list ----
//
// A list that shows its first items and counts the others: "a, b, c and 17 more". Every limit on what
// a text, a page or a file for other programs names is one of these.
//
//   CappedList list(10);
//   for (const Cause& cause : causes) {
//     if (list.shows_next()) text += line_of(cause);
//   }
//   text += list.rest("... and # more causes (see --json)\n");

class CappedList {
 public:
  explicit CappedList(std::size_t most) : most_(most) {}

  // Counts the next item. True if it is to be shown: for the first `most`.
  bool shows_next() { return ++count_ <= most_; }
  // Counts items that are not at hand, and so are not shown.
  void leave_out(std::size_t count) { left_out_ += count; }

  std::size_t shown() const { return count_ < most_ ? count_ : most_; }
  std::size_t left_out() const { return count_ - shown() + left_out_; }

  // The text on the items that are left out, with their number in place of #: `one` for a single one.
  // "" if all are shown.
  std::string rest(std::string_view one, std::string_view many) const;
  std::string rest(std::string_view text) const { return rest(text, text); }

 private:
  std::size_t most_;
  std::size_t count_ = 0;     // of the items at hand
  std::size_t left_out_ = 0;  // of the others
};

// The texts of the first items, joined: "a, b, c and 17 more". `text_of` is called for items that are
// shown only.
template <class Items, class TextOf>
std::string capped_list(const Items& items, std::size_t most, TextOf text_of,
                        std::string_view rest = " and # more", std::string_view separator = ", ") {
  CappedList list(most);
  std::string text;
  for (const auto& item : items) {
    if (!list.shows_next()) continue;
    if (list.shown() > 1) text += separator;
    text += text_of(item);
  }
  return text + list.rest(rest);
}

// The texts of all items, joined. An item is its own text where no other is asked for: "a, b, c".
template <class Items, class TextOf = std::identity>
std::string joined(const Items& items, std::string_view between = ", ", TextOf text_of = {}) {
  std::string all;
  for (const auto& item : items) {
    if (!all.empty()) all += between;
    all += text_of(item);
  }
  return all;
}

}  // namespace cleave
