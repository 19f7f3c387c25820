// The files of the folder `page`, which the build compiles into the program.
#pragma once

#include <string_view>

namespace cleave {

extern const std::string_view kHtmlPage;    // page.html, with fields {{title}}, {{data}}, ...
extern const std::string_view kHtmlStyle;   // page.css
extern const std::string_view kHtmlScript;  // page.js

}  // namespace cleave
