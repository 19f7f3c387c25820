// Pages of other reports than of one split: a comparison, a check of many models, stages, advice. A page has
// strips and drawings side by side, then tables to search, sort and save.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/base/text/text_layout.h"

namespace cleave {

struct PageRow {
  std::vector<std::string> cells;
  std::string note = {};  // below the first cell
  std::string node = {};  // that the first cell goes to in the drawings, by name
  bool fails = false;
};

struct PageTable {
  std::string title;
  std::vector<std::string> headings;
  std::vector<Align> aligns;  // cells on the right are amounts: they sort by the number
  std::vector<PageRow> rows = {};
  std::string legend = {};      // what signs in the table mean
  std::size_t not_counted = 0;  // rows that the title does not count, such as that of today
};

struct PageShare {
  std::string what;  // "of 1,204 nodes with npu.json are on the accelerator"
  double ratio = 0;
};

// A part of a strip, as wide as its amount.
struct PageStripPart {
  std::string name;
  std::string more;  // what is said of it
  double amount = 0;
  bool is_marked = false;
};

struct PageDrawing {
  std::string title;
  std::string split = {};   // of a split: JSON of html_data(); a strip of its parts is drawn, too
  std::string svg = {};     // else a picture
  std::string legend = {};  // what its colours mean
};

struct ContentPage {
  std::string title;
  std::string text;             // the report; its first paragraph is the page's conclusion
  std::string conclusion = {};  // what the page adds to it, a line
  std::vector<PageShare> shares = {};
  std::vector<PageStripPart> strip = {};
  std::vector<PageDrawing> drawings = {};
  std::vector<PageTable> tables = {};
  std::vector<std::string> notes = {};
};

// The whole page. Names of models, nodes and lists are data in it, never markup.
std::string content_page(const ContentPage& page);

// A table of a text report that a page has, too: its title there is the first heading.
class KeptTable {
 public:
  KeptTable(const std::vector<std::string>& headings, const std::vector<Align>& aligns);
  // The note is for the page.
  void add_row(const std::vector<std::string>& cells, std::string note = {});

  TextTable& text() { return text_; }
  const PageTable& page() const { return page_; }
  PageTable& page() { return page_; }

 private:
  TextTable text_;
  PageTable page_;
};

// The SVG element of a document, without the lines that make it one.
std::string svg_element(const std::string& document);

}  // namespace cleave
