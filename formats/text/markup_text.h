// Text within the markup of others: XML, Markdown, URIs, commands of GitHub's runners. Names come from
// models and compilers, and give no orders in any of them.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// Text of an XML attribute or element. What XML has no character for becomes \xNN, as by escaped().
std::string xml_text(std::string_view text);
// The lines of a text, each so.
std::string xml_lines(std::string_view text);
// ` name="value"`
std::string xml_attribute(std::string_view name, std::string_view value);

// Text in which nothing is Markdown: characters that could be are entities, which end as text only.
std::string markdown_text(std::string_view text);
// A name in the type of code, at most 80 columns of it: between backticks, or as HTML where it holds
// what ends these.
std::string markdown_code(std::string_view name);

// A path as the reference of a URI: what is no letter, digit or one of -._~/ is %NN.
std::string uri_text(std::string_view path);

// Text of a command of GitHub's runners, with characters of `special` as %NN.
std::string github_text(std::string_view text, std::string_view special);

}  // namespace cleave
