// Three small ONNX models with inputs and correct outputs for testing a backend; and two that it
// must refuse.
#pragma once

#include <string>
#include <vector>

#include "formats/run/backend/tensor.h"

namespace cleave {

struct TestModel {
  std::string name;                               // "Add"
  std::string bytes;                              // a ModelProto
  std::vector<Tensor> inputs = {}, outputs = {};  // in the model's order; empty: must be refused
};

// Add; MatMul with weights; and two inputs, one of them a scalar, with two outputs whose names are
// not in alphabetical order.
std::vector<TestModel> models_to_take();

// Models of one Add, one Relu and one Identity in that opset: hardly a compiler refuses all of them.
std::vector<TestModel> models_of_one_op(std::int64_t opset);

// Bytes that are not a model, and a node with an unknown op.
std::vector<TestModel> models_to_refuse();

}  // namespace cleave
