#include "formats/report/drawings/content_page.h"

#include <cctype>
#include <cstddef>
#include <utility>

#include "core/base/number_text.h"
#include "formats/base/json/text.h"
#include "formats/report/drawings/html_page.h"

namespace cleave {
namespace {

using Layout = JsonText::Layout;

class ContentWriter {
 public:
  explicit ContentWriter(const ContentPage& page) : page_(page) {}

  std::string write() && {
    json_.begin_object();
    write_shares();
    write_strip();
    write_drawings();
    write_tables();
    json_.begin_list("notes");
    for (const std::string& note : page_.notes) json_.text(note);
    json_.end_list();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void write_shares() {
    json_.begin_list("coverage");
    for (const PageShare& share : page_.shares) {
      json_.begin_object(Layout::one_line);
      json_.text("what", share.what);
      json_.number("ratio", share.ratio);
      json_.text("text", percent_text(share.ratio));
      json_.end_object();
    }
    json_.end_list();
  }

  void write_strip() {
    json_.begin_list("strip");
    for (const PageStripPart& part : page_.strip) {
      json_.begin_object(Layout::one_line);
      json_.text("name", part.name);
      json_.text("more", part.more);
      json_.number("amount", part.amount);
      json_.text("kind", part.is_marked ? "kept" : "mixed");
      json_.end_object();
    }
    json_.end_list();
  }

  void write_drawings() {
    json_.begin_list("drawings");
    for (const PageDrawing& drawing : page_.drawings) {
      json_.begin_object();
      json_.text("title", drawing.title);
      json_.text("legend", drawing.legend);
      if (drawing.split.empty()) {
        json_.text("svg", drawing.svg);
      } else {
        json_.key("split");
        json_.document(drawing.split);
      }
      json_.end_object();
    }
    json_.end_list();
  }

  void write_tables() {
    json_.begin_list("tables");
    for (const PageTable& table : page_.tables) {
      json_.begin_object();
      json_.text("title", table.title);
      json_.text("legend", table.legend);
      json_.number("not_counted", table.not_counted);
      json_.begin_list("columns", Layout::one_line);
      for (const std::string& heading : table.headings) json_.text(heading);
      json_.end_list();
      json_.begin_list("numbers", Layout::one_line);
      for (const Align align : table.aligns) json_.flag(align == Align::right);
      json_.end_list();
      json_.begin_list("rows");
      for (const PageRow& row : table.rows) write_row(row);
      json_.end_list();
      json_.end_object();
    }
    json_.end_list();
  }

  void write_row(const PageRow& row) {
    json_.begin_object(Layout::one_line);
    json_.begin_list("cells");
    for (const std::string& cell : row.cells) json_.text(cell);
    json_.end_list();
    if (!row.note.empty()) json_.text("note", row.note);
    if (!row.node.empty()) json_.text("node", row.node);
    if (row.fails) json_.flag("fails", true);
    json_.end_object();
  }

  const ContentPage& page_;
  JsonText json_;
};

// Without the spaces that set a row in.
std::string trimmed(const std::string& cell) {
  const std::size_t begin = cell.find_first_not_of(' ');
  return begin == std::string::npos ? "" : cell.substr(begin);
}

}  // namespace

std::string content_page(const ContentPage& page) {
  return html_page({.title = page.title,
                    .text = page.text,
                    .conclusion = page.conclusion,
                    .main = R"(<div id="content"></div>)",
                    .data = ContentWriter(page).write(),
                    .script = kContentScript});
}

KeptTable::KeptTable(const std::vector<std::string>& headings, const std::vector<Align>& aligns)
    : text_(headings, aligns), page_{.title = headings[0], .headings = headings, .aligns = aligns} {
  std::string& title = page_.title;
  if (title.empty()) return;
  title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
}

void KeptTable::add_row(const std::vector<std::string>& cells, std::string note) {
  text_.add_row(cells);
  PageRow row{.cells = cells, .note = std::move(note)};
  row.cells[0] = trimmed(row.cells[0]);
  page_.rows.push_back(std::move(row));
}

std::string svg_element(const std::string& document) {
  const std::size_t begin = document.find("<svg");
  return begin == std::string::npos ? document : document.substr(begin);
}

}  // namespace cleave
