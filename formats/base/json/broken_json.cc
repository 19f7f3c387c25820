#include "formats/base/json/broken_json.h"

#include <algorithm>

namespace cleave {
namespace {

// The offset after the string whose opening quote is at `at`; npos when it is not closed.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.npos;
}

}  // namespace

std::optional<StringFault> find_string_fault(std::string_view text) {
  for (std::size_t at = text.find('"'); at != text.npos; at = text.find('"', at)) {
    const std::size_t end = behind_string(text, at);
    const std::string_view inside = text.substr(at, std::min(end, text.size()) - at);
    const auto control = std::find_if(inside.begin(), inside.end(),
                                      [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (control != inside.end()) {
      return StringFault{at + static_cast<std::size_t>(control - inside.begin()), false};
    }
    if (end == text.npos) return StringFault{at, true};
    at = end;
  }
  return std::nullopt;
}

std::string json_holder_of(std::string_view text, std::uint64_t offset) {
  std::size_t depth = 0;
  std::size_t item = 0;  // commas at depth 2
  // the last string at depth 1: a key, or a value before which no list began
  std::string_view word;
  std::string_view key;
  std::size_t at = 0;
  while (at < std::min<std::size_t>(offset, text.size())) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = std::min(behind_string(text, at), text.size());
      if (depth == 1) word = text.substr(at + 1, end - at - 2);
      if (end > offset) break;
      at = end;
      continue;
    }
    if (c == '{' || c == '[') {
      if (depth == 1) {
        item = 0;
        key = c == '[' ? word : std::string_view();
      }
      ++depth;
    }
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (c == ',' && depth == 2) ++item;
    ++at;
  }
  if (depth < 2 || key.empty()) return "the graph";
  return std::string(key) + "[" + std::to_string(item) + "]";
}

std::string_view json_string_around(std::string_view text, std::uint64_t offset) {
  const std::size_t open = text.rfind('"', offset);
  if (open == text.npos) return {};
  const std::size_t close = std::min(behind_string(text, open), text.size());
  return text.substr(open + 1, close - open - 2);
}

}  // namespace cleave
