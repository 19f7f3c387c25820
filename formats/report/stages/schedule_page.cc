// The page of a schedule. Boxes are SVG with times as coordinates; tooltips are titles, so the page
// needs no script. If there are too many boxes, only the first microbatches are drawn, and the page
// says so.
#include <algorithm>
#include <array>

#include "formats/base/text/number_text.h"
#include "formats/report/stages/schedule_report.h"

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

class SchedulePage {
 public:
  SchedulePage(const ScheduleReport& report, const std::string& title)
      : report_(report),
        schedule_(report.schedules[report.chosen]),
        name_(html_text(title) + ": " + std::string(schedule_name(schedule_.kind))),
        scale_(schedule_.makespan > 0 ? (kWidth - kLeft) / schedule_.makespan : 0),
        most_(std::max<std::size_t>(kMostBoxes / std::max<std::size_t>(schedule_.ranks.size(), 1),
                                    1)) {}

  std::string write() {
    const double height = kRow * static_cast<double>(schedule_.ranks.size());
    page_ = "<!doctype html>\n<html lang=en><meta charset=utf-8><title>" + name_ +
            "</title><style>" + std::string(kStyle) + "</style>\n<h1>" + name_ + "</h1>\n<p>" +
            summary() + "</p>\n" + legend(schedule_) + "<svg viewBox=\"0 0 " + number(kWidth) +
            " " + number(height) + "\" width=\"100%\">\n";
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) write_rank(rank);
    page_ += "</svg>\n";
    if (is_cut_) {
      page_ += "<p>Only the first " + count_text(most_) + " works of each rank are drawn.</p>\n";
    }
    return page_ + "</html>\n";
  }

 private:
  std::string summary() const {
    const std::string batch = counted(report_.microbatches, "microbatch", "microbatches");
    const auto most = schedule_.most_bytes();
    const std::string fullest =
        ", fullest rank " + (most ? bytes_text(static_cast<std::uint64_t>(*most)) : "not known");
    if (!report_.has_times) {
      return batch + ", in a time that is not known: drawn as if all stages took equally long" +
             fullest;
    }
    return batch + " in " + duration_text(schedule_.makespan) + ", bubble " +
           percent_text(schedule_.bubble) + fullest;
  }

  void write_rank(std::size_t rank) {
    const double top = kRow * static_cast<double>(rank);
    page_ +=
        "<text x=0 y=" + number(top + kRow / 2 + 1) + ">rank " + std::to_string(rank) + "</text>\n";
    const auto& works = schedule_.ranks[rank];
    is_cut_ = is_cut_ || works.size() > most_;
    for (std::size_t i = 0; i < std::min(works.size(), most_); ++i) write_box(works[i], top);
  }

  void write_box(const Work& work, double top) {
    const Look& look = kLooks[static_cast<std::size_t>(work.kind)];
    const double x = kLeft + work.begin * scale_, width = (work.end - work.begin) * scale_;
    page_ += "<g><rect class=" + std::string(look.style) + " x=" + number(x) + " y=" + number(top) +
             " width=" + number(width) + " height=" + number(kRow - 6) + "></rect><title>" +
             html_text(report_.stage_names[work.stage]) + ", " + std::string(look.word) +
             ", microbatch " + std::to_string(work.microbatch) + times_text(work) + "</title>";
    if (width >= 14) {
      page_ += "<text class=n x=" + number(x + width / 2) + " y=" + number(top + kRow / 2 + 1) +
               ">" + std::to_string(work.microbatch) + "</text>";
    }
    page_ += "</g>\n";
  }

  std::string times_text(const Work& work) const {
    if (!report_.has_times) return {};
    return ": " + duration_text(work.begin) + " to " + duration_text(work.end);
  }

  const ScheduleReport& report_;
  const Schedule& schedule_;
  std::string name_;
  double scale_;
  std::size_t most_;  // boxes of a rank
  bool is_cut_ = false;
  std::string page_;
};

}  // namespace

std::string schedule_page(const ScheduleReport& report, const std::string& title) {
  return SchedulePage(report, title).write();
}

}  // namespace cleave
