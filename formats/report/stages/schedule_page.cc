// The page of a schedule. Boxes are SVG with times as coordinates; tooltips are titles, so the page
// needs no script. Beyond so many boxes, only the first microbatches are drawn, and the page says so.
#include <algorithm>
#include <array>

#include "formats/report/stages/schedule_report.h"
#include "formats/text/number_text.h"

namespace cleave {
namespace {

constexpr double kWidth = 1200, kRow = 30, kLeft = 70;
constexpr std::size_t kMostBoxes = 20'000;

constexpr std::string_view kStyle =
    "body{font:14px sans-serif;margin:2em;background:#fff;color:#222}"
    "rect{stroke:#fff;stroke-width:.5}.f{fill:#4c78a8}.b{fill:#f58518}.i{fill:#e45756}"
    ".w{fill:#72b7b2}text{fill:currentColor}.n{fill:#fff;font-size:11px;text-anchor:middle}"
    "@media(prefers-color-scheme:dark){body{background:#1b1b1b;color:#ddd}rect{stroke:#1b1b1b}}";

struct Look {
  std::string_view style, word;
};
constexpr std::array<Look, 4> kLooks = {{{"f", "forward"},
                                         {"b", "backward"},
                                         {"i", "gradients of inputs"},
                                         {"w", "gradients of weights"}}};  // by WorkKind

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string number(double value) {
  std::string text = std::to_string(value);
  return text.substr(0, text.find('.') + 3);
}

std::string box(const Work& work, double scale, double top) {
  const Look& look = kLooks[static_cast<std::size_t>(work.kind)];
  const double x = kLeft + work.begin * scale, width = (work.end - work.begin) * scale;
  std::string text = "<g><rect class=" + std::string(look.style) + " x=" + number(x) +
                     " y=" + number(top) + " width=" + number(width) +
                     " height=" + number(kRow - 6) + "></rect><title>stage " +
                     std::to_string(work.stage) + ", " + std::string(look.word) + ", microbatch " +
                     std::to_string(work.microbatch) + ": " + duration_text(work.begin) + " to " +
                     duration_text(work.end) + "</title>";
  if (width >= 14) {
    text += "<text class=n x=" + number(x + width / 2) + " y=" + number(top + kRow / 2 + 1) + ">" +
            std::to_string(work.microbatch) + "</text>";
  }
  return text + "</g>\n";
}

std::string legend(const Schedule& schedule) {
  std::array<bool, 4> is_there = {};
  for (const auto& works : schedule.ranks) {
    for (const Work& work : works) is_there[static_cast<std::size_t>(work.kind)] = true;
  }
  std::string text = "<p>";
  for (std::size_t i = 0; i < kLooks.size(); ++i) {
    if (!is_there[i]) continue;
    text += "<svg width=14 height=14><rect class=" + std::string(kLooks[i].style) +
            " width=14 height=14></rect></svg> " + std::string(kLooks[i].word) + " &nbsp; ";
  }
  return text + "</p>\n";
}

}  // namespace

std::string schedule_page(const ScheduleReport& report, const std::string& title) {
  const Schedule& schedule = report.schedules[report.chosen];
  const double scale = schedule.makespan > 0 ? (kWidth - kLeft) / schedule.makespan : 0;
  const std::string name = html_text(title) + ": " + std::string(schedule_name(schedule.kind));
  const double height = kRow * static_cast<double>(schedule.ranks.size());
  std::string page = "<!doctype html>\n<html lang=en><meta charset=utf-8><title>" + name +
                     "</title><style>" + std::string(kStyle) + "</style>\n<h1>" + name +
                     "</h1>\n<p>" + counted(report.microbatches, "microbatch", "microbatches") +
                     " in " + duration_text(schedule.makespan) + ", bubble " +
                     percent_text(schedule.bubble) + ", fullest rank " +
                     bytes_text(static_cast<std::uint64_t>(schedule.most_bytes())) + "</p>\n" +
                     legend(schedule) + "<svg viewBox=\"0 0 " + number(kWidth) + " " +
                     number(height) + "\" width=\"100%\">\n";
  const std::size_t most =
      std::max<std::size_t>(kMostBoxes / std::max<std::size_t>(schedule.ranks.size(), 1), 1);
  bool is_cut = false;
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    const double top = kRow * static_cast<double>(rank);
    page +=
        "<text x=0 y=" + number(top + kRow / 2 + 1) + ">rank " + std::to_string(rank) + "</text>\n";
    const auto& works = schedule.ranks[rank];
    is_cut = is_cut || works.size() > most;
    for (std::size_t i = 0; i < std::min(works.size(), most); ++i)
      page += box(works[i], scale, top);
  }
  page += "</svg>\n";
  if (is_cut)
    page += "<p>Only the first " + count_text(most) + " works of each rank are drawn.</p>\n";
  return page + "</html>\n";
}

}  // namespace cleave
