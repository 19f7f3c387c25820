// What a model is made of, before a support list is chosen: its ops with counts, types and FLOPs,
// and how much of it each known list accepts. Says which numbers are unknown, and which option would
// make them known.
#pragma once

#include <span>
#include <string>

#include "core/measures/open_sizes.h"
#include "core/support/support_list.h"
#include "formats/models/model_file.h"

namespace cleave {

// `lists`: those known by name; one line of coverage for each. `sizes`: how the work depends on open dims;
// null: on none, or it is not known.
std::string inspect_text(const LoadedModel& model, std::span<const SupportList> lists,
                         const OpenSizes* sizes = nullptr);

// cleave.inspect version 1.
std::string inspect_json(const LoadedModel& model, std::span<const SupportList> lists,
                         const OpenSizes* sizes = nullptr);

}  // namespace cleave
