// Options that take one of a few words.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/refuse_option.h"
#include "core/base/quotes.h"

namespace cleave {

// Declares `name` as an option that takes one of `words`, whatever its case; `take` gets the word's
// index. The refusal of another word lists the valid ones.
inline CLI::Option* add_words(CLI::App& app, const std::string& name,
                              const std::vector<std::string>& words,
                              const std::function<void(std::size_t)>& take,
                              const std::string& help) {
  const std::string list = CLI::detail::join(words, ",");
  const auto set = [words, list, name, take](const std::string& text) {
    const auto found = std::find(words.begin(), words.end(), CLI::detail::to_lower(text));
    if (found == words.end()) refuse_option(name, in_quotes(text) + " is not one of " + list);
    take(static_cast<std::size_t>(found - words.begin()));
  };
  return app.add_option_function<std::string>(name, set, help)->type_name("{" + list + "}");
}

// Declares `name` as an option that sets `variable` to the value of the word given.
// `variable` must hold one of the values: it is the default that help shows. The refusal of another
// word lists the valid ones.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Value& variable,
                        std::vector<std::pair<std::string, Value>> choices,
                        const std::string& help) {
  std::vector<std::string> words;
  std::string by_default;
  for (const auto& choice : choices) {
    words.push_back(choice.first);
    if (choice.second == variable) by_default = choice.first;
  }
  const auto take = [&variable, choices](std::size_t at) { variable = choices[at].second; };
  return add_words(app, name, words, take, help)->default_str(by_default);
}

}  // namespace cleave
