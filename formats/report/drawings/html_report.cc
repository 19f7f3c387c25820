#include "formats/report/drawings/html_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/study/views.h"
#include "formats/base/text/capped_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/gzip_text.h"
#include "formats/base/text/number_text.h"
#include "formats/report/drawings/dot_view.h"
#include "formats/report/drawings/html_assets.h"
#include "formats/report/drawings/html_data.h"
#include "formats/report/words/input_names.h"

namespace cleave {
namespace {

constexpr std::size_t kFewBoxes = 24;  // in a view, after Graphviz failed on a larger one

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

// The SVG element without the lines that make it a document.
std::string svg_element(const std::string& document) {
  const std::size_t begin = document.find("<svg");
  return begin == std::string::npos ? document : document.substr(begin);
}

// An image in place of a missing drawing.
std::string placeholder(const std::string& why) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"480pt\" height=\"40pt\" "
         "viewBox=\"0 0 480 40\"><g class=\"graph\"><text x=\"10\" y=\"24\" "
         "font-family=\"sans-serif\" font-size=\"12\">no drawing: " +
         html_text(why) + "</text></g></svg>";
}

struct Drawings {
  Views views;
  std::vector<std::string> svgs;  // by view
  std::vector<std::string> notes;
};

std::string view_name(const Views& views, std::size_t view) {
  return view == 0 ? "the whole model" : escaped_in_quotes(views.views[view].title);
}

LaidOutAll lay_out_views(const Report& report, const Views& views, bool needs_first,
                         const LayoutLimits& limits, const Progress& progress) {
  ViewDrawings drawings(report, views);
  const auto draw = [&](std::size_t i) {
    const bool is_closed = views.views[i].boxes.empty() && i > 0;
    return is_closed ? std::string() : drawings.draw(id_at<ViewId>(i));
  };
  const LayoutJob job{.count = views.views.size(), .make = draw, .needs_first = needs_first};
  return lay_out_all(job, limits, progress);
}

// One line for all drawings that are missing for one reason; at most three are named.
std::string missing_note(const std::vector<std::string>& names, const std::string& why) {
  const auto same = [](const std::string& name) { return name; };
  return "the page has no drawing of " + capped_list(names, 3, same) + ": " + why;
}

void take_svgs(const std::vector<LaidOut>& laid_out, Drawings& out) {
  std::vector<std::pair<std::string, std::vector<std::string>>> missing;  // by reason
  for (std::size_t i = 0; i < laid_out.size(); ++i) {
    if (laid_out[i]) {
      out.svgs.push_back(svg_element(*laid_out[i]));
      continue;
    }
    const std::string& why = laid_out[i].error().why;
    out.svgs.push_back(placeholder(why));
    if (missing.empty() || missing.back().first != why) missing.push_back({why, {}});
    missing.back().second.push_back(view_name(out.views, i));
  }
  for (const auto& [why, names] : missing) out.notes.push_back(missing_note(names, why));
}

// A whole model that cannot be laid out node by node is drawn in groups, in the time left.
Drawings draw_views(const Report& report, const LayoutLimits& limits, const Progress& progress) {
  Drawings out{
      .views = make_views(report.model.graph, report.split.partition, {}), .svgs = {}, .notes = {}};
  LaidOutAll laid_out = lay_out_views(report, out.views, true, limits, progress);
  if (const LaidOut& whole = laid_out.drawings[0]; !whole) {
    out.notes.push_back("the page shows the nodes of the whole model in groups: " +
                        whole.error().why);
    out.views = make_views(report.model.graph, report.split.partition, {.most_boxes = kFewBoxes});
    LayoutLimits left = limits;
    left.spent = laid_out.spent;
    laid_out = lay_out_views(report, out.views, false, left, progress);
  }
  take_svgs(laid_out.drawings, out);
  return out;
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

HtmlPage html_report(const Report& report, const LayoutLimits& limits, const Progress& progress) {
  Drawings drawings = draw_views(report, limits, progress);
  Report with_notes = report;
  with_notes.notes.insert(with_notes.notes.end(), drawings.notes.begin(), drawings.notes.end());
  const std::string text = report_text(with_notes);
  PageData data = page_data(html_data(with_notes, drawings.views, drawings.svgs));
  return {.text = fill(kHtmlPage, {{"title", html_text(model_name(report.model))},
                                   {"style", std::string(kHtmlStyle)},
                                   {"conclusion", html_text(conclusion_of(text))},
                                   {"text", html_text(text)},
                                   {"data-type", std::move(data.type)},
                                   {"data", std::move(data.text)},
                                   {"script", std::string(kHtmlScript)}}),
          .notes = std::move(drawings.notes)};
}

}  // namespace cleave
