// Reports of stages, schedules and workloads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/measures/measures.h"
#include "core/split/split.h"
#include "core/stages/balance.h"
#include "core/stages/stages.h"
#include "formats/base/fields.h"
#include "formats/base/model.h"
#include "formats/lists/costs.h"
#include "formats/lists/stage_tables.h"
#include "formats/lists/tables.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/drawings/pages.h"

namespace cleave {

// ---- stage balance ----
//
// The result of balancing stages, for reports, with the assumptions and caveats of its numbers.

// The load of one stage on its device, in the unit of the balance.
struct StageLoad {
  double compute = 0;
  double in = 0;
  double out = 0;
  double load = 0;                          // from compute and transfers
  std::optional<double> memory_bytes = {};  // parameters and live activations
};

struct StageBalance {
  std::string unit;  // "us", "ms": times; else "count"
  BalanceBy by = BalanceBy::time;
  double objective = 0;
  double bound = 0;
  double gap = 0;
  std::string certificate;
  std::vector<CurvePoint> curve;
  std::uint32_t enough_stages = 0;       // the fewest stages that are about as good
  std::vector<StageLoad> loads;          // by stage
  std::vector<std::string> assumptions;  // "10 TFLOP/s, 100 GB/s; link 107 GB/s", one per line
  std::string basis;                     // the rates that times were estimated with; "": none were
  std::optional<double> measured_share;  // of the times; nullopt when node times are not balanced
  bool is_partly_known = false;          // some costs or sizes are unknown and count 0
  bool is_least = false;                 // so do FLOPs or bytes of nodes
  std::vector<std::string> caveats;      // warnings about how to read the numbers

