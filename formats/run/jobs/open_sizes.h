// Finds how work and bytes depend on open dims, without algebra: the model is read again with a few
// sizes, its shapes are inferred, and the numbers are interpolated and checked on further sizes.
#pragma once

#include <optional>

#include "core/measures/open_sizes.h"
#include "core/split/split.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/run/jobs/split_job.h"

namespace cleave {

// nullopt where no dim of an input is open, where more than four are, where the model takes none of the
// sizes or becomes another graph, and for models so large that reading them 10 to 100 times takes long
// (300,000 nodes in all). `split`: of the model's graph; null: only the FLOPs of the whole.
std::optional<OpenSizes> find_open_sizes(const LoadedModel& model, const Split* split);

// The same of the job's split; nullopt also where times, or shapes of profiles, are those of certain sizes: then
// there are no products.
std::optional<OpenSizes> open_sizes_of(const SplitJob& job);

}  // namespace cleave
