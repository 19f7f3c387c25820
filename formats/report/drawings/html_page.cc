#include "formats/report/drawings/html_page.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "formats/base/text/gzip_text.h"

namespace cleave {

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

namespace {

// The type of a script element, and the text in it.
struct PageData {
  std::string type;
  std::string text;
};

// JSON inside a script element: '<' occurs only inside strings, where it can be escaped, so that
// nothing in it ends the element.
std::string script_text(const std::string& json) {
  std::string safe;
  safe.reserve(json.size() + json.size() / 16);
  for (const char c : json) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

// Compressed when it is long: a page of 4,000 nodes would have 10 MB.
PageData page_data(const std::string& json) {
  constexpr std::size_t kLong = 1U << 20U;
  if (json.size() < kLong) return {"application/json", script_text(json)};
  return {"application/gzip", gzip_base64(json)};
}

// The first paragraph, each sentence on its own line, however long.
std::string conclusion_of(const std::string& text) {
  std::string conclusion = text.substr(0, text.find("\n\n"));
  for (std::size_t at = 0; (at = conclusion.find("\n  ", at)) != std::string::npos;) {
    conclusion.replace(at, 3, 1, ' ');
  }
  return conclusion;
}

// The page with each `{{name}}` replaced.
std::string fill(std::string_view page,
                 const std::vector<std::pair<std::string_view, std::string>>& fields) {
  std::string text;
  while (true) {
    const std::size_t open = page.find("{{");
    text += page.substr(0, open);
    if (open == std::string_view::npos) return text;
    const std::size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    for (const auto& [field, value] : fields) {
      if (field == name) text += value;
    }
    page.remove_prefix(close + 2);
  }
}

}  // namespace

std::string html_page(const HtmlParts& parts) {
  PageData data = page_data(parts.data);
  const std::string script = std::string(kHtmlScript) + std::string(parts.script);
  return fill(kHtmlPage,
              {{"title", html_text(parts.title)},
               {"style", std::string(kHtmlStyle)},
               {"conclusion", html_text(conclusion_of(parts.text) +
                                        (parts.conclusion.empty() ? "" : "\n") + parts.conclusion)},
               {"main", std::string(parts.main)},
               {"text", html_text(parts.text)},
               {"data-type", std::move(data.type)},
               {"data", std::move(data.text)},
               {"script", script}});
}

}  // namespace cleave
