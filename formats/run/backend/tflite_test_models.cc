#include <cstring>
#include <utility>

#include "formats/models/tflite/fields.h"
#include "formats/models/tflite/write/out_table.h"
#include "formats/run/backend/self_test.h"

namespace cleave {
namespace {

using Bytes = std::vector<std::int8_t>;

Tensor int8s(std::string name, std::vector<std::int64_t> dims, const Bytes& numbers) {
  Tensor tensor{.name = std::move(name), .dtype = DType::int8, .dims = std::move(dims)};
  tensor.bytes.assign(numbers.begin(), numbers.end());
  return tensor;
}

template <class T>
std::string bytes_of(T number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// An operator of a test: tensors by their place among inputs, weights and outputs, in this order.
struct Call {
  std::string_view builtin;
  std::vector<std::int32_t> inputs;
  std::int32_t output;
};

class ModelMaker {
 public:
  ModelMaker() { buffers_.emplace_back(schema_table("Buffer")); }  // number 0 is "no data"

  std::string make(const TestModel& test, const std::vector<Tensor>& weights,
                   const std::vector<Call>& calls) {
    for (const Tensor& input : test.inputs) inputs_.push_back(add(input, 0));
    for (const Tensor& weight : weights) add(weight, add_buffer(weight));
    for (const Tensor& output : test.outputs) outputs_.push_back(add(output, 0));
    for (const Call& call : calls) add(call);
    OutTable graph(schema_table("SubGraph"));
    graph.set(tfl::subgraph::tensors, std::move(tensors_));
    graph.set(tfl::subgraph::inputs, std::move(inputs_));
    graph.set(tfl::subgraph::outputs, std::move(outputs_));
    graph.set(tfl::subgraph::operators, std::move(operators_));
    graph.set(tfl::subgraph::name, std::string_view("main"));
    std::vector<OutTable> graphs;
    graphs.push_back(std::move(graph));
    OutTable model(schema_table("Model"));
    model.set(tfl::model::version, std::int64_t{3});
    model.set(tfl::model::operator_codes, std::move(codes_));
    model.set(tfl::model::subgraphs, std::move(graphs));
    model.set(tfl::model::buffers, std::move(buffers_));
    return std::string(encode_tflite(model, TfliteModel{})->pieces.made());
  }

 private:
  std::int32_t add(const Tensor& tensor, std::int64_t buffer) {
    OutTable quantization(schema_table("QuantizationParameters"));
    quantization.set(tfl::quantization::scale, bytes_of(1.0F));
    quantization.set(tfl::quantization::zero_point, bytes_of(std::int64_t{0}));
    OutTable table(schema_table("Tensor"));
    table.set(tfl::tensor::shape,
              std::vector<std::int32_t>(tensor.dims.begin(), tensor.dims.end()));
    table.set(tfl::tensor::type, std::int64_t{kInt8});
    table.set(tfl::tensor::buffer, buffer);
    table.set(tfl::tensor::name, std::string_view(tensor.name));
    table.set(tfl::tensor::quantization, std::move(quantization));
    tensors_.push_back(std::move(table));
    return static_cast<std::int32_t>(tensors_.size() - 1);
  }

  std::int64_t add_buffer(const Tensor& weight) {
    OutTable table(schema_table("Buffer"));
    table.set(tfl::buffer::data, std::string_view(weight.bytes.data(), weight.bytes.size()));
    buffers_.push_back(std::move(table));
    return static_cast<std::int64_t>(buffers_.size() - 1);
  }

  void add(const Call& call) {
    const bool is_known = call.builtin != kUnknown;
    std::uint32_t builtin = schema_operator("CUSTOM");
    for (std::uint32_t i = 0; is_known && i < kSchemaOperatorCount; ++i) {
      if (kSchemaOperators[i].name == call.builtin) builtin = i;
    }
    OutTable code(schema_table("OperatorCode"));
    code.set(tfl::code::deprecated_builtin_code, std::int64_t{builtin});
    code.set(tfl::code::builtin_code, std::int64_t{builtin});
    // The first version of quantised operators.
    code.set(tfl::code::version, std::int64_t{!is_known                           ? 1
                                              : call.builtin == "FULLY_CONNECTED" ? 4
                                                                                  : 2});
    if (!is_known) code.set(tfl::code::custom_code, kUnknown);
    codes_.push_back(std::move(code));
    OutTable op(schema_table("Operator"));
    op.set(tfl::op::opcode_index, static_cast<std::int64_t>(codes_.size() - 1));
    op.set(tfl::op::inputs, call.inputs);
    op.set(tfl::op::outputs, std::vector<std::int32_t>{call.output});
    if (is_known) {
      op.set(tfl::op::builtin_options, OutTable(kSchemaOperators[builtin].options));
    }
    operators_.push_back(std::move(op));
  }

 public:
  static constexpr std::string_view kUnknown = "NoSuchOpOfTensorFlowLite";

 private:
  static constexpr std::int64_t kInt8 = 9;
  std::vector<OutTable> codes_, buffers_, tensors_, operators_;
  std::vector<std::int32_t> inputs_, outputs_;
};

TestModel add_model(std::string_view op) {
  TestModel test{.name = std::string(op), .bytes = {}};
  test.inputs = {int8s("x", {1, 4}, {1, 2, 3, 4}), int8s("y", {1, 4}, {6, 5, 4, 3})};
  test.outputs = {int8s("z", {1, 4}, {7, 7, 7, 7})};
  test.bytes = ModelMaker().make(test, {}, {{op, {0, 1}, 2}});
  return test;
}

TestModel dense_model() {
  TestModel test{.name = "FULLY_CONNECTED with weights", .bytes = {}};
  test.inputs = {int8s("x", {1, 2}, {1, 2})};
  test.outputs = {int8s("y", {1, 3}, {9, 12, 15})};
  const Tensor weights = int8s("w", {3, 2}, {1, 4, 2, 5, 3, 6});
  test.bytes = ModelMaker().make(test, {weights}, {{"FULLY_CONNECTED", {0, 1, -1}, 2}});
  return test;
}

TestModel two_outputs_model() {
  TestModel test{.name = "two outputs", .bytes = {}};
  test.inputs = {int8s("scale", {1, 2}, {3, 3}), int8s("a", {1, 2}, {1, 2})};
  test.outputs = {int8s("product", {1, 2}, {3, 6}), int8s("difference", {1, 2}, {-2, -1})};
  test.bytes = ModelMaker().make(test, {}, {{"MUL", {1, 0}, 2}, {"SUB", {1, 0}, 3}});
  return test;
}

}  // namespace

std::vector<TestModel> tflite_models_to_take() {
  return {add_model("ADD"), dense_model(), two_outputs_model()};
}

std::vector<TestModel> tflite_models_to_refuse() {
  TestModel odd = add_model(ModelMaker::kUnknown);
  odd.name = "an unknown operator";
  return {{.name = "garbage", .bytes = "this is not a model\n"}, std::move(odd)};
}

}  // namespace cleave
