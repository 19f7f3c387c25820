#include "formats/report/drawings/html_report.h"

#include <utility>
#include <vector>

#include "core/study/views.h"
#include "formats/report/drawings/dot.h"
#include "formats/report/drawings/dot_view.h"
#include "formats/report/drawings/html_assets.h"
#include "formats/report/drawings/html_data.h"
#include "formats/report/words/report_words.h"
#include "formats/text/diagnostic.h"

namespace cleave {
namespace {

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

// JSON inside a script element: '<' stands inside strings only, where it may be an escape, so that
// nothing in it ends the element.
std::string script_text(const std::string& json) {
  std::string safe;
  safe.reserve(json.size() + json.size() / 16);
  for (const char c : json) c == '<' ? safe += "\\u003c" : safe += c;
  return safe;
}

// The first paragraph, each sentence on a line of its own however long.
std::string conclusion_of(const std::string& text) {
  std::string conclusion = text.substr(0, text.find("\n\n"));
  for (std::size_t at = 0; (at = conclusion.find("\n  ", at)) != std::string::npos;) {
    conclusion.replace(at, 3, 1, ' ');
  }
  return conclusion;
}

// The drawing alone, without the lines that make it a document.
std::string svg_element(const std::string& document) {
  const std::size_t begin = document.find("<svg");
  return begin == std::string::npos ? document : document.substr(begin);
}

Loaded<std::vector<std::string>> lay_out(const Report& report, const Views& views,
                                         const Progress& progress) {
  std::vector<std::string> svgs(views.views.size());
  ViewDrawings drawings(report, views);
  for (std::size_t i = 0; i < svgs.size(); ++i) {
    tell(progress, {"laying out", "drawings", i, svgs.size()});
    if (views.views[i].boxes.empty() && i > 0) continue;
    auto laid_out = layout_svg(drawings.draw(id_at<ViewId>(i)));
    if (!laid_out) return std::move(laid_out).error();
    svgs[i] = svg_element(*laid_out);
  }
  return svgs;
}

// The page with each `{{name}}` filled in.
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

Loaded<std::string> html_report(const Report& report, const Progress& progress) {
  const Views views = make_views(report.model.graph, report.split.partition, {});
  const auto svgs = lay_out(report, views, progress);
  if (!svgs) return svgs.error();
  const std::string text = report_text(report);
  return fill(kHtmlPage, {{"title", html_text(model_name(report.model))},
                          {"style", std::string(kHtmlStyle)},
                          {"conclusion", html_text(conclusion_of(text))},
                          {"text", html_text(text)},
                          {"data", script_text(html_data(report, views, *svgs))},
                          {"script", std::string(kHtmlScript)}});
}

}  // namespace cleave
