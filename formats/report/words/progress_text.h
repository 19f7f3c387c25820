// The progress of work, as a line for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/progress.h"

namespace cleave {

// `reading m.json [#####...............] 25%, 52 MiB of 208 MiB, 71 MiB/s, 3 s left`, after
// `seconds` of the task. With fewer columns the bar is shorter, then left out, then the line is
// cut.
std::string progress_line(const WorkDone& work, std::string_view subject, double seconds,
                          std::size_t columns);

// The same for a log: "round 1, compile m.onnx: 2 of 17 partitions, 1 min 30 s so far".
std::string log_line(const WorkDone& work, std::string_view subject, double seconds);

// "3 s", "1 min 20 s", "2 h 5 min"
std::string time_left_text(double seconds);

}  // namespace cleave
