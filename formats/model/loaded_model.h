// LoadedModel: a model that was read, whatever its format. Passes use the graph; the writer of the
// same format also uses the origin, which says where the parts of the file are.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/graph/graph.h"
#include "formats/io/source_file.h"
#include "formats/model/shape_bindings.h"
#include "formats/text/diagnostic.h"
#include "formats/text/limits.h"

namespace cleave {

struct OnnxModel;  // formats/onnx/index/model.h

// Deletes the index of an ONNX file. It is defined with the index, so that this room needs none of
// ONNX's headers.
struct DeleteOnnxModel {
  void operator()(OnnxModel* model) const noexcept;
};

struct Pt2Model;  // formats/pt2/model.h

// Deletes what is kept of a torch.export archive, which is defined in the room of its readers.
struct DeletePt2Model {
  void operator()(Pt2Model* model) const noexcept;
};

// Read from native graph JSON.
struct GraphJsonOrigin {
  SourceSpan output_tree;  // empty where the file has none
};

// Read from an ONNX file.
struct OnnxOrigin {
  std::unique_ptr<OnnxModel, DeleteOnnxModel> model;
};

// Read from a torch.export archive.
struct Pt2Origin {
  std::unique_ptr<Pt2Model, DeletePt2Model> model;
};

// The order is that of ModelFormat.
using ModelOrigin = std::variant<GraphJsonOrigin, OnnxOrigin, Pt2Origin>;
enum class ModelFormat { graph_json, onnx, pt2 };

// The graph's names are views into `source`.
struct LoadedModel {
  SourceFile source;
  ModelOrigin origin;
  Graph graph;
  std::vector<Diagnostic> warnings = {};  // what was read but may surprise
  std::vector<std::string> notes = {};  // for reports: shapes that stay unknown, names made unique
  ShapeBindings bindings = {};          // what the model was read with
  ModelLimits limits = {};

  ModelFormat format() const { return static_cast<ModelFormat>(origin.index()); }
  // The index of the ONNX file; null for a model of another format.
  OnnxModel* onnx() const {
    const OnnxOrigin* const from = std::get_if<OnnxOrigin>(&origin);
    return from == nullptr ? nullptr : from->model.get();
  }
  // What is kept of the torch.export archive; null for a model of another format.
  const Pt2Model* pt2() const {
    const Pt2Origin* const from = std::get_if<Pt2Origin>(&origin);
    return from == nullptr ? nullptr : from->model.get();
  }
  // Empty where the file has none, and for a model of another format than native JSON.
  SourceSpan output_tree() const {
    const GraphJsonOrigin* const from = std::get_if<GraphJsonOrigin>(&origin);
    return from == nullptr ? SourceSpan{} : from->output_tree;
  }
};

}  // namespace cleave
