// Makes pages in one file, and files for viewers of others.
#include "formats/report/drawings/pages.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/measures/measures.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- html page ----

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
  // Below a megabyte the data stay text that a person can read in the file.
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

}  // namespace

// ---- content page ----

namespace {

using Layout = JsonText::Layout;

const Fields<PageShare> kShareFields = {
    kOneLine,
    {{"what", the<&PageShare::what>},
     {"ratio", the<&PageShare::ratio>},
     {"text", [](auto& share) {
        return percent_text(share.ratio) + (share.amounts.empty() ? "" : ": ") + share.amounts;
      }}}};

const Fields<PageStripPart> kStripFields = {
    kOneLine,
    {{"name", the<&PageStripPart::name>},
     {"more", the<&PageStripPart::more>},
     {"amount", the<&PageStripPart::amount>},
     {"kind", [](auto& part) { return part.is_marked ? "kept" : "mixed"; }}}};

const Fields<PageDrawing> kDrawingFields = {
    kLines,
    {{"title", the<&PageDrawing::title>},
     {"legend", the<&PageDrawing::legend>},
     {"svg", [](auto& one) { return when(one.split.empty(), one.svg); }, kLeftOut},
     {"split", [](auto& one) { return JsonValue{one.split}; }, kLeftOut}}};

const Fields<PageRow> kRowFields = {kOneLine,
                                    {{"cells", the<&PageRow::cells>},
                                     {"note", the<&PageRow::note>, kLeftOut},
                                     {"node", the<&PageRow::node>, kLeftOut},
                                     {"fails", the<&PageRow::fails>, kLeftOut}}};

bool is_amount(Align align) { return align == Align::right; }

const Fields<PageTable> kTableFields = {
    kLines,
    {{"title", the<&PageTable::title>},
     {"legend", the<&PageTable::legend>},
     {"not_counted", the<&PageTable::not_counted>},
     {"columns", the<&PageTable::headings>, kOnOneLine},
     {"numbers", [](auto& table) { return each(table.aligns, is_amount); }, kOnOneLine},
     {"rows", the<&PageTable::rows>, kRowFields}}};

const Fields<ContentPage> kContentFields = {
    kLines,
    {{"coverage", the<&ContentPage::shares>, kShareFields},
     {"strip", the<&ContentPage::strip>, kStripFields},
     {"drawings", the<&ContentPage::drawings>, kDrawingFields},
     {"tables", the<&ContentPage::tables>, kTableFields},
     {"notes", the<&ContentPage::notes>}}};

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
                    .data = json_text(kContentFields, page),
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

// ---- html report ----

namespace {

constexpr std::size_t kFewBoxes = 24;  // in a view, after Graphviz failed on a larger one

// Above this many nodes the page draws the model as a whole, in groups, opens none of them, and lists few nodes:
// Graphviz takes some 10 ms for a view, so that hundreds of views take a hundred times as long as all other work, and
// what there is to say of 30,000 nodes takes three times as long.
constexpr std::size_t kMostInDetail = 10'000;
constexpr std::size_t kMostListed = 5'000;  // of the nodes of such a model

struct Detail {
  std::size_t views = ViewOptions{}.most_views;
  std::size_t ranks = DotGraph::kMostRanksSpanned;  // that edges of a view span
};

bool is_in_detail(const Graph& graph) { return graph.node_count() <= kMostInDetail; }

Detail detail_of(const Graph& graph) {
  return is_in_detail(graph) ? Detail{} : Detail{.views = 1, .ranks = 200};
}

// An image in place of a missing drawing.
std::string placeholder(const std::string& why) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"480pt\" height=\"40pt\" viewBox=\"0 0 "
         "480 40\"><g class=\"graph\"><text x=\"10\" y=\"24\" font-family=\"sans-serif\" "
         "font-size=\"12\">no drawing: " +
         html_text(why) + "</text></g></svg>";
}

struct DrawnViews {
  Views views;
  std::vector<std::string> svgs;          // by view
  std::vector<std::string> notes;         // of what could not be drawn
  std::vector<std::string> thinned = {};  // names of views without their longest edges
};

std::string view_name(const Views& views, std::size_t view) {
  return view == 0 ? "the whole model" : escaped_in_quotes(views.views[view].title);
}

LaidOutAll lay_out_views(const Report& report, DrawnViews& out, bool needs_first,
                         const LayoutLimits& limits, const Progress& progress) {
  ViewDrawings drawings(report, out.views, detail_of(report.graph).ranks);
  std::vector<bool> is_thinned(out.views.views.size());
  const auto draw = [&](std::size_t i) {
    const bool is_closed = out.views.views[i].boxes.empty() && i > 0;
    if (is_closed) return std::string();
    std::string text = drawings.draw(id_at<ViewId>(i));
    is_thinned[i] = drawings.has_left_out_edges();
    return text;
  };
  const LayoutJob job{.count = out.views.views.size(), .make = draw, .needs_first = needs_first};
  LaidOutAll laid_out = lay_out_all(job, limits, progress);
  out.thinned.clear();
  for (std::size_t i = 0; i < is_thinned.size(); ++i) {
    if (is_thinned[i]) out.thinned.push_back(view_name(out.views, i));
  }
  return laid_out;
}

// At most three views are named.
std::string names_text(const std::vector<std::string>& names) {
  return capped_list(names, 3, [](const std::string& name) { return name; });
}

void take_svgs(const std::vector<LaidOut>& laid_out, DrawnViews& out) {
  std::vector<std::pair<std::string, std::vector<std::string>>> missing;  // by reason
  for (std::size_t i = 0; i < laid_out.size(); ++i) {
    if (laid_out[i]) {
      out.svgs.push_back(svg_element(*laid_out[i]));
      continue;
    }
    const std::string& why = laid_out[i].error().message;
    out.svgs.push_back(placeholder(why));
    if (missing.empty() || missing.back().first != why) missing.push_back({why, {}});
    missing.back().second.push_back(view_name(out.views, i));
  }
  for (const auto& [why, names] : missing) {
    out.notes.push_back("the page has no drawing of " + names_text(names) + ": " + why);
  }
  if (!out.thinned.empty()) {
    out.notes.push_back("the longest edges are left out of the drawing of " +
                        names_text(out.thinned) + ": with all of them it would not be laid out");
  }
}

// A whole model that cannot be laid out node by node is drawn in groups, in the time left.
DrawnViews draw_views(const Report& report, const LayoutLimits& limits, const Progress& progress) {
  const std::size_t most = detail_of(report.graph).views;
  DrawnViews out{.views = make_views(report.graph, report.split.partition, {.most_views = most}),
                 .svgs = {},
                 .notes = {}};
  LaidOutAll laid_out = lay_out_views(report, out, true, limits, progress);
  if (const LaidOut& whole = laid_out.drawings[0]; !whole) {
    out.notes.push_back("the page shows the nodes of the whole model in groups: " +
                        whole.error().message);
    out.views = make_views(report.graph, report.split.partition,
                           {.most_boxes = kFewBoxes, .most_views = most});
    LayoutLimits left = limits;
    left.spent = laid_out.spent;
    laid_out = lay_out_views(report, out, false, left, progress);
  }
  take_svgs(laid_out.drawings, out);
  return out;
}

// What the page of a large model does not have; "" for others.
std::string left_out_of(const Graph& graph) {
  if (is_in_detail(graph)) return {};
  return "the page draws the model in groups, which do not open, and lists " +
         count_text(kMostListed) + " nodes, those on the CPU first, as it has more than " +
         count_text(kMostInDetail) +
         " nodes: cleave draw --show PARTITION draws one partition, --json has every node";
}

Report with_notes_of(const Report& report, const DrawnViews& drawings) {
  Report out = report;
  if (std::string text = left_out_of(report.graph); !text.empty())
    out.notes.push_back(std::move(text));
  out.notes.insert(out.notes.end(), drawings.notes.begin(), drawings.notes.end());
  return out;
}

}  // namespace

