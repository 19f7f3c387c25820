// Reading a model of any format: told apart by content, then handed to its reader.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/graph.h"
#include "core/support.h"
#include "formats/diagnostic.h"
#include "formats/onnx_model.h"
#include "formats/source_file.h"

namespace cleave {

enum class ModelFormat { graph_json, onnx };

// What a user may say about shapes on the command line.
struct ShapeBindings {
  std::vector<std::pair<std::string, std::int64_t>> dims;                 // --dim N=8
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> inputs;  // --input-shape; -1: free
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
};

// Reads the model at `path` ("-": standard input). On error: all faults found, at most 20.
Loaded<LoadedModel> read_model(const std::string& path, const ShapeBindings& bindings);

// "json", "onnx"
std::string_view model_format_name(ModelFormat format);

// What the format of the model knows of its operators: ONNX's schema registry, else nothing.
OpFacts op_facts(const LoadedModel& model);

}  // namespace cleave
