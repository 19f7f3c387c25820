#include "formats/report/stages/schedule_report.h"

#include <algorithm>
#include <array>

#include "formats/text/number_text.h"
#include "formats/text/text_layout.h"

namespace cleave {
namespace {

constexpr double kMicroseconds = 1e6;

// Microbatches a second; 0 where nothing takes time.
double throughput(const ScheduleReport& report, const Schedule& schedule) {
  if (schedule.makespan <= 0) return 0;
  return report.microbatches / schedule.makespan * kMicroseconds;
}

std::uint64_t bytes_of(double bytes) { return static_cast<std::uint64_t>(bytes); }

std::string best_line(const ScheduleReport& report) {
  if (!report.best) {
    return "no schedule fits into " + bytes_text(report.memory.value_or(0)) + " a rank";
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
  for (std::size_t i = 0; i < report.schedules.size(); ++i) {
    const Schedule& schedule = report.schedules[i];
    table.add_row({std::string(schedule_name(schedule.kind)) + (i == report.chosen ? " *" : ""),
                   count_text(schedule.ranks.size()), percent_text(schedule.bubble),
                   duration_text(schedule.makespan), rate_text(throughput(report, schedule)),
                   bytes_text(bytes_of(schedule.most_bytes()))});
  }
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
    json.number("bubble", schedule.bubble);
    json.number("batch_us", schedule.makespan);
    json.number("microbatches_per_second", throughput(report, schedule));
    json.begin_list("peak_bytes", JsonText::Layout::one_line);
    for (const double bytes : schedule.peak_bytes) json.number(bytes_of(bytes));
    json.end_list();
    json.end_object();
  }
  json.end_list();
  json.end_object();
}

}  // namespace cleave