HtmlPage html_report(const Report& report, const LayoutLimits& limits, const Progress& progress) {
  DrawnViews drawings = draw_views(report, limits, progress);
  const Report with_notes = with_notes_of(report, drawings);
  return {.text = html_page({.title = model_name(report.model),
                             .text = report_text(with_notes),
                             .main = kSplitMain,
                             .data = html_data(with_notes, drawings.views, drawings.svgs),
                             .script = kSplitScript}),
          .notes = std::move(drawings.notes)};
}

HtmlPage split_data(const Report& report, const LayoutLimits& limits, const Progress& progress) {
  DrawnViews drawings = draw_views(report, limits, progress);
  return {.text = html_data(with_notes_of(report, drawings), drawings.views, drawings.svgs),
          .notes = std::move(drawings.notes),
          .left_out = left_out_of(report.graph)};
}

namespace {

constexpr std::size_t kMostNamed = 200;  // nodes listed under a cause, or in the bodies of a node
constexpr std::size_t kMostAttributes = 40;

struct OpNumbers {
  std::string_view name = {};
  std::size_t nodes = 0;
  std::size_t acc = 0;
};

struct PartRow {
  PartCells cells;
  const Report& report;
  PartId part;
  bool is_bottleneck;
};
const Fields<PartRow> kPartFields = {
    kOneLine,
    {{"name", the<&PartRow::cells, &PartCells::name>},
     {"acc", [](auto& row) { return row.report.split.partition.is_acc(row.part); }},
     {"on",
      [](auto& row) {
        return row.report.targets.empty() ? std::string() : device_text(row.report, row.part);
      },
      kLeftOut},
     {"target",
      [](auto& row) {
        const TargetId target = row.report.split.partition.target(row.part);
        const bool has_it = !row.report.targets.empty() && target != kNone<TargetId>;
        return when(has_it, index(target));
      },
      kLeftOut},
     {"nodes", the<&PartRow::cells, &PartCells::nodes>},
     {"in", the<&PartRow::cells, &PartCells::in>},
     {"out", the<&PartRow::cells, &PartCells::out>},
     {"parameters", the<&PartRow::cells, &PartCells::parameters>},
     {"flops", the<&PartRow::cells, &PartCells::flops>},
     {"qps", the<&PartRow::cells, &PartCells::qps>},
     {"time", the<&PartRow::cells, &PartCells::time>, kLeftOut},
     {"bottleneck", the<&PartRow::is_bottleneck>},
     {"hazards", [](auto& row) {
        return each(row.report.preview.parts[row.part].hazards,
                    [&](const Hazard& hazard) { return hazard_text(row.report.graph, hazard); });
      }}}};

const Fields<DeviceCells> kDeviceFields = {kOneLine,
                                           {{"name", the<&DeviceCells::name>},
                                            {"target", the<&DeviceCells::target>, kLeftOut},
                                            {"nodes", the<&DeviceCells::nodes>},
                                            {"parts", the<&DeviceCells::parts>},
                                            {"weights", the<&DeviceCells::weights>},
                                            {"peak", the<&DeviceCells::peak>, kLeftOut},
                                            {"compute", the<&DeviceCells::compute>, kLeftOut},
                                            {"link", the<&DeviceCells::link>, kLeftOut},
                                            {"launches", the<&DeviceCells::launches>, kLeftOut},
                                            {"to", the<&DeviceCells::to>}}};

struct TimeShare {
  std::string_view kind, what;
  double us;
  std::optional<std::size_t> target = {};
};
const Fields<TimeShare> kTimeFields = {
    kOneLine,
    {{"kind", the<&TimeShare::kind>},
     {"target", the<&TimeShare::target>, kLeftOut},
     {"what", the<&TimeShare::what>},
     {"us", the<&TimeShare::us>},
     {"text", [](auto& share) { return duration_text(share.us); }}}};

const Fields<OpNumbers> kOpFields = {kOneLine,
                                     {{"op", [](auto& op) { return escaped(op.name); }},
                                      {"nodes", the<&OpNumbers::nodes>},
                                      {"acc", the<&OpNumbers::acc>},
                                      {"cpu", [](auto& op) { return op.nodes - op.acc; }}}};

struct ReasonCount {
  ReasonCode code;
  std::size_t count = 0;
};
const Fields<ReasonCount> kReasonFields = {
    kOneLine,
    {{"code", [](auto& one) { return reason_code_name(one.code); }},
     {"words", [](auto& one) { return reason_code_words(one.code); }},
     {"count", the<&ReasonCount::count>}}};

struct CauseSaid {
  std::string text;
  ReasonCode code;
  std::vector<NodeId> nodes;
};
const Fields<CauseSaid> kCauseFields = {
    kOneLine,
    {{"text", the<&CauseSaid::text>},
     {"code", [](auto& cause) { return reason_code_name(cause.code); }},
     {"count", [](auto& cause) { return cause.nodes.size(); }},
     {"nodes", [](auto& cause) {
        const std::size_t shown = std::min(cause.nodes.size(), kMostNamed);
        return each(std::span(cause.nodes).first(shown), [](NodeId node) { return index(node); });
      }}}};

class DataWriter {
 public:
  DataWriter(const Report& report, const Views& views, const std::vector<std::string>& svgs)
      : report_(report),
        graph_(report.graph),
        partition_(report.split.partition),
        preview_(report.preview),
        views_(views),
        svgs_(svgs),
        reasons_(reason_context(report)),
        has_time_(report.time != nullptr && has_times(*report.time)),
        most_(is_in_detail(graph_) ? kMostInDetail : kMostListed),
        is_in_groups_(views.views.size() > 1) {
    // Those in a drawing and those on the CPU come first.
    for (const bool is_first : {true, false}) {
      for (const NodeId node : graph_.nodes()) {
        const bool is_drawn = !svgs[index(views.view_of[node])].empty();
        if ((is_drawn || !is_acc(node)) == is_first && listed_.size() < most_) {
          listed_.push_back(node);
        }
      }
    }
    std::ranges::sort(listed_);
  }

