#include "formats/models/pt2/bare_numbers.h"

#include <array>
#include <cstddef>

#include "formats/base/io/source_file.h"

namespace cleave {
namespace {

constexpr std::array<std::string_view, 3> kBare = {"-Infinity", "Infinity", "NaN"};

// The offset after the string that begins at `at`.
std::size_t end_of_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return at < json.size() ? at + 1 : json.size();
}

std::string_view bare_number_at(std::string_view json, std::size_t at) {
  for (const std::string_view word : kBare) {
    if (json.substr(at, word.size()) == word) return word;
  }
  return {};
}

}  // namespace

std::vector<char> with_quoted_numbers(std::string_view json) {
  std::vector<char> text;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < json.size();) {
    at = json.find_first_of("\"-IN", at);
    if (at == json.npos) break;
    if (json[at] == '"') {
      at = end_of_string(json, at);
      continue;
    }
    const std::string_view word = bare_number_at(json, at);
    if (word.empty()) {
      ++at;
      continue;
    }
    text.insert(text.end(), json.data() + copied, json.data() + at);
    text.push_back('"');
    text.insert(text.end(), word.begin(), word.end());
    text.push_back('"');
    at += word.size();
    copied = at;
  }
  if (text.empty()) return text;
  text.insert(text.end(), json.data() + copied, json.data() + json.size());
  text.insert(text.end(), SourceFile::kPadding, '\0');
  return text;
}

}  // namespace cleave
