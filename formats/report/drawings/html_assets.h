// The files of formats/page, which the build puts into the program.
#pragma once

#include <string_view>

namespace cleave {

extern const std::string_view kHtmlPage;    // page.html, with fields {{title}}, {{data}}, ...
extern const std::string_view kHtmlStyle;   // page.css
extern const std::string_view kHtmlScript;  // page.js

}  // namespace cleave