  std::string write() {
    json_.begin_object();
    json_.flag("has_link", !preview_.link.is_assumed);
    json_.text("rate_heading", rate_heading(report_));
    write_coverage();
    write_time();
    write_parts();
    write_devices();
    write_ops();
    write_reason_counts();
    write_causes();
    write_nodes();
    write_heat();
    write_views();
    json_.begin_list("notes");
    for (const std::string& note : report_.notes) json_.text(note);
    json_.end_list();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  // The nodes that make what the node reads, each once; constants are no nodes of a split.
  std::vector<NodeId> makers_of(NodeId node) const {
    std::vector<NodeId> makers;
    for (const Operand& operand : graph_.operands(node)) {
      const NodeId maker = graph_.value(operand.value).producer;
      if (maker != kNone<NodeId> && graph_.nodes().contains(maker)) makers.push_back(maker);
    }
    sort_unique(makers);
    return makers;
  }

  // Shortens the path of a list to its name: it is long, and the same in all reasons.
  std::string with_short_names(std::string text) const {
    for (const SupportList& list : report_.lists) {
      if (list.path.find('/') == std::string::npos) continue;
      const std::string path = escaped(list.path);
      for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos;) {
        text.replace(at, path.size(), escaped(file_stem(list.path)));
      }
    }
    return text;
  }

