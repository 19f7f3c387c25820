// Reads a model of any format: recognises the format by content, then hands the file to its reader.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/progress.h"
#include "core/condition/op_facts.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/limits.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

// Reads the model at `path` ("-": standard input). On error: all faults found, at most 20; when a
// limit is exceeded, only that fault.
Loaded<LoadedModel> read_model(const std::string& path, const ShapeBindings& bindings,
                               const ModelLimits& limits = {}, const Progress& progress = {});

// Reads the model's file again with other bindings; nullopt when the model cannot take them. Works
// for standard input, too.
std::optional<LoadedModel> read_again(const LoadedModel& model, const ShapeBindings& bindings);

// Reads the file of an ONNX model again, standard input, too, with calls of its own functions replaced by their
// nodes. Calls that stay are named in the notes.
Loaded<LoadedModel> read_inlined(const LoadedModel& model, const ShapeBindings& bindings);

// "json", "onnx", "pt2", "tflite"
std::string_view model_format_name(ModelFormat format);

// The facts about operators that the model's format has: ONNX's schema registry, torch's schemas,
// what a TensorFlow Lite file says of its tensors, else none. They read the elements of constants
// in the model, which must outlive them.
OpFacts op_facts(const LoadedModel& model);

// The path of a parameter in the module that the model was made of: "embed.weight", while the graph
// may call it "embed_weight_1" or "p_embed_weight".

// The target of a native JSON parameter, the parameter, buffer or constant that a torch.export
// signature names; the parameter's own name where the file has neither.
std::string parameter_path(const LoadedModel& model, ValueId parameter);

}  // namespace cleave
