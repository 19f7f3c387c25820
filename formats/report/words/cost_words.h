// Costs in words and as fields of reports: the link, the numbers of the machine, files of times, a
// calibration, and the time of an inference.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/link.h"
#include "core/cost/calibration.h"
#include "core/cost/device.h"
#include "core/measures/inference_time.h"
#include "formats/base/json/text.h"
#include "formats/lists/costs/model_costs.h"

namespace cleave {

// "gen4x16 (31.5 GB/s)"
std::string link_text(const Link& link);

// The field "machine" of reports: a number that is unknown is null. Calibrated times are left out.
void write_machine(JsonText& json, const Machine& machine);

// What differs between two machines: "launch: 9 ms, was 500 us".
std::vector<std::string> changed_numbers(const Machine& before, const Machine& now);

// "times (--costs, --target): all on the CPU 30 ms, was 20 ms"; "" when they are equal or unknown.
std::string changed_times(std::optional<double> was_us, std::optional<double> is_us);

// `p.json (an ONNX Runtime profile, median of 5 runs): 98.2% of 31.7 ms matched (96.1% by name, 2.1%
// by order), 140 of 159 nodes, 12 of them fused into others`
std::string costs_text(const ModelCosts& costs);

// The largest times without a node: `"ReorderOutput" 43 us, "Transpose" 12 us and 3 more`; empty
// when there are none.
std::string unmatched_text(const ModelCosts& costs);

// An object of the list "costs" of reports.
void write_costs(JsonText& json, std::string_view target, const ModelCosts& costs);

struct CalibratedModel {
  std::string name;
  std::size_t kernels = 0;
  std::size_t unused = 0;
};

// `2,100 kernels of 9 models; typical error of a node 1.4x, of a model 1.15x (each model
// predicted from the others)`, then a row for each model and for each op.
std::string calibration_text(const Calibration& calibration,
                             const std::vector<CalibratedModel>& models);

// True when a time of some node is known on either device: then the report begins with latency.
bool has_times(const InferenceTime& time);

// `latency 17.1 ms: 4.8 CPU + 2.7 acc + 3.5 link + 6.1 for 61 launches; all on the CPU 36.8 ms
// (2.2x); 15.3 ms is possible (--place cost)`. If the total is unknown: the known terms, and the
// option that is missing.
std::string latency_headline(const Graph& graph, const InferenceTime& time);

// "times of the accelerator are missing: give --costs acc=FILE or ...": what is missing from the
// total for the user's setting, and the options that provide it; empty when the total is known.
std::string missing_number_text(const Graph& graph, const InferenceTime& time);

// How much of the time of nodes was measured: "measured 95%", "estimated", or, if the devices
// differ, "CPU measured 100%, accelerator estimated".
std::string measured_text(const MeasuredShares& shares);

// "12.7% of the profile's time (4.37 ms) is of kernels that match no node, and in no figure"; empty
// for less than 1% and where it decides nothing.
std::string unmatched_time_text(const InferenceTime& time);

// Where the times of nodes come from, device by device.
std::string times_text(const Graph& graph, const InferenceTime& time);

// Compares what crosses the link with and without residency, and, of a link that was given, the rates;
// empty when there is no difference.
std::string residency_text(const InferenceTime& time, bool is_link_given);

// Of several targets whose draw is known: "3.2 mJ: 1.1 mJ npu + 0.9 mJ gpu + ...; all on the CPU 9 mJ (2.8x)",
// and, where they were placed for it, what asking them in order takes and the bound; else empty.
std::string energy_text(const InferenceTime& time);

// With --overlap on: "7.2 ms where partitions of different devices run at the same time (1.3x); ..." and the
// partitions that decide it; else empty.
std::string overlap_text(const InferenceTime& time, const Partition& partition);

// The time of a part for tables: "1.2 ms", or "?" when it is unknown.
std::string part_time_text(const PartLatency& part);

// Of several targets the fields "in_order_us", "energy", "direct_links" and, with --overlap on, "schedule".
void write_targets_time(JsonText& json, const InferenceTime& time, const Partition& partition);

// The fields "latency" and "residency" of reports.
void write_latency(JsonText& json, const Latency& latency);
void write_residency(JsonText& json, const InferenceTime& time, const Partition& partition);

}  // namespace cleave
