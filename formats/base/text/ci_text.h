// Text for the log of a CI that reads commands from it. GitHub's runner treats a line that begins
// with "::" (after blanks) as a command (workflow commands, `::error ...::`), and also whatever
// follows "##[" anywhere in a line. A node may have such a name, and a model may come from
// anywhere.
//
// Source: the runner's ActionCommand.cs, TryParseV2 and TryParse.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The text with the characters that would make commands of names escaped as \xNN; in a JSON
// document, which begins with '{' and ends with '}', as \u00NN, so that it reads back the same.
// Linear.
std::string without_ci_commands(std::string_view text);

}  // namespace cleave
