// A list that shows its first items and counts the others: "a, b, c and 17 more". Every limit on what
// a text, a page or a file for other programs names is one of these.
//
//   CappedList list(10);
//   for (const Cause& cause : causes) {
//     if (list.shows_next()) text += line_of(cause);
//   }
//   text += list.rest("... and # more causes (see --json)\n");
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cleave {

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

}  // namespace cleave
