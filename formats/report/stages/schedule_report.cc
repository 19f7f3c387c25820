#include "formats/report/stages/schedule_report.h"

#include <algorithm>
#include <array>

#include "core/base/number_text.h"
#include "formats/report/drawings/html_page.h"

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

}  // namespace

std::string best_schedule_line(const ScheduleReport& report) {
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

KeptTable schedule_table(const ScheduleReport& report) {
  KeptTable table(
      {"schedule", "ranks", "bubble", "a batch", "microbatches/s", "fullest rank"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  for (std::size_t i = 0; i < report.schedules.size(); ++i) table.add_row(row_of(report, i));
  return table;
}

std::string schedule_text(const ScheduleReport& report) {
  std::string text =
      "\nschedules of " + counted(report.microbatches, "microbatch", "microbatches") +
      ", * is written; " + best_schedule_line(report) + "\n" + schedule_table(report).text().text();
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

struct Look {
  std::string_view colour, word;
};
constexpr std::array<Look, 4> kLooks = {{{"#4c78a8", "forward"},
                                         {"#c25e00", "backward"},
                                         {"#c8373a", "gradients of inputs"},
                                         {"#2f7d78", "gradients of weights"}}};  // by WorkKind

std::string number(double value) {
  std::string text = std::to_string(value);
  return text.substr(0, text.find('.') + 3);
}

// `name="1.50"`, after a space.
std::string attribute(std::string_view name, double value) {
  return " " + std::string(name) + "=\"" + number(value) + "\"";
}

// One row a rank, one box a work, and what the colours are.
class ScheduleChart {
 public:
  explicit ScheduleChart(const ScheduleReport& report)
      : report_(report),
        schedule_(report.schedules[report.chosen]),
        scale_(schedule_.makespan > 0 ? (kWidth - kLeft) / schedule_.makespan : 0),
        most_(std::max<std::size_t>(kMostBoxes / std::max<std::size_t>(schedule_.ranks.size(), 1),
                                    1)) {}

  std::string draw() {
    const double height = kRow * static_cast<double>(schedule_.ranks.size() + 1);
    svg_ =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"13\" "
        "viewBox=\"0 0 " +
        number(kWidth) + " " + number(height) + "\" width=\"" + number(kWidth) + "pt\" height=\"" +
        number(height) + "pt\">\n";
    write_legend();
    for (std::size_t rank = 0; rank < schedule_.ranks.size(); ++rank) write_rank(rank);
    return std::move(svg_) + "</svg>\n";
  }

  // What the drawing leaves out; "" for nothing.
  std::string note() const {
    const bool is_cut = std::any_of(schedule_.ranks.begin(), schedule_.ranks.end(),
                                    [&](const auto& works) { return works.size() > most_; });
    return is_cut ? "only the first " + count_text(most_) + " works of each rank are drawn" : "";
  }

 private:
  void write_text(double x, double y, const std::string& text) {
    svg_ += "<text" + attribute("x", x) + attribute("y", y) + ">" + text + "</text>\n";
  }

  void write_legend() {
    std::array<bool, 4> is_there = {};
    for (const auto& works : schedule_.ranks) {
      for (const Work& work : works) is_there[static_cast<std::size_t>(work.kind)] = true;
    }
    double x = kLeft;
    for (std::size_t i = 0; i < kLooks.size(); ++i) {
      if (!is_there[i]) continue;
      svg_ += "<rect" + attribute("x", x) + attribute("y", 4) +
              " width=\"14\" height=\"14\" fill=\"" + std::string(kLooks[i].colour) + "\"/>\n";
      write_text(x + 20, 16, std::string(kLooks[i].word));
      x += 180;
    }
  }

  void write_rank(std::size_t rank) {
    const double top = kRow * static_cast<double>(rank + 1);
    write_text(0, top + kRow / 2 + 2, "rank " + std::to_string(rank));
    const auto& works = schedule_.ranks[rank];
    for (std::size_t i = 0; i < std::min(works.size(), most_); ++i) write_box(works[i], top);
  }

  void write_box(const Work& work, double top) {
    const Look& look = kLooks[static_cast<std::size_t>(work.kind)];
    const double x = kLeft + work.begin * scale_, width = (work.end - work.begin) * scale_;
    svg_ += "<g class=\"work\"><title>" + html_text(report_.stage_names[work.stage]) + ", " +
            std::string(look.word) + ", microbatch " + std::to_string(work.microbatch) +
            times_text(work) + "</title><rect" + attribute("x", x) + attribute("y", top) +
            attribute("width", width) + attribute("height", kRow - 6) + " fill=\"" +
            std::string(look.colour) + "\"/>";
    if (width >= 14) {
      svg_ += "<text text-anchor=\"middle\" font-size=\"11\"" + attribute("x", x + width / 2) +
              attribute("y", top + kRow / 2 + 1) + ">" + std::to_string(work.microbatch) +
              "</text>";
    }
    svg_ += "</g>\n";
  }

  std::string times_text(const Work& work) const {
    if (!report_.has_times) return {};
    return ": " + duration_text(work.begin) + " to " + duration_text(work.end);
  }

  const ScheduleReport& report_;
  const Schedule& schedule_;
  double scale_;
  std::size_t most_;  // boxes of a rank
  std::string svg_;
};

std::string summary_text(const ScheduleReport& report) {
  const Schedule& schedule = report.schedules[report.chosen];
  const std::string batch = counted(report.microbatches, "microbatch", "microbatches");
  const std::string fullest = ", fullest rank " + fullest_text(schedule);
  if (!report.has_times) {
    return batch + ", in a time that is not known: drawn as if all stages took equally long" +
           fullest;
  }
  return batch + " in " + duration_text(schedule.makespan) + ", bubble " +
         percent_text(schedule.bubble) + fullest;
}

}  // namespace

PageDrawing schedule_drawing(const ScheduleReport& report) {
  ScheduleChart chart(report);
  const std::string note = chart.note();
  const std::string name(schedule_name(report.schedules[report.chosen].kind));
  return {.title = name + ": " + summary_text(report) + (note.empty() ? "" : "; " + note),
          .svg = chart.draw()};
}

std::string schedule_page(const ScheduleReport& report, const std::string& title) {
  const std::string name(schedule_name(report.schedules[report.chosen].kind));
  return content_page({.title = title + ": " + name,
                       .text = summary_text(report) + "\n" + schedule_text(report),
                       .drawings = {schedule_drawing(report)},
                       .tables = {schedule_table(report).page()}});
}

}  // namespace cleave
