// Escapes text for XML, Markdown, URIs and commands of GitHub's runners. Names come from models and
// compilers, and must not act as markup or commands.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// Text for an XML attribute or element. A character that XML does not allow becomes \xNN: see
// escaped().
std::string xml_text(std::string_view text);
// The same for a text of several lines.
std::string xml_lines(std::string_view text);
// ` name="value"`
std::string xml_attribute(std::string_view name, std::string_view value);

// Text without Markdown: characters that could be markup become entities, which Markdown shows as
// plain characters.
std::string markdown_text(std::string_view text);
// A name in the font of code, cut to 80 columns: between backticks, or in <code> when it contains
// characters that would end these.
std::string markdown_code(std::string_view name);

// A path as a URI: every byte that is not a letter, a digit or one of -._~/ becomes %NN. An
// absolute path gets "file://" in front.
std::string uri_text(std::string_view path);

// Text for a command of GitHub's runners, with the characters in `special` as %NN.
std::string github_text(std::string_view text, std::string_view special);

}  // namespace cleave
