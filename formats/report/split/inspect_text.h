// What a model is made of, before any support list: its ops with counts, types and FLOPs. Says
// which numbers are unknown, and which option would make them known.
#pragma once

#include <string>

#include "formats/model_file.h"

namespace cleave {

std::string inspect_text(const LoadedModel& model);

// cleave.inspect version 1.
std::string inspect_json(const LoadedModel& model);

}  // namespace cleave
