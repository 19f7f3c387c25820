// The page on parts or stages for a browser.
#include <utility>

#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/report/drawings/content_page.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

constexpr std::size_t kMostNodes = 50'000;

// As wide as the load, or else the work; the slowest is marked, as in the drawing.
std::vector<PageStripPart> strip_of(const StagesReport& report) {
  std::vector<PageStripPart> strip;
  double most = 0;
  for (const PartId part : report.partition.parts()) {
    const PartNumbers& numbers = report.numbers.parts[part];
    const double amount = report.balance ? report.balance->loads[index(part)].load : numbers.flops;
    const std::string text =
        report.balance ? amount_text(*report.balance, amount) : work_text(numbers);
    strip.push_back({.name = escaped(report.partition.name(part)),
                     .more = counted(report.partition.nodes(part).size(), "node") + ", " + text,
                     .amount = amount});
    if (amount > most) {
      for (PageStripPart& other : strip) other.is_marked = false;
      strip.back().is_marked = true;
      most = amount;
    }
  }
  return strip;
}

PageTable nodes_of(const StagesReport& report) {
  PageTable table{.title = "Nodes",
                  .headings = {"node", "op type", std::string(report.part_word)},
                  .aligns = std::vector<Align>(3, Align::left)};
  for (const NodeId node : report.graph.nodes()) {
    if (table.rows.size() == kMostNodes) break;
    const PartId part = report.partition.part_of[node];
    if (part == kNone<PartId>) continue;  // it marks where a stage begins
    table.rows.push_back(
        {.cells = {escaped(report.graph.node(node).name), escaped(report.graph.op(node)),
                   escaped(report.partition.name(part))}});
  }
  return table;
}

}  // namespace

void add_stages_drawing(ContentPage& page, const std::string& dot, const std::string& what,
                        const LayoutLimits& limits) {
  const LaidOut drawn = lay_out(dot, limits);
  if (drawn) {
    page.drawings.push_back(
        {.title = "What flows between " + what,
         .svg = svg_element(*drawn),
         .legend = "a box is as high as its load; yellow: the one that takes longest"});
  } else {
    page.notes.push_back("the page has no drawing: " + drawn.error().message);
  }
}

HtmlPage stages_page(const StagesReport& report, const LayoutLimits& limits) {
  ContentPage page{
      .title = model_name(report.model), .text = stages_text(report), .strip = strip_of(report)};
  if (report.partition.count() > 0) {
    add_stages_drawing(page, stages_dot(report), std::string(report.part_word) + "s", limits);
  }
  if (report.schedule) page.drawings.push_back(schedule_drawing(*report.schedule));
  page.tables = stages_tables(report);
  if (report.schedule) {
    page.conclusion = best_schedule_line(*report.schedule);
    page.tables.push_back(schedule_table(*report.schedule).page());
    page.tables.back().legend = "* is written and drawn; " + page.conclusion;
  }
  page.tables.push_back(nodes_of(report));
  std::vector<std::string> notes = page.notes;
  return {.text = content_page(page), .notes = std::move(notes)};
}

}  // namespace cleave
