// What the user says about shapes (--dim, --input-shape), checked against an ONNX model.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model/loaded_model.h"
#include "formats/onnx/index/model.h"
#include "formats/onnx/index/type.h"
#include "formats/text/diagnostic.h"

namespace cleave {

class OnnxBoundShapes {
 public:
  // Errors: a dim or input that the model does not have; two sizes for one dim; a shape that
  // contradicts the one in the file.
  static Loaded<OnnxBoundShapes> make(const std::string& file, const OnnxModel& model,
                                      const ShapeBindings& bindings);

  // The type with bound dims put in; of a graph input also the shape given for it.
  OnnxType bound(OnnxType type) const;
  OnnxType bound_input(std::string_view name, OnnxType type) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> dims_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> inputs_;
};

}  // namespace cleave
