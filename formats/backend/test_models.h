// Three small ONNX models with inputs and right outputs, by which a backend is tested; and two that
// it must refuse.
#pragma once

#include <string>
#include <vector>

#include "formats/backend/tensor.h"

namespace cleave {

struct TestModel {
  std::string name;                               // "Add"
  std::string bytes;                              // a ModelProto
  std::vector<Tensor> inputs = {}, outputs = {};  // in the model's order; none: to be refused
};

// Add; MatMul with weights; two inputs of which one is a scalar, with two outputs whose names are
// not in alphabetical order.
std::vector<TestModel> models_to_take();

// What is no model, and a node whose op there is not.
std::vector<TestModel> models_to_refuse();

}  // namespace cleave
