// Pages in one file, and files for viewers of others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/measures/measures.h"
#include "formats/base/text.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/words/report.h"

namespace cleave {

// ---- content page ----
//
// Pages of other reports than of one split: a comparison, a check of many models, stages, advice. A page has
// strips and drawings side by side, then tables to search, sort and save.

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
  std::string amounts = {};  // "18 of 24"
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

// ---- html page ----
//
// The frame of all pages for a browser: one file without network, one policy, one look. What a page shows is
// data for its script, which makes elements of it: text from a model is never markup.

struct HtmlParts {
  std::string title;
  std::string text;             // the report; its first paragraph is the page's conclusion
  std::string conclusion = {};  // one more line of it
  std::string_view main;        // markup that the script fills; from the program
  std::string data;             // JSON
  std::string_view script;      // what follows the script that all pages share
};

// The files of the folder `page`, which the build compiles into the program.
extern const std::string_view kHtmlPage;       // page.html, with fields {{title}}, {{data}}, ...
extern const std::string_view kHtmlStyle;      // page.css
extern const std::string_view kHtmlScript;     // page.js
extern const std::string_view kSplitMain;      // split.html
extern const std::string_view kSplitScript;    // split.js
extern const std::string_view kContentScript;  // content.js

// ---- html report ----
//
// The report as one page for a browser: the text report, the partitions in call order, the graph to
// explore, and tables to sort. It needs no network and no other files.

struct HtmlPage {
  std::string text;                // an HTML document
  std::vector<std::string> notes;  // drawings that Graphviz could not lay out, and why
  std::string left_out = {};       // what a page of a large model does not have, which is no fault
};

// A large model is drawn as a tree of views (core/measures/measures.h), laid out by Graphviz; the page
// says what is not drawn. If Graphviz fails on the whole model, its nodes are grouped by partition;
// if it fails again, that drawing is left out. Text from the model is data of the page, never
// markup. Takes as long as Graphviz, within the limits: about 20 ms per view. Of more than 10,000 nodes only the
// view of the whole is drawn, and the page says so.
HtmlPage html_report(const Report& report, const LayoutLimits& limits = {},
                     const Progress& progress = {});

// The same as data for a page that shows more than one split: JSON as html_data() writes it.
HtmlPage split_data(const Report& report, const LayoutLimits& limits, const Progress& progress);

// The data of the page as JSON for its script: every text ready for display, next to each number that a
// table sorts by.
//
// {"coverage": [{"what", "ratio", "text"}...],
//  "parts":    [{"name", "acc", "nodes", "in", "out", "parameters", "flops", "qps",
//                "bottleneck", "hazards"}...],
//  "ops":      [{"op", "nodes", "acc", "cpu"}...],
//  "reasons":  [{"code", "count"}...]        most frequent first
//  "causes":   [{"text", "code", "nodes": [index...], "count"}...]
//  "nodes":    [[name, op, part, view, reason, type, scope, because]...]
//  "node_ids": [id...]                       of the same nodes, as the drawings number them
//  "beside":   [[id...]...]                  what each of them reads; only of a model in groups
//  "views":    [{"title", "parent", "nodes", "svg"}...]
//  "notes":    [text...]}
//
// Numbers with a unit are pairs [number or null, text]. A node's reason is [code, text], or null on
// the accelerator. Nodes are all; of more than 10,000 at most 5,000, first those in a drawing and on the CPU,
// in model order; `svgs` are the drawings of the views, empty for a view that is not opened.
std::string html_data(const Report& report, const Views& views,
                      const std::vector<std::string>& svgs);

// ---- viewers ----
//
// Files for other programs that show models: an attachment for Netron, and node data for Google's
// Model Explorer.

// An attachment for Netron: open the model there, then this file. For a node, the side panel then shows its
// partition and the reason. For a value: the cost of crossing. JSON with signature `netron:attachment`. Netron finds nodes and values by name: it does not find
// those without a name or with a repeated one. Linear.
std::string netron_attachment(const Report& report);

struct NamedText {
  std::string name;  // of the file
  std::string text;
};

// Node data: open the model in Model Explorer, then these files, one per measure: `partition.json`,
// `reason.json`, `flops.json`. Nodes are found by their output tensors, as Model Explorer's own readers
// of models call them. Linear.
std::vector<NamedText> model_explorer_files(const Report& report);
// Their names, in this order.
std::vector<std::string> model_explorer_file_names();

}  // namespace cleave
