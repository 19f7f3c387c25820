#include "formats/run/backend/test_models.h"

#include <cstring>

#include "formats/models/onnx/index/encoding.h"

namespace cleave {
namespace {

constexpr std::int64_t kIrVersion = 8;
constexpr std::int64_t kOpset = 17;

Tensor floats(std::string name, std::vector<std::int64_t> dims, const std::vector<float>& numbers) {
  Tensor tensor{.name = std::move(name), .dtype = DType::float32, .dims = std::move(dims)};
  tensor.bytes.resize(numbers.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
  return tensor;
}

std::string type_of(const Tensor& tensor) {
  std::string shape, type, out;
  for (const std::int64_t dim : tensor.dims) {
    std::string one;
    put_number(one, 1, dim);
    put_bytes(shape, 1, one);
  }
  put_number(type, 1, static_cast<std::int64_t>(tensor.dtype));
  put_bytes(type, 2, shape);
  put_bytes(out, 1, type);
  return out;
}

// A model of the nodes, with the test's inputs and outputs.
std::string model_of(const TestModel& test, const std::vector<OnnxCall>& nodes,
                     const std::vector<Tensor>& weights, std::int64_t opset = kOpset) {
  std::string graph, model;
  for (const OnnxCall& node : nodes) put_bytes(graph, graph_field::kNode, encode_node(node));
  put_bytes(graph, graph_field::kName, test.name);
  for (const Tensor& weight : weights) {
    put_bytes(graph, graph_field::kInitializer, encode_tensor(weight));
  }
  for (const Tensor& input : test.inputs) {
    put_bytes(graph, graph_field::kInput, encode_value_info(input.name, type_of(input)));
  }
  for (const Tensor& output : test.outputs) {
    put_bytes(graph, graph_field::kOutput, encode_value_info(output.name, type_of(output)));
  }
  put_number(model, model_field::kIrVersion, kIrVersion);
  put_bytes(model, model_field::kGraph, graph);
  put_bytes(model, model_field::kOpsetImport, encode_opset("", opset));
  return model;
}

TestModel add_model(std::int64_t opset = kOpset) {
  TestModel test{.name = "Add", .bytes = {}};
  test.inputs = {floats("x", {2, 3}, {1, 2, 3, 4, 5, 6}), floats("y", {2, 3}, {6, 5, 4, 3, 2, 1})};
  test.outputs = {floats("z", {2, 3}, {7, 7, 7, 7, 7, 7})};
  test.bytes = model_of(test, {{"add", "Add", "", {"x", "y"}, {"z"}}}, {}, opset);
  return test;
}

TestModel unary_model(std::string op, std::int64_t opset) {
  TestModel test{.name = op, .bytes = {}};
  test.inputs = {floats("x", {2}, {1, 2})};
  test.outputs = {floats("y", {2}, {1, 2})};
  test.bytes = model_of(test, {{"only", std::move(op), "", {"x"}, {"y"}}}, {}, opset);
  return test;
}

TestModel matmul_model() {
  TestModel test{.name = "MatMul with weights", .bytes = {}};
  test.inputs = {floats("x", {1, 2}, {1, 2})};
  test.outputs = {floats("y", {1, 3}, {9, 12, 15})};
  const Tensor weights = floats("w", {2, 3}, {1, 2, 3, 4, 5, 6});
  test.bytes = model_of(test, {{"product", "MatMul", "", {"x", "w"}, {"y"}}}, {weights});
  return test;
}

TestModel scalar_model() {
  TestModel test{.name = "a scalar and two outputs", .bytes = {}};
  test.inputs = {floats("scale", {}, {3}), floats("a", {2}, {1, 2})};
  test.outputs = {floats("product", {2}, {3, 6}), floats("difference", {2}, {-2, -1})};
  const std::vector<OnnxCall> nodes = {{"mul", "Mul", "", {"a", "scale"}, {"product"}},
                                       {"sub", "Sub", "", {"a", "scale"}, {"difference"}}};
  test.bytes = model_of(test, nodes, {});
  return test;
}

TestModel unknown_op_model() {
  TestModel test{.name = "an unknown op", .bytes = {}};
  test.inputs = {floats("x", {2}, {1, 2})};
  test.outputs = {floats("y", {2}, {1, 2})};
  test.bytes = model_of(test, {{"odd", "NoSuchOpOfOnnx", "", {"x"}, {"y"}}}, {});
  return test;
}

}  // namespace

std::vector<TestModel> models_to_take() { return {add_model(), matmul_model(), scalar_model()}; }

std::vector<TestModel> models_of_one_op(std::int64_t opset) {
  return {add_model(opset), unary_model("Relu", opset), unary_model("Identity", opset)};
}

std::vector<TestModel> models_to_refuse() {
  return {{.name = "garbage", .bytes = "this is not a model\n"}, unknown_op_model()};
}

}  // namespace cleave
