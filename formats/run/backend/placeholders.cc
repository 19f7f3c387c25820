#include "formats/run/backend/placeholders.h"

#include <algorithm>
#include <array>
#include <optional>

namespace cleave {
namespace {

constexpr auto kScalars =
    std::to_array<std::string_view>({"model", "out", "workdir", "here", "cleave", "seed"});
constexpr auto kLists =
    std::to_array<std::string_view>({"inputs", "outputs", "input_names", "output_names", "shapes"});

// The name of the placeholder that begins at `at`, which is a '{'.
std::optional<std::string_view> name_at(std::string_view text, std::size_t at) {
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
  if (end == text.npos || end == at + 1 || text[end] != '}') return std::nullopt;
  return text.substr(at + 1, end - at - 1);
}

const std::vector<std::string>* list_named(std::string_view name, const PlaceholderValues& values) {
  const std::array<const std::vector<std::string>*, kLists.size()> lists = {
      &values.inputs, &values.outputs, &values.input_names, &values.output_names, &values.shapes};
  for (std::size_t i = 0; i < kLists.size(); ++i) {
    if (kLists[i] == name) return lists[i];
  }
  return nullptr;
}

std::string scalar_named(std::string_view name, const PlaceholderValues& values) {
  const std::array<std::string, kScalars.size()> texts = {
      values.model,
      values.out,
      values.workdir,
      values.here,
      values.cleave.empty() ? "{cleave}" : values.cleave,
      std::to_string(values.seed)};
  for (std::size_t i = 0; i < kScalars.size(); ++i) {
    if (kScalars[i] == name) return texts[i];
  }
  return "{" + std::string(name) + "}";
}

// How often the word is repeated: the length of its first list; nullopt when it has none.
std::optional<std::size_t> repeats(std::string_view word, const PlaceholderValues& values) {
  for (std::size_t at = word.find('{'); at != word.npos; at = word.find('{', at + 1)) {
    const auto name = name_at(word, at);
    if (!name) continue;
    if (const auto* const list = list_named(*name, values)) return list->size();
  }
  return std::nullopt;
}

std::string expand_word(std::string_view word, const PlaceholderValues& values, std::size_t item) {
  std::string out;
  for (std::size_t at = 0; at < word.size();) {
    const auto name = word[at] == '{' ? name_at(word, at) : std::nullopt;
    if (!name) {
      out += word[at++];
      continue;
    }
    const auto* const list = list_named(*name, values);
    if (list == nullptr) out += scalar_named(*name, values);
    if (list != nullptr && item < list->size()) out += (*list)[item];
    at += name->size() + 2;
  }
  return out;
}

}  // namespace

std::size_t find_unknown_placeholder(std::string_view text) {
  for (std::size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
    const auto name = name_at(text, at);
    if (!name) continue;
    const bool is_known = std::find(kScalars.begin(), kScalars.end(), *name) != kScalars.end() ||
                          std::find(kLists.begin(), kLists.end(), *name) != kLists.end();
    if (!is_known) return at;
  }
  return text.npos;
}

std::string placeholder_list() {
  std::string text;
  const auto add = [&](std::string_view name) {
    text += (text.empty() ? "{" : ", {") + std::string(name) + "}";
  };
  for (const std::string_view name : kScalars) add(name);
  for (const std::string_view name : kLists) add(name);
  return text;
}

std::vector<std::string> expand_words(const std::vector<std::string>& words,
                                      const PlaceholderValues& values) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    const auto count = repeats(word, values);
    for (std::size_t i = 0; i < count.value_or(1); ++i) out.push_back(expand_word(word, values, i));
  }
  return out;
}

}  // namespace cleave
