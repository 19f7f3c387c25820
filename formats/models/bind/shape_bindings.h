// What a user may give about the shapes of a model on the command line, and about which of the models
// in a file is meant.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/base/json/fields.h"

namespace cleave {

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

}  // namespace cleave
