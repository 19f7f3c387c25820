// How a file is read:
// 1. find a key of too many parts, which would be tables in tables without an end;
// 2. toml++ parses the text;
// 3. each value in the table of a command becomes an option's value, as text; tables [[model]] are kept.
#include "cli/options/config_file.h"

#define TOML_ENABLE_FORMATTERS 0
// "[." breaks an assertion of the parser, which then finds the fault by itself.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include <algorithm>
#include <optional>

#include "core/base/words.h"
#include "formats/base/text.h"

namespace cleave {
namespace {

constexpr std::size_t kMostKeyParts = 8;

// Where the string ends that begins at `begin` with a quote.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string three(3, quote);
  const bool has_lines = text.substr(begin).starts_with(three);
  for (std::size_t i = begin + (has_lines ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"') {
      ++i;
    } else if (!has_lines) {
      if (text[i] == quote || text[i] == '\n') return i + 1;
    } else if (text.substr(i).starts_with(three)) {
      // Two quotes may stand before the three that end it.
      return std::min(text.find_first_not_of(quote, i), i + 5);
    }
  }
  return text.size();
}

// Where a key has more parts than it may; npos: nowhere. Dots outside of strings are counted: those of
// numbers are few.
std::size_t find_long_key(std::string_view text) {
  std::size_t dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = end_of_string(text, i);
      continue;
    }
    if (c == '#') i = std::min(text.find('\n', i), text.size() - 1);
    if (c == '.' && ++dots >= kMostKeyParts) return i;
    if (std::string_view("#\n=,[{").find(c) != std::string_view::npos) dots = 0;
    ++i;
  }
  return text.npos;
}

std::string with_dashes(std::string_view name) {
  std::string dashed(name);
  std::ranges::replace(dashed, '_', '-');
  return dashed;
}

// The parser's words, as the rest of a message: "Error while parsing key: expected ..." is long.
std::string words_of(const toml::parse_error& error) {
  std::string_view words = error.description();
  if (words.starts_with("Error while parsing ")) words.remove_prefix(words.find(": ") + 2);
  return "this is not TOML: " + escaped(words);
}

class ConfigReader {
 public:
  explicit ConfigReader(std::string_view text) : text_(text) {}

  Loaded<ConfigOptions> read() {
    if (text_.size() > kMostConfigBytes) {
      return Diagnostics{
          diagnostic_of("", "has more than " + count_text(kMostConfigBytes) + " bytes")};
    }
    if (const std::size_t at = find_long_key(text_); at != text_.npos) {
      return Diagnostics{diagnostic_at(
          "", text_, at, "a key has more than " + std::to_string(kMostKeyParts) + " parts")};
    }
    find_lines();
    try {
      read_tables(toml::parse(text_));
    } catch (const toml::parse_error& error) {
      return Diagnostics{
          diagnostic_at("", text_, offset_of(error.source().begin), words_of(error))};
    }
    sort_by_place();
    if (!faults_.empty()) return std::move(faults_);
    return std::move(config_);
  }

