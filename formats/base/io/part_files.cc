#include "formats/base/io/part_files.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "formats/base/text/utf8.h"

namespace cleave {
namespace {

// The files that a split writes besides its partitions.
constexpr std::array<std::string_view, 7> kOwnFiles = {
    "root", "annotated", "manifest", "report", "node_support", "preview", "stages"};

std::string cut_at_character(std::string_view text, std::size_t most) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = std::max<std::size_t>(utf8_character(text.substr(at)), 1);
    if (at + length > most) break;
    at += length;
  }
  return std::string(text.substr(0, at));
}

// Unchanged if it is one harmless path component of at most 200 bytes; otherwise with separators
// and control characters replaced by '_'.
std::string harmless(std::string_view part_name) {
  constexpr std::size_t kMostBytes = 200;
  std::string name = cut_at_character(part_name, kMostBytes);
  const auto is_harmful = [](char c) {
    return c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  };
  std::replace_if(name.begin(), name.end(), is_harmful, '_');
  if (name.empty()) return "_";
  if (name == "." || name == "..") std::fill(name.begin(), name.end(), '_');
  return name;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

class StemGiver {
 public:
  StemGiver() {
    for (const std::string_view own : kOwnFiles) taken_.emplace(own);
  }

  bool take(std::string_view stem) { return taken_.insert(lower(stem)).second; }

  // The stem, else the stem with the first free number appended.
  std::string take_next(const std::string& stem) {
    if (take(stem)) return stem;
    std::size_t& number = last_number_.try_emplace(lower(stem), 1).first->second;
    std::string numbered;
    do {
      numbered = stem + "_" + std::to_string(++number);
    } while (!take(numbered));
    return numbered;
  }

 private:
  std::unordered_set<std::string> taken_;                     // lower case
  std::unordered_map<std::string, std::size_t> last_number_;  // by stem in lower case
};

}  // namespace

std::vector<std::string> file_stems(std::span<const std::string> part_names) {
  StemGiver giver;
  std::vector<std::string> stems(part_names.size());
  for (std::size_t i = 0; i < stems.size(); ++i) {
    if (harmless(part_names[i]) == part_names[i] && giver.take(part_names[i])) {
      stems[i] = part_names[i];
    }
  }
  for (std::size_t i = 0; i < stems.size(); ++i) {
    if (stems[i].empty()) stems[i] = giver.take_next(harmless(part_names[i]));
  }
  return stems;
}

}  // namespace cleave
