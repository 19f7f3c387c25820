// The result of a tuning as text.
#pragma once

#include <string>

#include "formats/run/jobs/tune_job.h"

namespace cleave {

// `latency 9.5 ms after 3 rounds, all on the CPU 36.8 ms (3.9x)`, then a row for each round.
std::string tune_text(const TuneJob& job);

}  // namespace cleave