 private:
  void find_lines() {
    lines_.push_back(0);
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == '\n') lines_.push_back(i + 1);
    }
  }

  // The parser counts characters.
  std::uint64_t offset_of(const toml::source_position& place) const {
    std::size_t at =
        place.line == 0 ? 0 : lines_[std::min<std::size_t>(place.line, lines_.size()) - 1];
    for (toml::source_index column = 1; column < place.column && at < text_.size(); ++column) {
      do {
        ++at;
      } while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xC0U) == 0x80U);
    }
    return at;
  }

  void read_tables(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string name(key.str());
      if (name == "model" && node.is_array_of_tables()) {
        for (const toml::node& item : *node.as_array()) read_model(*item.as_table());
        continue;
      }
      const toml::table* const table = node.as_table();
      if (table == nullptr) {
        read_option("", key, node);
        continue;
      }
      add({name, ""}, name, offset_of(key.source().begin));
      for (const auto& [option, value] : *table) read_option(name, option, value);
    }
  }

  void read_model(const toml::table& table) {
    ModelOptions model;
    for (const auto& [key, node] : table) {
      const std::string option = "--" + with_dashes(key.str());
      const std::uint64_t place = offset_of(key.source().begin);
      const auto* const text = node.as_string();
      if (option == "--path" && text != nullptr && !text->get().empty()) {
        model.path = text->get();
      } else if (option == "--path") {
        add_fault(place, "\"path\" must be the path of a model, or a glob");
      } else if (option == "--dim" || option == "--input-shape" || option == "--set-input") {
        read_bindings(model.bindings, option, node, place);
      } else {
        add_fault(place, escaped_in_quotes(std::string(key.str())) +
                             " is none of path, dim, input-shape and set-input");
      }
    }
    if (!table.contains("path")) {
      add_fault(offset_of(table.source().begin), "a [[model]] without \"path\"");
    }
    config_.models.push_back(std::move(model));
  }

  void read_bindings(ShapeBindings& bindings, const std::string& option, const toml::node& node,
                     std::uint64_t place) {
    SplitRequest request;
    const auto add = [&](const toml::node& value) {
      const auto text = text_of_value(value);
      const auto added = text ? set_in_request(request, *find_option(option, of::inspect), *text)
                              : Status<>(Error{"must be text, or a list of texts"});
      if (!added) add_fault(place, option.substr(2) + ": " + added.error().message);
    };
    std::swap(request.model.bindings, bindings);
    if (const toml::array* const list = node.as_array()) {
      for (const toml::node& value : *list) add(value);
    } else {
      add(node);
    }
    std::swap(request.model.bindings, bindings);
  }

  void read_option(const std::string& table, const toml::key& key, const toml::node& node) {
    ConfigItem item{table, with_dashes(key.str())};
    const std::uint64_t place = offset_of(key.source().begin);
    const std::string name = table.empty() ? item.name : table + "." + item.name;
    if (item.name == "++" || item.name == "--") {  // they have a meaning for CLI11
      return add_fault(place, escaped_in_quotes(name) + " is not an option");
    }
    const toml::array* const list = node.as_array();
    const auto is_read = [&](const toml::node& value) {
      auto text = text_of_value(value);
      if (text) item.texts.push_back(*std::move(text));
      return text.has_value();
    };
    const bool is_all_read =
        list == nullptr ? is_read(node) : std::all_of(list->begin(), list->end(), is_read);
    if (!is_all_read) {
      add_fault(place, escaped_in_quotes(name) +
                           " must be text, a number, true or false, or a list of these");
    } else if (item.texts.empty()) {
      add_fault(place, escaped_in_quotes(name) + " is an empty list: leave it out");
    } else {
      add(std::move(item), name, place);
    }
  }

  static std::optional<std::string> text_of_value(const toml::node& node) {
    if (const auto* const text = node.as_string()) return text->get();
    if (const auto* const number = node.as_integer()) return std::to_string(number->get());
    if (const auto* const number = node.as_floating_point()) return shortest_text(number->get());
    if (const auto* const flag = node.as_boolean()) return flag->get() ? "true" : "false";
    return std::nullopt;
  }

  void add_fault(std::uint64_t place, std::string message) {
    constexpr std::size_t kMostFaults = 20;
    if (faults_.size() < kMostFaults) {
      faults_.push_back(diagnostic_at("", text_, place, std::move(message)));
    }
  }

  void add(ConfigItem item, const std::string& key, std::uint64_t place) {
    config_.items.push_back(std::move(item));
    order_.emplace_back(place, order_.size());
    config_.places.emplace(key, place);
  }

  // The parser keeps keys in the order of the alphabet.
  void sort_by_place() {
    std::ranges::sort(faults_, [](const Diagnostic& a, const Diagnostic& b) {
      return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
    std::ranges::sort(order_);
    std::vector<ConfigItem> sorted;
    for (const auto& [place, i] : order_) sorted.push_back(std::move(config_.items[i]));
    config_.items = std::move(sorted);
  }

  std::string_view text_;
  std::vector<std::size_t> lines_;  // where each begins
  ConfigOptions config_;
  std::vector<std::pair<std::uint64_t, std::size_t>> order_;  // of the items, by place
  Diagnostics faults_;
};

}  // namespace

Loaded<ConfigOptions> parse_config(std::string_view text) { return ConfigReader(text).read(); }

}  // namespace cleave