  // Whether something counts 0 because it is unknown: then numbers are at least so much, and nothing is proved.
  bool is_at_least() const { return is_partly_known || is_least; }
};

StageBalance stage_balance_of(const BalanceProblem& problem, const BalanceResult& result,
                              BalanceBy by);

// The devices of the stages by name; empty when the problem has only one kind of device.
std::vector<std::string> device_names(const BalanceProblem& problem, const BalanceResult& result);

// An amount of what is balanced: "12.3 ms", "3.4 GFLOP", "1.2 M", "64 KiB", "12".
std::string amount_text(const StageBalance& balance, double amount);

// The conclusions, one per line: the slowest stage and what is proved about it; the rate and the
// efficiency; the caveats, or, if there are none and all costs are known, whether fewer stages are
// as good. If no stage costs anything: that there is nothing to balance, and the caveats.
std::vector<std::string> balance_conclusions(const StageBalance& balance,
                                             const std::vector<std::string>& names);

// A stage's load relative to the slowest stage's: "######==    81%", '#' for compute, '=' for
// transfers. `width` characters before the number.
std::string share_bar(const StageBalance& balance, const StageLoad& load, std::size_t width);

// The best objective with at most 1, 2, ... stages, as a table of about twenty rows; empty when
// there is only one row. `what` is what the first column counts: "stages", or "devices" of a list, which
// need not all have a stage.
std::string curve_text(const StageBalance& balance, std::string_view what = "stages");

// The fields "objective", "bound", "gap", "certificate", "unit" and "curve" of cleave.stages; null and empty
// without a balance.
struct BalanceSaid {
  const StageBalance* balance = nullptr;
};
extern const Fields<BalanceSaid> kBalanceFields;

// What text, page and drawing tell of a stage, of a model or of a workload. What is empty in the first stage is
// no column of the table.
struct StageInWords {
  std::string name;
  std::string device = {}, nodes = {};
  double amount = 0;  // of the balance; without one, FLOPs
  std::string amount_text = {}, bar = {}, parameters = {}, memory = {}, in = {}, out = {};
  std::string needs = {};
};
struct StagesInWords {
  std::string_view word;  // "partition", "stage"
  const StageBalance* balance = nullptr;
  std::vector<StageInWords> stages;
};

// balance_conclusions() of them.
std::vector<std::string> conclusions_of(const StagesInWords& said);
// As many rows as the list shows.
KeptTable stages_table(const StagesInWords& said, CappedList& list);
// As wide as the load, or else the work; the slowest is marked.
std::vector<PageStripPart> strip_of(const StagesInWords& said);
// The columns of the drawing, each as tall as its share of the slowest one's load.
std::vector<StageColumn> columns_of(const StagesInWords& said);

// "a stage takes compute + in + out (serial)"
std::string comm_text(CommModel comm);

// One of several targets that the devices of stages are of.
struct TargetOfStages {
  std::string name;             // "cpu": the host
  std::size_t takes = 0;        // nodes
  std::size_t measured = 0;     // of all nodes
  bool is_scaled = false;       // estimates are scaled to what was measured
  double measured_share = 0;    // of the times
  double flops_per_second = 0;  // for nodes that were not measured
  double bytes_per_second = 0;
};

// The costs and devices that the stages of a graph were balanced with.
struct BalanceFacts {
  const Graph& graph;
  const GraphBalance& made;
  const GraphCostOptions& costs;
  const CostSet* measured = nullptr;  // null: no files of times
  std::string unit = {};              // of the problem
  CommModel comm = CommModel::serial;
  Link link = {};                            // between devices without a link of their own
  std::optional<std::uint64_t> memory = {};  // of devices without their own; nullopt: no limit
  std::vector<DeviceSpec> devices = {};      // empty: all are equal
  std::string devices_path = {};             // the file that they are from
  std::vector<TargetOfStages> targets = {};  // empty: all devices are of one
};

// "balanced for 10 TFLOP/s and 100GB/s, which nobody measured: ...": the rates that the times of all nodes, or of those
// that were not measured, follow from; "" where targets have their own, or no time is estimated.
std::string basis_of(const BalanceFacts& facts);

// The other assumptions of the numbers, one per line, with the text after the label at column 11.
std::vector<std::string> assumptions_of(const BalanceFacts& facts);

// Says how many nodes have unknown costs and which option would supply them; empty if none.
std::vector<std::string> caveats_of(const BalanceFacts& facts);

// Notes the tensors of unknown size, which count as 0.
std::vector<std::string> notes_of(const BalanceFacts& facts);

// ---- schedule report ----
//
// Reports on the schedule of a pipeline, compared with the other schedules: a table, JSON, a page
// with a chart, and the CSV that torch's pipeline runtime loads.

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

// The field "schedule" of cleave.stages.
extern const Fields<ScheduleReport> kScheduleFields;

// A chart of the chosen schedule: one row a rank, one box a work.
PageDrawing schedule_drawing(const ScheduleReport& report);

// A page of its own with the chart and the table.
std::string schedule_page(const ScheduleReport& report, const std::string& title);

// ---- stages report ----
//
// The data for the reports of `stage` and of a split by a map: parts in call order, what crosses between
// them, what they share, and their balance.

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
Document stages_document();

// The report for people, at most 100 columns, conclusion first.
std::string stages_text(const StagesReport& report);

// Adds a drawing of stages to a page, or a note that says why there is none.
void add_stages_drawing(ContentPage& page, const std::string& dot, const std::string& what,
                        const LayoutLimits& limits);

// The same as a page for a browser: the drawing and the chart of the schedule, the tables, and where each
// node is.
HtmlPage stages_page(const StagesReport& report, const LayoutLimits& limits);

// The drawing: columns from left to right in call order, each as tall as its load. See
// formats/report/drawings/drawings.h, "dot stages".
std::string stages_dot(const StagesReport& report);

// ---- workload report ----
//
// Reports on the stages of a workload. There is no graph: nodes have their ids as names, and values
// the id of the node that makes them.

struct WorkloadReport {
  std::string path;
  const Workload& workload;
  const BalanceProblem& problem;  // with the devices that were used
  const BalanceResult& result;
  const StageBalance& balance;
  std::vector<std::string> notes = {};
};

// cleave.stages version 1. Stages depend on earlier ones, in the given order of stages; gradients
// that flow back are among the inputs.
std::string workload_json(const WorkloadReport& report);

// The report as text, conclusion first.
std::string workload_text(const WorkloadReport& report);

// The same as a page for a browser.
HtmlPage workload_page(const WorkloadReport& report, const LayoutLimits& limits);

// The drawing: see formats/report/drawings/drawings.h, "dot stages".
std::string draw_workload(const WorkloadReport& report);

}  // namespace cleave
