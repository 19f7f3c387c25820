#include "formats/models/pt2/module_stack.h"

#include <cstddef>

namespace cleave {
namespace {

// Position of the next `wanted` outside brackets; npos when there is none.
std::size_t find_outside(std::string_view text, char wanted, std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (depth <= 0 && c == wanted) return i;
    if (c == '(' || c == '[' || c == '<') ++depth;
    if (c == ')' || c == ']' || c == '>') --depth;
  }
  return text.npos;
}

}  // namespace

std::string_view innermost_scope(std::string_view stack) {
  std::size_t begin = 0;
  for (std::size_t at = find_outside(stack, ';', 0); at != stack.npos;
       at = find_outside(stack, ';', begin)) {
    begin = at + 1;
  }
  const std::string_view last = stack.substr(begin);
  const std::size_t key_end = find_outside(last, ',', 0);
  if (key_end == last.npos) return {};
  const std::size_t path_end = find_outside(last, ',', key_end + 1);
  std::string_view path = last.substr(key_end + 1);
  if (path_end != last.npos) path = last.substr(key_end + 1, path_end - key_end - 1);
  constexpr std::string_view kOldRoot = "L['self']";
  if (path.starts_with(kOldRoot)) {
    path.remove_prefix(kOldRoot.size());
    if (path.starts_with('.')) path.remove_prefix(1);
  }
  return path;
}

}  // namespace cleave
