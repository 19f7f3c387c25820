// The names of the model and of the support lists in reports.
#pragma once

#include <string>
#include <vector>

#include "core/support/support_list.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

// The names of the lists, joined by " + ".
std::string support_name(const std::vector<SupportList>& lists);

// The name of the model's file without .json or .onnx; from standard input, the model's own name.
// Escaped.
std::string model_name(const LoadedModel& model);

}  // namespace cleave
