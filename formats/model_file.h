// Reading a model of any format: told apart by content, then handed to its reader.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/progress.h"
#include "core/graph/graph.h"
#include "core/support/support.h"
#include "formats/io/source_file.h"
#include "formats/onnx/index/model.h"
#include "formats/text/diagnostic.h"
#include "formats/text/limits.h"

namespace cleave {

enum class ModelFormat { graph_json, onnx };

// Where types and shapes of an ONNX model come from. (Native JSON states them of every value.)
enum class ShapeInference {
  off,   // what is declared of the inputs and outputs of graphs, and initializers
  file,  // also value_info
  full,  // also what follows from the operators
};

// What a user may say about shapes on the command line.
struct ShapeBindings {
  std::vector<std::pair<std::string, std::int64_t>> dims;                 // --dim N=8
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> inputs;  // --input-shape; -1: free
  ShapeInference inference = ShapeInference::full;                        // --infer
};

// A model read: the graph, and what its writer needs. The graph's names are views into `source`.
struct LoadedModel {
  SourceFile source;
  ModelFormat format;
  Graph graph;
  std::unique_ptr<OnnxModel> onnx = {};   // only for ONNX
  std::vector<Diagnostic> warnings = {};  // what was read but may surprise
  std::vector<std::string> notes = {};  // for reports: shapes that stay unknown, names made unique
  SourceSpan output_tree = {};          // JSON: where the source has one
  ShapeBindings bindings = {};          // as it was read under, and
  ModelLimits limits = {};
};

// Reads the model at `path` ("-": standard input). On error: all faults found, at most 20; of a
// limit that it is beyond, that one alone.
Loaded<LoadedModel> read_model(const std::string& path, const ShapeBindings& bindings,
                               const ModelLimits& limits = {}, const Progress& progress = {});

// The model's file read again under other bindings; nothing when these cannot be given to it. What
// came from standard input can be read again, too.
std::optional<LoadedModel> read_again(const LoadedModel& model, const ShapeBindings& bindings);

// "off", "file", "full"
std::string_view shape_inference_name(ShapeInference inference);

// "json", "onnx"
std::string_view model_format_name(ModelFormat format);

// What the format of the model knows of its operators: ONNX's schema registry, else nothing.
OpFacts op_facts(const LoadedModel& model);

}  // namespace cleave
