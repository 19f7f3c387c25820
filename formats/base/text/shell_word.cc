#include "formats/base/text/shell_word.h"

namespace cleave {
namespace {

bool is_plain(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_letter || std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  bool plain = !text.empty();
  for (const char c : text) plain = plain && is_plain(c);
  if (plain) return std::string(text);
  std::string word = "'";
  for (const char c : text) c == '\'' ? word += "'\\''" : word += c;
  return word + "'";
}

}  // namespace cleave
