// Reports on the schedule of a pipeline, compared with the other schedules: a table, JSON, a page
// with a chart, and the CSV that torch's pipeline runtime loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/stages/training.h"
#include "formats/base/json/text.h"
#include "formats/report/drawings/content_page.h"

namespace cleave {

struct ScheduleReport {
  std::vector<std::string> stage_names = {};
  std::uint32_t microbatches = 1;
  // True if times are in microseconds. Otherwise they are unknown: every stage takes the same time,
  // and the unit is one forward pass.
  bool has_times = true;
  std::vector<Schedule> schedules = {};      // those that can be made
  std::size_t chosen = 0;                    // the one that was asked for
  std::optional<std::size_t> best = {};      // the fastest that fits; nullopt: none is known to
  std::optional<std::uint64_t> memory = {};  // of a rank; nullopt: not limited
  std::vector<std::string> caveats = {};     // the assumptions behind the numbers
};

// A row for each schedule.
KeptTable schedule_table(const ScheduleReport& report);

// "fastest that fits into 1 GiB a rank: zero-bubble"
std::string best_schedule_line(const ScheduleReport& report);

// The table of all schedules, and which is best; lines of at most 100 columns.
std::string schedule_text(const ScheduleReport& report);

// Writes the field "schedule" of cleave.stages.
void write_schedule(JsonText& json, const ScheduleReport& report);

// A chart of the chosen schedule: one row a rank, one box a work.
PageDrawing schedule_drawing(const ScheduleReport& report);

// A page of its own with the chart and the table.
std::string schedule_page(const ScheduleReport& report, const std::string& title);

}  // namespace cleave
