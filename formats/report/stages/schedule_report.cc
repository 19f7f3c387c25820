#include "formats/report/stages/schedule_report.h"

#include <algorithm>
#include <array>

#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

constexpr double kMicroseconds = 1e6;

// True if the schedule takes a known time, and not 0.
bool takes_time(const ScheduleReport& report, const Schedule& schedule) {
  return report.has_times && schedule.makespan > 0;
}

// Microbatches a second; nullopt: not known, or nothing takes time.
std::optional<double> throughput(const ScheduleReport& report, const Schedule& schedule) {
  if (!takes_time(report, schedule)) return std::nullopt;
  return report.microbatches / schedule.makespan * kMicroseconds;
}

std::optional<std::uint64_t> whole_bytes(const std::optional<double>& bytes) {
  if (!bytes) return std::nullopt;
  return static_cast<std::uint64_t>(*bytes);
}

std::string fullest_text(const Schedule& schedule) {
  const auto bytes = whole_bytes(schedule.most_bytes());
  return bytes ? bytes_text(*bytes) : "?";
}

std::vector<std::string> row_of(const ScheduleReport& report, std::size_t i) {
  const Schedule& schedule = report.schedules[i];
  const std::string name(schedule_name(schedule.kind));
  const auto rate = throughput(report, schedule);
  return {name + (i == report.chosen ? " *" : ""),
          count_text(schedule.ranks.size()),
          rate ? percent_text(schedule.bubble) : "?",
          report.has_times ? duration_text(schedule.makespan) : "?",
          rate ? rate_text(*rate) : "?",
          fullest_text(schedule)};
}

std::string best_line(const ScheduleReport& report) {
  if (!report.has_times) return "which is fastest is not known";
  if (!report.best) {
    const auto& all = report.schedules;
    const bool is_known = std::all_of(all.begin(), all.end(), [](const Schedule& schedule) {
      return schedule.most_bytes().has_value();
    });
    return std::string(is_known ? "no schedule fits" : "no schedule is known to fit") + " into " +
           bytes_text(report.memory.value_or(0)) + " a rank";
  }
  const std::string name(schedule_name(report.schedules[*report.best].kind));
  if (!report.memory) return "fastest: " + name;
  return "fastest that fits into " + bytes_text(*report.memory) + " a rank: " + name;
}

}  // namespace

std::string schedule_text(const ScheduleReport& report) {
  TextTable table(
      {"schedule", "ranks", "bubble", "a batch", "microbatches/s", "fullest rank"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (std::size_t i = 0; i < report.schedules.size(); ++i) table.add_row(row_of(report, i));
  std::string text = "\nschedules of " +
                     counted(report.microbatches, "microbatch", "microbatches") +
                     ", * is written; " + best_line(report) + "\n" + table.text();
  for (const std::string& caveat : report.caveats) text += wrapped(caveat, 0, 2);
  return text;
}

void write_schedule(JsonText& json, const ScheduleReport& report) {
  json.begin_object("schedule");
  const Schedule& chosen = report.schedules[report.chosen];
  json.text("name", schedule_name(chosen.kind));
  json.number("microbatches", report.microbatches);
  json.key("best");
  if (report.best) {
    json.text(schedule_name(report.schedules[*report.best].kind));
  } else {
    json.null();
  }
  json.begin_list("compared");
  for (const Schedule& schedule : report.schedules) {
    json.begin_object();
    json.text("name", schedule_name(schedule.kind));
    json.number("ranks", schedule.ranks.size());
    const auto rate = throughput(report, schedule);
    json.number("bubble", rate ? std::optional(schedule.bubble) : std::nullopt);
    json.number("batch_us", report.has_times ? std::optional(schedule.makespan) : std::nullopt);
    json.number("microbatches_per_second", rate);
    json.begin_list("peak_bytes", JsonText::Layout::one_line);
    for (const auto& bytes : schedule.peak_bytes) json.number(whole_bytes(bytes));
    json.end_list();
    json.end_object();
  }
  json.end_list();
  json.end_object();
}

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
