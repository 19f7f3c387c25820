// The texts of reports about the time of an inference: the headline, where times come from, and
// what residency would save.
#pragma once

#include <string>

#include "core/study/inference_time.h"
#include "formats/base/json/text.h"

namespace cleave {

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

// Compares what crosses the link with and without residency; empty when there is no difference.
std::string residency_text(const InferenceTime& time);

// The time of a part for tables: "1.2 ms", or "?" when it is unknown.
std::string part_time_text(const PartLatency& part);

// The fields "latency" and "residency" of reports.
void write_latency(JsonText& json, const Latency& latency);
void write_residency(JsonText& json, const InferenceTime& time, const Partition& partition);

}  // namespace cleave
