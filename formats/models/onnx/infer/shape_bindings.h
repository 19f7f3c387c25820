// What the user gives about shapes (--dim, --input-shape, --set-input), checked against an ONNX model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/text/diagnostic.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/index/type.h"
#include "formats/models/onnx/infer/elements.h"

namespace cleave {

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
  // With several models: the bindings that match none of this one.
  const std::vector<std::string>& notes() const { return notes_; }
  // Sets the sizes given as VALUE:AXIS in the value's type, for dims that are not fixed.
  void bind_value(std::string_view name, OnnxType& type) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> dims_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> inputs_;
  OnnxBoundAxes axes_;
  std::map<std::string, OnnxElements, std::less<>> held_;
  std::vector<std::string> notes_;
};

}  // namespace cleave
