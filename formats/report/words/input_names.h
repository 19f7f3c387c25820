// What reports call a model and the support lists.
#pragma once

#include <string>
#include <vector>

#include "core/support/support_list.h"
#include "formats/model/loaded_model.h"

namespace cleave {

// The names of the lists, joined by " + ".
std::string support_name(const std::vector<SupportList>& lists);

// The name of the model's file without .json or .onnx; of standard input the model's own. Escaped.
std::string model_name(const LoadedModel& model);

}  // namespace cleave
