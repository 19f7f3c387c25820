// Where shapes come from besides the rules of operators: what the user gives, and If and Loop that are decided before
// the model runs; and where shapes are lost.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/text/diagnostic.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/index/type.h"
#include "formats/models/onnx/infer/element_rules.h"
#include "formats/models/onnx/infer/elements.h"
#include "formats/models/onnx/infer/op_call.h"

namespace cleave {

// What the user gives about shapes (--dim, --input-shape, --set-input), checked against an ONNX model.

// Sizes by axis, by the value's name.
using OnnxBoundAxes = std::map<std::string, std::map<std::size_t, std::int64_t>, std::less<>>;

class OnnxBoundShapes {
 public:
  // A dim is named by its symbol in the file or, if it has none, as VALUE:AXIS of a value of the
  // main graph. Errors: a dim or input that the model does not have; two sizes for one dim; a shape
  // that contradicts the one in the file.
  static Loaded<OnnxBoundShapes> make(const std::string& file, const OnnxModel& model,
                                      const OnnxLinks& links, const ShapeBindings& bindings);

  // The type with bound dims replaced; for a graph input also with the shape given for it.
  OnnxType bound(OnnxType type) const;
  OnnxType bound_input(std::string_view name, OnnxType type) const;
  // The input's element given with --set-input; its dims are all of size 1.
  std::optional<OnnxElements> held_by(std::string_view name) const;
  // Sets the sizes given as VALUE:AXIS in the value's type, for dims that are not fixed. False when a fixed
  // one is another.
  bool bind_value(std::string_view name, OnnxType& type) const;
  // Whether any such size was given.
  bool binds_values() const { return !axes_.empty(); }
  // The options that gave them: "--dim x:0=64"; "" when there are none.
  std::string axis_options() const;
  bool has_axis(std::string_view name, std::size_t axis) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> dims_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> inputs_;
  OnnxBoundAxes axes_;
  std::map<std::string, OnnxElements, std::less<>> held_;
};

// If and Loop, as far as they are decided before the model runs: an If with a known condition has
// the outputs of its branch; a Loop with a known trip count makes that many elements of each value
// it collects.

// The types and elements of a body's inputs or outputs, as far as they are known.
struct OnnxBodyValues {
  std::vector<OnnxType> types;
  OnnxElementList elements;  // as long as `types`, or empty: none known
};

using OnnxBodyRun =
    std::function<OnnxBodyValues(const OnnxGraph& body, const OnnxBodyValues& inputs)>;

// The branch that a call of If takes; null when its condition is unknown, or the call is not an If.
const OnnxGraph* taken_branch(const OnnxOpCall& call);

// How often the body of a Loop runs while its condition stays true; nullopt when unknown.
std::optional<std::int64_t> loop_trip_count(const OnnxOpCall& call);

// Sets call.outputs and call.output_elements. False: not applicable, ask the schema. The body of a
// Loop is run a few times, until the types of the values it carries stay the same.
bool infer_control_flow(OnnxOpCall& call, const OnnxBodyRun& run);

// Where shapes are lost: nodes that read values of known shape and make values of unknown shape,
// and why.

// Notes for the report, at most two: the first such node in the order of execution, with the reason
// and the options that would help; and how many more there are. A symbolic dim of the model's
// inputs counts as known, since --dim binds it. `types` are those of the main graph's values, by
// number. No option of `bound` is named again. Linear.
std::vector<std::string> lost_shape_notes(const OnnxModel& model, const OnnxLinks& links,
                                          std::span<const OnnxType* const> types,
                                          const OnnxBoundShapes& bound);

}  // namespace cleave
