// The frame of all pages for a browser: one file without network, one policy, one look. What a page shows is
// data for its script, which makes elements of it: text from a model is never markup.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

struct HtmlParts {
  std::string title;
  std::string text;             // the report; its first paragraph is the page's conclusion
  std::string conclusion = {};  // one more line of it
  std::string_view main;        // markup that the script fills; from the program
  std::string data;             // JSON
  std::string_view script;      // what follows the script that all pages share
};

std::string html_page(const HtmlParts& parts);

// The text with what HTML gives a meaning escaped.
std::string html_text(std::string_view text);

// The files of the folder `page`, which the build compiles into the program.
extern const std::string_view kHtmlPage;       // page.html, with fields {{title}}, {{data}}, ...
extern const std::string_view kHtmlStyle;      // page.css
extern const std::string_view kHtmlScript;     // page.js
extern const std::string_view kSplitMain;      // split.html
extern const std::string_view kSplitScript;    // split.js
extern const std::string_view kContentScript;  // content.js

}  // namespace cleave