  static std::string file_stem(std::string_view path) {
    path.remove_prefix(path.rfind('/') + 1);
    return std::string(path.substr(0, path.rfind('.')));
  }

  bool is_acc(NodeId node) const { return partition_.is_acc(partition_.part_of[node]); }

  // ---- the whole ----

  void write_coverage() {
    const Coverages& coverage = preview_.coverage;
    std::vector<PageShare> shares;
    const auto add = [&](std::string_view what, const Coverage& own, const auto& text) {
      if (own.total <= 0) return;
      shares.push_back({std::string(what), own.ratio(), text(own.acc) + " of " + text(own.total)});
    };
    add("nodes", coverage.nodes,
        [](double value) { return count_text(static_cast<std::uint64_t>(value)); });
    add(coverage.flops.unknown > 0 ? "known FLOPs" : "FLOPs", coverage.flops, flops_text);
    add("parameters", coverage.parameter_bytes,
        [](double value) { return bytes_text(static_cast<std::uint64_t>(value)); });
    write_list(json_, "coverage", kShareFields, shares);
  }

  // ---- time ----

  void write_time() {
    std::vector<TimeShare> shares;
    const auto add = [&](std::string_view kind, std::string_view what,
                         const std::optional<double>& us, std::optional<std::size_t> target = {}) {
      if (us) shares.push_back({kind, what, *us, target});
    };
    if (has_time_) {
      const Latency& latency = report_.time->asked();
      add("cpu", "CPU", latency.cpu_us);
      if (latency.targets.empty()) add("acc", "accelerator", latency.acc_us);
      for (std::size_t i = 0; i < latency.targets.size(); ++i) {
        add("acc", report_.targets[i].name, latency.targets[i].compute_us, i);
      }
      add("link", "link", latency.link_us);
      add("launch", "launches", latency.launch_us);
    }
    write_list(json_, "time", kTimeFields, shares);
  }

