// A model as every reader gives it, and sizes that the user binds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "core/graph/state.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"

namespace cleave {

// ---- shape bindings ----
//
// What a user may give about the shapes of a model and its state on the command line, and about which of the
// models in a file is meant.

// Where types and shapes of an ONNX model come from. (Native JSON states them for every value.)
enum class ShapeInference {
  off,   // declarations of the graphs' inputs and outputs, and initializers
  file,  // also value_info
  full,  // also what operators imply
};

// What is done with what is known before the model runs.
enum class Folding {
  off,     // every node stays as it is
  report,  // the branch that an If takes is in its place
  write,   // also, nodes whose results are known integers or booleans become constants
};

// "off", "file", "full"
std::string_view shape_inference_name(ShapeInference inference);
// "off", "report", "write"
std::string_view folding_name(Folding folding);

struct ShapeBindings {
  std::vector<std::pair<std::string, std::int64_t>> dims;                 // --dim N=8
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> inputs;  // --input-shape; -1: free
  std::vector<std::pair<std::string, std::string>> values = {};           // --set-input sr=16000
  ShapeInference inference = ShapeInference::full;                        // --infer
  Folding folding = Folding::report;                                      // --fold
  std::string signature = {};  // --signature; empty: the first one
  StateRequest state = {};     // --state
};

// ShapeBinder: matches what the user gives about shapes (--dim, --input-shape) with what a file
// has, so that a name that binds no dim or input is reported.
class ShapeBinder {
 public:
  explicit ShapeBinder(const ShapeBindings& bindings);

  // Call for each symbolic dim of the file. Returns the size that it is bound to.
  std::optional<std::int64_t> size_of(std::string_view symbol);
  // Call for each input of the file. Returns the dims it is to have, -1 for free ones; null when
  // the user gave no shape for it.
  const std::vector<std::int64_t>* shape_of(std::string_view input);
  // Reports bindings that matched no dim or input, and sizes below 0.
  void report_faults(JsonFaults& faults) const;

 private:
  const ShapeBindings& bindings_;
  // Names found in the file; kept only when there are bindings, for suggestions.
  std::set<std::string, std::less<>> symbols_, inputs_;
};

// ---- loaded model ----
//
// LoadedModel: a model that was read, whatever its format. Passes use the graph; the writer of the
// same format also uses the origin, which knows the offsets of things in the file.

struct OnnxModel;  // formats/onnx/index/index.h

// Deletes the index of an ONNX file. Defined next to the index, so that this folder needs no ONNX
// header.
struct DeleteOnnxModel {
  void operator()(OnnxModel* model) const noexcept;
};

struct Pt2Model;  // formats/pt2/pt2.h

// Deletes the data kept from a torch.export archive. Defined next to its readers.
struct DeletePt2Model {
  void operator()(Pt2Model* model) const noexcept;
};

struct TfliteModel;  // formats/tflite/tflite.h

// Deletes the data kept from a TensorFlow Lite file. Defined next to its readers.
struct DeleteTfliteModel {
  void operator()(TfliteModel* model) const noexcept;
};

// Read from native graph JSON.
struct GraphJsonOrigin {
  SourceSpan output_tree;  // empty when the file has none
};

// Read from an ONNX file.
struct OnnxOrigin {
  std::unique_ptr<OnnxModel, DeleteOnnxModel> model;
};

// Read from a torch.export archive.
struct Pt2Origin {
  std::unique_ptr<Pt2Model, DeletePt2Model> model;
};

// Read from a TensorFlow Lite file.
struct TfliteOrigin {
  std::unique_ptr<TfliteModel, DeleteTfliteModel> model;
};

// The order is that of ModelFormat.
using ModelOrigin = std::variant<GraphJsonOrigin, OnnxOrigin, Pt2Origin, TfliteOrigin>;
enum class ModelFormat { graph_json, onnx, pt2, tflite };

// The graph's names are views into `source`.
struct LoadedModel {
  SourceFile source;
  ModelOrigin origin;
  Graph graph;
  std::vector<Diagnostic> warnings = {};  // what was read but may surprise the user
  std::vector<std::string> notes = {};  // for reports: shapes that stay unknown, names made unique
  std::size_t misfits = 0;              // nodes and values whose shapes contradict each other
  ShapeBindings bindings = {};          // those the model was read with
  ModelLimits limits = {};

  ModelFormat format() const { return static_cast<ModelFormat>(origin.index()); }
  // The index of the ONNX file; null for a model of another format.
  OnnxModel* onnx() const {
    const OnnxOrigin* const from = std::get_if<OnnxOrigin>(&origin);
    return from == nullptr ? nullptr : from->model.get();
  }
  // The data kept from the torch.export archive; null for a model of another format.
  const Pt2Model* pt2() const {
    const Pt2Origin* const from = std::get_if<Pt2Origin>(&origin);
    return from == nullptr ? nullptr : from->model.get();
  }
  // The data kept from the TensorFlow Lite file; null for a model of another format.
  const TfliteModel* tflite() const {
    const TfliteOrigin* const from = std::get_if<TfliteOrigin>(&origin);
    return from == nullptr ? nullptr : from->model.get();
  }
  // Empty when the file has none, and for formats other than native JSON.
  SourceSpan output_tree() const {
    const GraphJsonOrigin* const from = std::get_if<GraphJsonOrigin>(&origin);
    return from == nullptr ? SourceSpan{} : from->output_tree;
  }
};

// What is wrong with the graph of a file, as errors about the file as a whole: the binary formats
// have no lines to point at.
Diagnostics faults_of(const SourceFile& source, std::span<const GraphFault> faults);

// Why no part of this model can be written: the model is to blame.
Fault refusal_of(const LoadedModel& model, const Error& error);

// The model's file, for pieces that copy from it.
std::vector<ByteSource> byte_sources(const LoadedModel& model);

}  // namespace cleave
