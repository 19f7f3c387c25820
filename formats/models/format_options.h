// Options that mean something for models of some formats only: one table for all that say so.
#pragma once

#include <string>
#include <string_view>

#include "formats/models/bind/loaded_model.h"

namespace cleave {

// "--set-input is for ONNX models, whose shapes are inferred"; "" where the option is for models of that format, or
// for all. `given`: the option as the user wrote it, such as "--fold write".
std::string option_misfit(std::string_view given, ModelFormat format);

// Warnings of options that do nothing for this model, of those by which it was read. A fleet of several formats needs
// none: they are for the models that they fit.
Diagnostics idle_option_warnings(const LoadedModel& model);

}  // namespace cleave