  void write_heat() {
    json_.begin_list("heat");
    const PerNode<NodeCost> costs = node_costs(graph_);
    if (has_time_) write_heat_by("time", "time", make_heat(report_, ColorBy::time, costs));
    write_heat_by("flops", "FLOPs", make_heat(report_, ColorBy::flops, costs));
    write_heat_by("bytes", "bytes", make_heat(report_, ColorBy::bytes, costs));
    json_.end_list();
  }

  // Writes the heat class and its text for each listed node, then for each view.
  void write_heat_by(std::string_view key, std::string_view name, const HeatMap& heat) {
    json_.begin_object();
    json_.text("key", key);
    json_.text("name", name);
    json_.begin_list("classes", Layout::one_line);
    for (std::size_t i = 0; i < kHeatClasses; ++i) json_.text(heat_class_name(heat, i));
    json_.end_list();
    json_.begin_list("nodes", Layout::one_line);
    for (const NodeId node : listed_) {
      write_amount(heat_class(heat, heat.amounts[node]), heat_text(heat, heat.amounts[node]));
    }
    json_.end_list();
    json_.begin_list("views", Layout::one_line);
    for (std::size_t i = 0; i < views_.views.size(); ++i) {
      const auto nodes = views_.nodes(id_at<ViewId>(i));
      write_amount(heat_class(heat, heat_of(heat, nodes)), heat_text(heat, nodes));
    }
    json_.end_list();
    json_.end_object();
  }

  void write_amount(std::size_t heat_class, const std::string& text) {
    json_.begin_list();
    json_.number(heat_class);
    json_.text(text);
    json_.end_list();
  }

  // ---- tables ----

  void write_parts() {
    json_.begin_list("parts");
    for (const PartId part : partition_.parts()) {
      const bool is_bound = preview_.bound && report_.targets.empty();
      cleave::write(json_, kPartFields,
                    {part_cells(report_, part, has_time_), report_, part,
                     is_bound && preview_.bound->bottleneck == part});
    }
    json_.end_list();
  }

  // Of several targets a row for each and for the CPU, with the bytes to each other.
  void write_devices() {
    if (report_.targets.empty()) return;
    json_.begin_list("devices");
    for (const DeviceCells& cells : device_cells(report_, has_time_)) {
      cleave::write(json_, kDeviceFields, cells);
    }
    json_.end_list();
    json_.begin_list("why_not");
    for (const NodeId node : listed_) {
      json_.begin_list(Layout::one_line);
      for (const auto& [target, why] : node_card(report_, node).why_not) {
        json_.text(std::string(target) + ": " + with_short_names(why));
      }
      json_.end_list();
    }
    json_.end_list();
  }

  void write_ops() {
    std::map<std::string_view, OpNumbers> ops;
    for (const NodeId node : graph_.nodes()) {
      OpNumbers& op = ops[graph_.op(node)];
      op.name = graph_.op(node);
      ++op.nodes;
      if (is_acc(node)) ++op.acc;
    }
    write_list(json_, "ops", kOpFields, each(ops, [](const auto& op) { return op.second; }));
  }

  // ---- reasons ----

  void write_reason_counts() {
    std::vector<ReasonCount> counts;
    for (std::size_t i = 0; i < kReasonCodeCount; ++i)
      counts.push_back({static_cast<ReasonCode>(i)});
    for (const NodeId node : graph_.nodes()) {
      if (!is_acc(node)) ++counts[static_cast<std::size_t>(report_.split.reasons[node].code)].count;
    }
    std::erase_if(counts, [](const ReasonCount& one) { return one.count == 0; });
    std::ranges::stable_sort(
        counts, [](const ReasonCount& a, const ReasonCount& b) { return a.count > b.count; });
    write_list(json_, "reasons", kReasonFields, counts);
  }

  // Why nodes are not run. With several targets each has its own causes, for the nodes that it does not run.
  void write_causes() {
    std::vector<CauseSaid> causes;
    const auto add = [&](const ReasonContext& context, const PerNode<Reason>& reasons,
                         const std::string& whose) {
      for (Cause& cause : group_by_cause(context, reasons)) {
        causes.push_back({whose + with_short_names(cause.text), reasons[cause.nodes.front()].code,
                          std::move(cause.nodes)});
      }
    };
    if (report_.targets.empty()) add(reasons_, report_.split.reasons, "");
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      add(reason_context(report_, id_at<TargetId>(i)), report_.split.targets[i].reasons,
          report_.targets[i].name + ": ");
    }
    write_list(json_, "causes", kCauseFields, causes);
  }

