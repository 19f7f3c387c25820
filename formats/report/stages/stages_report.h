// The data for the reports of `partition` and `stage`: parts in call order, what crosses between
// them, what they share, and their balance.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/measures/preview.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "core/stages/stage_boundary.h"
#include "core/stages/training.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/report/drawings/html_report.h"
#include "formats/report/stages/schedule_report.h"
#include "formats/report/stages/stage_balance.h"

namespace cleave {

// The cost of values that skip stages, and how they are passed.
struct SkipReport {
  SkipCosts costs;
  bool relayed = false;
};

struct StagesReport {
  const LoadedModel& model;
  const Graph& graph;          // the model's, with the shapes that profiles saw
  std::string_view part_word;  // "partition", "stage"
  const Partition& partition;
  const Boundaries& boundaries;
  const Boundaries& root;                  // as the root calls the parts
  std::vector<std::string> devices = {};   // by part, "" for none; empty: none at all
  const BackwardPlan* backward = nullptr;  // null: the root only calls forward
  std::optional<SkipReport> skips = {};
  std::optional<StageBalance> balance = {};
  std::optional<ScheduleReport> schedule = {};
  std::vector<std::string> notes = {};
  std::vector<std::string> part_files =
      {};                  // by part, "" for one that was not written; empty: none
  std::string chain = {};  // JSON: how parts that hold state are called; empty: as they are listed
  // Computed from the above; not to be given.
  Preview numbers = preview_split(graph, partition, boundaries, default_link());
  PerPartLists<PartId> depends_on = find_dependencies(graph, boundaries);
};

// cleave.stages version 1, as --json prints it and -o writes manifest.json.
std::string stages_json(const StagesReport& report);

// The report for people, at most 100 columns, conclusion first.
std::string stages_text(const StagesReport& report);

// The tables of the same report, with every stage.
std::vector<PageTable> stages_tables(const StagesReport& report);

// Adds a drawing of stages to a page, or a note that says why there is none.
void add_stages_drawing(ContentPage& page, const std::string& dot, const std::string& what,
                        const LayoutLimits& limits);

// The same as a page for a browser: the drawing and the chart of the schedule, the tables, and where each
// node is.
HtmlPage stages_page(const StagesReport& report, const LayoutLimits& limits);

// The drawing: columns from left to right in call order, each as tall as its load. See
// report/drawings/dot_stages.h.
std::string stages_dot(const StagesReport& report);

}  // namespace cleave
