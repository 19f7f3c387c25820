#include "formats/run/backend/self_test.h"

#include <algorithm>
#include <cstring>

#include "formats/base/io/output_file.h"
#include "formats/models/onnx/index/encoding.h"
#include "formats/run/backend/tensor.h"
#include "formats/run/backend/tensor_files.h"

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

namespace {

using Outcome = SelfTestStep::Outcome;
constexpr int kCalls = 20;

class BackendTest {
 public:
  BackendTest(const Backend& backend, const SessionOptions& options)
      : session_(backend, options),
        folder_(options.folder),
        is_tflite_(!backend.may_take("onnx") && backend.may_take("tflite")) {}

  SelfTest run() {
    const auto identity = session_.identity();
    if (!identity) {
      add({"starts", Outcome::failed, identity.error().message});
      return std::move(test_);
    }
    test_.identity = *identity;
    const auto good = is_tflite_ ? tflite_models_to_take() : models_to_take();
    for (const TestModel& model : good) take(model);
    for (const TestModel& model : is_tflite_ ? tflite_models_to_refuse() : models_to_refuse()) {
      refuse(model);
    }
    call_often(good.front());
    return std::move(test_);
  }

 private:
  void add(SelfTestStep step) { test_.steps.push_back(std::move(step)); }

  // Writes the model and its inputs.
  PieceFiles write(const TestModel& model) {
    const std::string stem = folder_ + "/" + std::to_string(written_++);
    PieceFiles piece{.model = stem + (is_tflite_ ? ".tflite" : ".onnx"), .out = stem + ".out"};
    static_cast<void>(write_file(piece.model, model.bytes, true));
    for (const Tensor& input : model.inputs) {
      const std::string file = stem + ".input_" + std::to_string(piece.inputs.size()) + ".pb";
      static_cast<void>(write_file(file, encode_tensor(input), true));
      piece.inputs.push_back({input.name, file});
    }
    for (const Tensor& output : model.outputs) {
      const std::string file = stem + ".output_" + std::to_string(piece.outputs.size()) + ".pb";
      piece.outputs.push_back({output.name, file});
    }
    return piece;
  }

  Attempt compile(const PieceFiles& piece) {
    Attempt attempt{.verdict = LowerVerdict::lowered};
    for (const LowerStage stage : {LowerStage::check, LowerStage::compile}) {
      if (attempt.verdict != LowerVerdict::lowered || !session_.backend().has(stage)) continue;
      attempt = session_.run(stage, piece);
    }
    return attempt;
  }

  static std::string text_of(const Attempt& attempt) {
    std::string text(verdict_name(attempt.verdict));
    if (!attempt.detail.empty()) text += " (" + attempt.detail + ")";
    if (!attempt.message.empty()) text += ": " + first_line(attempt.message, 200);
    return text;
  }

  void take(const TestModel& model) {
    const PieceFiles piece = write(model);
    const Attempt attempt = compile(piece);
    const bool is_good = attempt.verdict == LowerVerdict::lowered;
    add({"compiles " + model.name, is_good ? Outcome::passed : Outcome::failed,
         is_good ? "" : text_of(attempt), attempt.seconds});
    SelfTestStep step{.name = "runs " + model.name};
    if (!is_good || !session_.backend().has(LowerStage::run)) {
      step.outcome = Outcome::skipped;
      step.detail = is_good ? "the file has no \"run\"" : "it is not compiled";
    } else {
      const Attempt ran = session_.run(LowerStage::run, piece);
      step.seconds = ran.seconds;
      step.detail = ran.verdict == LowerVerdict::lowered ? compare(model, piece) : text_of(ran);
      if (!step.detail.empty()) step.outcome = Outcome::failed;
    }
    add(std::move(step));
  }

  std::string compare(const TestModel& model, const PieceFiles& piece) const {
    for (std::size_t i = 0; i < model.outputs.size(); ++i) {
      const auto made = read_tensor_file(piece.outputs[i].file);
      if (!made) return made.error().message;
      const auto difference =
          compare_tensors(model.outputs[i], *made, session_.backend().tolerance);
      if (!difference.is_same()) {
        return "output " + model.outputs[i].name + ": " +
               difference_text(difference, model.outputs[i], *made);
      }
    }
    return {};
  }

  void refuse(const TestModel& model) {
    const Attempt attempt = compile(write(model));
    const bool is_good = attempt.verdict == LowerVerdict::refused ||
                         attempt.verdict == LowerVerdict::no_output ||
                         attempt.verdict == LowerVerdict::crashed;
    std::string detail;
    if (attempt.verdict == LowerVerdict::lowered) {
      detail = "it accepts that: give \"produces\" or \"failed_if\", by which success is judged";
    } else if (!is_good) {
      detail = text_of(attempt);
    }
    add({"refuses " + model.name, is_good ? Outcome::passed : Outcome::failed, detail,
         attempt.seconds});
  }

  void call_often(const TestModel& model) {
    SelfTestStep step{.name = "answers " + std::to_string(kCalls) + " calls alike"};
    if (!session_.backend().serve) {
      step.outcome = Outcome::skipped;
      step.detail = "the file has no \"serve\"";
      return add(std::move(step));
    }
    const PieceFiles piece = write(model);
    for (int i = 0; i < kCalls && step.outcome == Outcome::passed; ++i) {
      const Attempt attempt = compile(piece);
      step.seconds += attempt.seconds;
      if (attempt.verdict == LowerVerdict::lowered) continue;
      step.outcome = Outcome::failed;
      step.detail = "call " + std::to_string(i + 1) + ": " + text_of(attempt);
    }
    add(std::move(step));
  }

  BackendSession session_;
  std::string folder_;
  bool is_tflite_;
  SelfTest test_;
  int written_ = 0;
};

}  // namespace

bool SelfTest::passed() const {
  return std::none_of(steps.begin(), steps.end(),
                      [](const SelfTestStep& step) { return step.outcome == Outcome::failed; });
}

SelfTest test_backend(const Backend& backend, const SessionOptions& options) {
  return BackendTest(backend, options).run();
}

}  // namespace cleave