  // ---- nodes and drawings ----

  void write_nodes() {
    json_.begin_list("node_ids", Layout::one_line);
    for (const NodeId node : listed_) json_.number(index(node));
    json_.end_list();
    json_.begin_list("nodes");
    for (const NodeId node : listed_) write_node(node);
    json_.end_list();
    if (is_in_groups_) write_makers();
  }

  // Which nodes each node reads from: in a drawing in groups the edges do not say it, as they join groups.
  void write_makers() {
    json_.begin_list("beside", Layout::one_line);
    for (const NodeId node : listed_) {
      json_.begin_list();
      for (const NodeId maker : makers_of(node)) json_.number(index(maker));
      json_.end_list();
    }
    json_.end_list();
  }

  void write_node(NodeId node) {
    const auto outputs = graph_.outputs(node);
    const NodeCard card = node_card(report_, node);
    json_.begin_list(Layout::one_line);
    json_.text(escaped(card.name));
    json_.text(escaped(card.op));
    json_.number(index(card.part));
    json_.number(index(views_.view_of[node]));
    if (card.why.empty()) {
      json_.null();
    } else {
      json_.begin_list();
      json_.text(card.code);
      json_.text(with_short_names(why_text(card)));
      json_.end_list();
    }
    json_.text(outputs.empty() ? "" : type_text(graph_, outputs[0]));
    json_.text(escaped(graph_.text(graph_.node(node).scope)));
    const NodeId because = report_.split.reasons[node].because;
    const bool has_blamed = because != kNone<NodeId> && graph_.nodes().contains(because);
    has_blamed ? json_.number(index(because)) : json_.null();
    write_attributes(node);
    write_bodies(node);
    json_.end_list();
  }

  // Why the node is on the CPU; with several targets, the reason of each.
  static std::string why_text(const NodeCard& card) {
    std::string text;
    for (const auto& [target, why] : card.why_not) {
      text += (text.empty() ? "" : "; ") + std::string(target) + ": " + why;
    }
    return text.empty() ? card.why : text;
  }

  // Names and values in turn, without bodies and tensors.
  void write_attributes(NodeId node) {
    json_.begin_list();
    CappedList listed(kMostAttributes);
    for (const Attribute& attribute : graph_.attributes(node)) {
      if (attribute.type == AttributeType::opaque || !listed.shows_next()) continue;
      json_.text(escaped(graph_.text(attribute.name)));
      json_.text(attribute_text(graph_.attribute_pools(), attribute));
    }
    json_.end_list();
  }

  // The nodes in the bodies of an If, Loop or Scan: the body, the name and the op of each in turn,
  // then how many there are.
  void write_bodies(NodeId node) {
    const auto inside = graph_.body_nodes(node);
    if (inside.empty()) return;
    json_.begin_list();
    CappedList listed(kMostNamed);
    for (const NodeId inner : inside) {
      if (!listed.shows_next()) continue;
      json_.text(escaped(graph_.text(graph_.node(inner).target)));
      json_.text(escaped(graph_.node(inner).name));
      json_.text(escaped(graph_.op(inner)));
    }
    json_.end_list();
    json_.number(inside.size());
  }

  void write_views() {
    json_.begin_list("views");
    for (std::size_t i = 0; i < views_.views.size(); ++i) {
      const View& view = views_.views[i];
      json_.begin_object(Layout::one_line);
      json_.text("title", i == 0 ? model_name(report_.model) : escaped(view.title));
      json_.key("parent");
      view.parent == kNone<ViewId> ? json_.null() : json_.number(index(view.parent));
      json_.number("nodes", view.node_count());
      json_.text("svg", svgs_[i]);
      json_.end_object();
    }
    json_.end_list();
  }

  const Report& report_;
  const Graph& graph_;
  const Partition& partition_;
  const Preview& preview_;
  const Views& views_;
  const std::vector<std::string>& svgs_;
  ReasonContext reasons_;
  const bool has_time_;     // asking looks at all nodes
  const std::size_t most_;  // nodes that are listed
  const bool is_in_groups_;
  std::vector<NodeId> listed_;
  JsonText json_;
};

}  // namespace

