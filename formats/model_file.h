// Reading a model of any format: recognised by content, then handed to its reader.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/progress.h"
#include "core/support/op_facts.h"
#include "formats/model/loaded_model.h"
#include "formats/text/diagnostic.h"
#include "formats/text/limits.h"

namespace cleave {

// Reads the model at `path` ("-": standard input). On error: all faults found, at most 20; where a
// limit is exceeded, that fault alone.
Loaded<LoadedModel> read_model(const std::string& path, const ShapeBindings& bindings,
                               const ModelLimits& limits = {}, const Progress& progress = {});

// The model's file read again with other bindings; nullopt when the model cannot take them. What
// came from standard input can be read again, too.
std::optional<LoadedModel> read_again(const LoadedModel& model, const ShapeBindings& bindings);

// "json", "onnx", "pt2"
std::string_view model_format_name(ModelFormat format);

// What the format of the model knows about its operators: ONNX's schema registry, torch's
// schemas, else no facts.
OpFacts op_facts(const LoadedModel& model);

}  // namespace cleave
