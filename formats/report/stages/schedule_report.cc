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

}  // namespace cleave