std::string html_data(const Report& report, const Views& views,
                      const std::vector<std::string>& svgs) {
  return DataWriter(report, views, svgs).write();
}

// ---- viewers ----

namespace {

// What an entry is on. Netron searches by name; operators of TensorFlow Lite have none, and are found
// by their number in the subgraph, as are its tensors.
struct AttachmentTarget {
  std::string_view kind;
  std::string_view name = {};
  std::optional<std::uint32_t> number = {};
};

class Attachment {
 public:
  explicit Attachment(const Report& report)
      : report_(report),
        graph_(report.graph),
        partition_(report.split.partition),
        tflite_(report.model.tflite()) {}

  std::string write() {
    json_.begin_object();
    json_.text("signature", "netron:attachment");
    json_.begin_list("metadata");
    write_model_metadata();
    for (const NodeId node : graph_.nodes()) write_node_metadata(node);
    each_crossing([&](ValueId value, PartId part) { write_crossing(value, part); });
    json_.end_list();
    json_.begin_list("metrics");
    write_model_metrics();
    write_node_metrics();
    write_value_metrics();
    json_.end_list();
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  using Target = AttachmentTarget;

  Target of_model() const { return {"model"}; }
  Target of(NodeId node) const {
    Target target{"node", graph_.node(node).name};
    if (tflite_ != nullptr) target.number = tflite_->operators[index(node)];
    return target;
  }
  Target of(ValueId value) const {
    Target target{"value", graph_.value(value).name};
    if (tflite_ != nullptr) target.number = tflite_->tensors[index(value)];
    return target;
  }

  void begin_item(const Target& target, std::string_view name) {
    json_.begin_object(kOneLine);
    json_.text("kind", target.kind);
    if (target.number) {
      json_.text("identifier", std::to_string(*target.number));
    } else {  // Netron searches for the first line of a name.
      json_.text("target", target.name.substr(0, target.name.find('\n')));
    }
    json_.text("name", name);
    json_.key("value");
  }

  void add_text(const Target& target, std::string_view name, std::string_view value) {
    begin_item(target, name);
    json_.text(value);
    json_.text("type", "string");
    json_.end_object();
  }

  template <class Number>
  void add_number(const Target& target, std::string_view name, Number value) {
    begin_item(target, name);
    json_.number(value);
    json_.end_object();
  }

  void write_model_metadata() {
    add_text(of_model(), "support list", support_name(report_.lists));
    add_text(of_model(), "on the accelerator",
             coverage_text(report_.preview.coverage, "on the accelerator"));
  }

  void write_node_metadata(NodeId node) {
    const NodeCard card = node_card(report_, node);
    add_text(of(node), "partition", card.partition);
    add_text(of(node), "device", card.device);
    if (!card.why.empty()) add_text(of(node), "why on the CPU", card.why);
    for (const auto& [target, why] : card.why_not) {
      add_text(of(node), "why not on " + std::string(target), why);
    }
  }

  // Values that leave a part for another part or for the caller.
  template <class Visit>
  void each_crossing(const Visit& visit) const {
    for (const PartId part : partition_.parts()) {
      for (const ValueId value : report_.split.boundaries.outputs[part]) visit(value, part);
    }
  }

  void write_crossing(ValueId value, PartId from) {
    std::string to;
    PartId last = from;
    for (const NodeId user : graph_.users(value)) {
      const PartId part = partition_.part_of[user];
      if (part == from || part == last) continue;
      to += (to.empty() ? "" : ", ") + partition_.name(part);
      last = part;
    }
    if (graph_.is_graph_output(value)) to += to.empty() ? "the caller" : ", the caller";
    add_text(of(value), "crosses", partition_.name(from) + " to " + to);
  }

  void write_model_metrics() {
    std::size_t acc = 0;
    for (const PartId part : partition_.parts()) acc += partition_.is_acc(part) ? 1U : 0U;
    add_number(of_model(), "accelerator partitions", acc);
    const auto bound = known_bound(report_.preview);
    if (bound && report_.targets.empty()) add_number(of_model(), "QPS", bound->shared_qps);
  }

  void write_node_metrics() {
    const PerNode<std::optional<double>> flops = node_flops(graph_);
    for (const NodeId node : graph_.nodes()) {
      if (flops[node]) add_number(of(node), "FLOPs", *flops[node]);
    }
  }

  void write_value_metrics() {
    each_crossing([&](ValueId value, PartId) {
      const auto bytes = value_bytes(graph_, value);
      if (bytes) add_number(of(value), "bytes over the border", *bytes);
    });
  }

  const Report& report_;
  const Graph& graph_;
  const Partition& partition_;
  const TfliteModel* tflite_;  // null: of another format
  JsonText json_;
};

}  // namespace

std::string netron_attachment(const Report& report) { return Attachment(report).write(); }

namespace {

constexpr std::string_view kRed = "#ffcdd2";

// One measure of the nodes that have it.
class NodeData {
 public:
  NodeData(const Graph& graph, std::string_view name) : graph_(graph) {
    json_.begin_object();
    json_.text("name", name);
    json_.begin_object("results");
  }

