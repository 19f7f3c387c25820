// Tests a backend: that it accepts what every backend must accept, computes it correctly, and
// refuses what is not a model. With a backend that accepts garbage everything would seem to lower.
#pragma once

#include <string>
#include <vector>

#include "formats/run/backend/session.h"
#include "formats/run/backend/tensor.h"

namespace cleave {

// Three small models with inputs and correct outputs for testing a backend; and two that it must
// refuse.
struct TestModel {
  std::string name;                               // "Add"
  std::string bytes;                              // of the model's file
  std::vector<Tensor> inputs = {}, outputs = {};  // in the model's order; empty: must be refused
};

// Add; MatMul with weights; and two inputs, one of them a scalar, with two outputs whose names are
// not in alphabetical order.
std::vector<TestModel> models_to_take();

// Models of one Add, one Relu and one Identity in that opset: hardly a compiler refuses all of them.
std::vector<TestModel> models_of_one_op(std::int64_t opset);

// Bytes that are not a model, and a node with an unknown op.
std::vector<TestModel> models_to_refuse();

// The same for TensorFlow Lite, in int8, which NPUs take, with scales of 1, so that outputs are exact
// (tflite_test_models.cc).
std::vector<TestModel> tflite_models_to_take();
std::vector<TestModel> tflite_models_to_refuse();

struct SelfTestStep {
  enum class Outcome : std::uint8_t { passed, failed, skipped };
  std::string name;  // "compiles Add"
  Outcome outcome = Outcome::passed;
  std::string detail = {};  // what is wrong, or why it was skipped
  double seconds = 0;
};

struct SelfTest {
  std::string identity;  // the backend's version as it reports it
  std::vector<SelfTestStep> steps;
  bool passed() const;
};

// Runs the test in a new folder of `options.folder`. Ends early when the backend does not start.
SelfTest test_backend(const Backend& backend, const SessionOptions& options);

}  // namespace cleave
