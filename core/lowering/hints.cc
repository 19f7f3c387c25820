// Where a message points to, the surest hints first:
// 1. names of nodes, then of values;
// 2. without any of these: names that end in a word of the message;
// 3. ops, the rarest first, one node for each kind of use.
#include "core/lowering/hints.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_set>

#include "core/lowering/node_case.h"

namespace cleave {
namespace {

constexpr std::size_t kShortestEnding = 8;
constexpr std::size_t kLongestName = 256;  // longer words are not looked up by their end

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_./:-$").find(c) != std::string_view::npos;
}

std::string_view without_punctuation(std::string_view word) {
  while (!word.empty() && std::string_view(".:,-").find(word.back()) != std::string_view::npos) {
    word.remove_suffix(1);
  }
  while (!word.empty() && std::string_view(".:,-").find(word.front()) != std::string_view::npos) {
    word.remove_prefix(1);
  }
  return word;
}

// Runs of name characters, with and without the punctuation around them; and everything between two
// equal quotes on a line, since names may contain blanks. Each once, in order.
std::vector<std::string_view> words_of(std::string_view message) {
  std::vector<std::string_view> words;
  std::unordered_set<std::string_view> met;
  const auto add = [&](std::string_view word) {
    if (!word.empty() && met.insert(word).second) words.push_back(word);
  };
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (message[i] == '"' || message[i] == '\'' || message[i] == '`') {
      const std::size_t end = message.find(message[i], i + 1);
      const std::string_view quoted = message.substr(i + 1, end - i - 1);
      if (end != std::string_view::npos && quoted.find('\n') == std::string_view::npos) add(quoted);
    }
    if (!is_name_character(message[i]) || (i > 0 && is_name_character(message[i - 1]))) continue;
    const auto* const begin = message.begin() + i;
    const auto* const end = std::find_if_not(begin, message.end(), is_name_character);
    const std::string_view word = message.substr(i, static_cast<std::size_t>(end - begin));
    add(word);
    add(without_punctuation(word));
  }
  return words;
}

// Adds words within words: "onnx.MaxPool" -> "MaxPool".
std::vector<std::string_view> with_last_parts(std::span<const std::string_view> words) {
  std::vector<std::string_view> all(words.begin(), words.end());
  for (const std::string_view word : words) {
    const std::size_t cut = word.find_last_of(".:/");
    if (cut != std::string_view::npos && cut + 1 < word.size()) all.push_back(word.substr(cut + 1));
  }
  return all;
}

std::string backwards(std::string_view name) {
  std::string text(name.rbegin(), name.rend());
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

bool begins_with(std::string_view text, std::string_view begin) {
  return text.substr(0, begin.size()) == begin;
}

}  // namespace

Hints::Hints(const Graph& graph, const ItemOrder& order) : graph_(graph), order_(order) {
  for (std::uint32_t item = 0; item < order.count(); ++item) {
    for (const std::uint32_t id : order.nodes.of(item)) {
      const std::string_view name = graph.node(NodeId{id}).name;
      nodes_.push_back({name, item});
      if (name.size() >= kShortestEnding) endings_.push_back({backwards(name), item});
      for (const ValueId value : graph.outputs(NodeId{id})) {
        values_.push_back({graph.value(value).name, item});
      }
    }
  }
  std::sort(nodes_.begin(), nodes_.end());
  std::sort(values_.begin(), values_.end());
  std::sort(endings_.begin(), endings_.end());
}

void Hints::add_exact(const std::vector<Name>& names, std::string_view word,
                      std::vector<std::uint32_t>& found) const {
  const auto [first, last] = std::equal_range(names.begin(), names.end(), Name{word, 0});
  for (auto name = first; name != last; ++name) found.push_back(name->item);
}

void Hints::add_ending(std::string_view word, std::vector<std::uint32_t>& found) const {
  if (word.size() < kShortestEnding) return;
  const std::string text = backwards(word);
  auto name = std::lower_bound(endings_.begin(), endings_.end(), Ending{text, 0});
  if (name != endings_.end() && begins_with(name->text, text)) {
    const bool is_unique =
        std::next(name) == endings_.end() || !begins_with(std::next(name)->text, text);
    if (is_unique) found.push_back(name->item);
    return;
  }
  for (std::size_t length = std::min(text.size(), kLongestName); length >= kShortestEnding;
       --length) {
    const Ending ending{text.substr(0, length), 0};
    name = std::lower_bound(endings_.begin(), endings_.end(), ending);
    if (name == endings_.end() || name->text != ending.text) continue;
    found.push_back(name->item);
    return;
  }
}

void Hints::add_ops(std::span<const std::string_view> words, std::span<const std::uint32_t> items,
                    std::vector<std::uint32_t>& found) const {
  const std::unordered_set<std::string_view> named(words.begin(), words.end());
  std::map<std::string_view, std::vector<std::uint32_t>> by_op;
  for (const std::uint32_t item : items) {
    for (const std::uint32_t id : order_.nodes.of(item)) {
      const std::string_view op = graph_.op(NodeId{id});
      if (named.contains(op)) by_op[op].push_back(id);
    }
  }
  std::vector<std::pair<std::size_t, std::string_view>> rarest;
  for (const auto& [op, nodes] : by_op) rarest.emplace_back(nodes.size(), op);
  std::sort(rarest.begin(), rarest.end());
  PerNode<std::uint32_t> item_of(graph_.node_count());
  for (const std::uint32_t item : items) {
    for (const std::uint32_t id : order_.nodes.of(item)) item_of[NodeId{id}] = item;
  }
  for (const auto& [count, op] : rarest) {
    std::unordered_set<std::string> cases;
    for (const std::uint32_t id : by_op[op]) {
      if (cases.insert(node_case(graph_, NodeId{id})).second) {
        found.push_back(item_of[NodeId{id}]);
      }
    }
  }
}

std::vector<std::uint32_t> Hints::in(std::string_view message,
                                     std::span<const std::uint32_t> items) const {
  const std::vector<std::string_view> words = words_of(message);
  std::vector<std::uint32_t> found;
  for (const std::string_view word : words) add_exact(nodes_, word, found);
  for (const std::string_view word : words) add_exact(values_, word, found);
  const bool is_named = !found.empty();
  for (const std::string_view word : words) {
    if (!is_named) add_ending(word, found);
  }
  add_ops(with_last_parts(words), items, found);
  std::vector<std::uint32_t> result;
  std::unordered_set<std::uint32_t> met;
  for (const std::uint32_t item : found) {
    if (std::binary_search(items.begin(), items.end(), item) && met.insert(item).second) {
      result.push_back(item);
    }
  }
  return result;
}

}  // namespace cleave