  // Returns false, without writing, for a node without outputs: it has no key.
  bool begin(NodeId node) {
    const IdRange<ValueId> outputs = graph_.outputs(node);
    if (outputs.empty()) return false;
    json_.key(graph_.value(outputs[0]).name);
    json_.begin_object(Layout::one_line);
    json_.key("value");
    return true;
  }
  void add(NodeId node, std::string_view value, std::string_view colour) {
    if (!begin(node)) return;
    json_.text(value);
    if (!colour.empty()) json_.text("bgColor", colour);
    json_.end_object();
  }
  void add(NodeId node, double value) {
    if (!begin(node)) return;
    json_.number(value);
    json_.end_object();
  }

  JsonText& end_results() {
    json_.end_object();
    return json_;
  }
  std::string finish() && {
    json_.end_object();
    return std::move(json_).finish();
  }
  // For texts: a group shows how often each text occurs in it; there is no sum.
  std::string finish_words() && {
    JsonText& json = end_results();
    json.flag("showExpandedSummaryOnGroupNode", true);
    json.flag("hideInAggregatedStatsTable", true);
    json.flag("hideInChildrenStatsTable", true);
    return std::move(*this).finish();
  }

 private:
  const Graph& graph_;
  JsonText json_;
};

std::string partition_data(const Report& report) {
  static constexpr std::array<std::string_view, 6> kGreens = {"#c8e6c9", "#a5d6a7", "#dcedc8",
                                                              "#b2dfdb", "#c5e1a5", "#b2ebf2"};
  const Partition& partition = report.split.partition;
  NodeData data(report.graph, "partition");
  for (const NodeId node : report.graph.nodes()) {
    const PartId part = partition.part_of[node];
    const TargetId target = colour_of(report, part);  // of several each has its colour
    const std::string_view own =
        partition.is_acc(part) ? kGreens[index(part) / 2 % kGreens.size()] : kRed;
    data.add(node, partition.name(part),
             target == kNone<TargetId> ? own : target_colours(target).fill);
  }
  return std::move(data).finish_words();
}

std::string reason_data(const Report& report) {
  NodeData data(report.graph, "why on the CPU");
  for (const NodeId node : report.graph.nodes()) {
    const Reason& reason = report.split.reasons[node];
    if (reason.code != ReasonCode::none) data.add(node, reason_code_name(reason.code), kRed);
  }
  return std::move(data).finish_words();
}

std::string flops_data(const Report& report) {
  const PerNode<std::optional<double>> flops = node_flops(report.graph);
  NodeData data(report.graph, "FLOPs");
  for (const NodeId node : report.graph.nodes()) {
    if (flops[node]) data.add(node, *flops[node]);
  }
  JsonText& json = data.end_results();
  json.begin_list("gradient", Layout::one_line);
  for (const auto& [stop, colour] : {std::pair{0, "#fffde7"}, std::pair{1, "#e65100"}}) {
    json.begin_object();
    json.number("stop", stop);
    json.text("bgColor", colour);
    json.end_object();
  }
  json.end_list();
  return std::move(data).finish();
}

}  // namespace

std::vector<std::string> model_explorer_file_names() {
  return {"partition.json", "reason.json", "flops.json"};
}

std::vector<NamedText> model_explorer_files(const Report& report) {
  const std::vector<std::string> names = model_explorer_file_names();
  return {{names[0], partition_data(report)},
          {names[1], reason_data(report)},
          {names[2], flops_data(report)}};
}

}  // namespace cleave
