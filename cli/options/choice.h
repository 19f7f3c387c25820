// Options that take one of a few words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cleave {

// Declares `name` as an option that sets `variable` to the value of the word given, whatever its
// case. `variable` must hold one of the values: it is the default that help shows. Another word is
// refused with those there are.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Value& variable,
                        std::vector<std::pair<std::string, Value>> choices,
                        const std::string& help) {
  std::string words, by_default;
  for (const auto& choice : choices) {
    words += (words.empty() ? "" : ",") + choice.first;
    if (choice.second == variable) by_default = choice.first;
  }
  const auto set = [&variable, choices, words, name](const std::string& text) {
    for (const auto& choice : choices) {
      if (CLI::detail::to_lower(text) != choice.first) continue;
      variable = choice.second;
      return;
    }
    throw CLI::ValidationError(name, "\"" + text + "\" is none of " + words);
  };
  return app.add_option_function<std::string>(name, set, help)
      ->type_name("{" + words + "}")
      ->default_str(by_default);
}

}  // namespace cleave
