// Text for the log of a CI that takes orders from it. GitHub's runner reads what a step prints: a line
// that begins with "::", after blanks, is a command to it (workflow commands, `::error ...::`), and so
// is what follows "##[" anywhere in a line. A node may be called so, and a model may come from
// anywhere.
//
// Source: the runner's ActionCommand.cs, TryParseV2 and TryParse.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The text with those characters as \xNN that would make commands of names; in a JSON document, which
// begins with '{' and ends with '}', as \u00NN, so that it reads back as the same. Linear.
std::string without_ci_commands(std::string_view text);

}  // namespace cleave
