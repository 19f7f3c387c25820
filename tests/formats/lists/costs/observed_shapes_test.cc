#include "formats/lists/costs/observed_shapes.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

enum class Layout { plain, blocked };

// What a profile with one kernel, of a Conv that makes float32[1,20,4,6], says of the model when
// the kernel made this: "agrees", or the contradiction.
std::string verdict(ObservedDims made, Layout layout = Layout::blocked) {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,3,4,6]
    c: float32[1,20,4,6] = Conv(x)
  )");
  CostEntry kernel{.name = "c", .op = "Conv", .us = 1};
  kernel.outputs.push_back(std::move(made));
  const CostEntries file{.path = "p",
                         .format = CostFormat::onnxruntime,
                         .entries = {std::move(kernel)},
                         .has_blocked_layout = layout == Layout::blocked};
  const ObservedShapes seen = observe_shapes(file, match_costs(file, graph), graph);
  CHECK(seen.contradicted == (seen.contradiction ? 1 : 0));
  return seen.contradiction ? seen.contradiction->message : "agrees";
}

std::string contradiction(const std::string& made) {
  return "node \"c\" made " + made + " in the profile, but \"c\" is [1, 20, 4, 6] in the model";
}

TEST_CASE("channels padded to a multiple of 8 or 16 are no contradiction in a blocked layout") {
  CHECK(verdict({1, 20, 4, 6}) == "agrees");
  CHECK(verdict({1, 24, 4, 6}) == "agrees");
  CHECK(verdict({1, 32, 4, 6}) == "agrees");
  CHECK(verdict({1, 28, 4, 6}) == contradiction("[1, 28, 4, 6]"));
  CHECK(verdict({1, 40, 4, 6}) == contradiction("[1, 40, 4, 6]"));
  CHECK(verdict({1, 16, 4, 6}) == contradiction("[1, 16, 4, 6]"));
  CHECK(verdict({1, 20, 8, 6}) == contradiction("[1, 20, 8, 6]"));
  CHECK(verdict({1, 24, 4, 6}, Layout::plain) == contradiction("[1, 24, 4, 6]"));
}

TEST_CASE("dims in another order and a last axis of blocks are no contradiction") {
  CHECK(verdict({1, 4, 6, 20}, Layout::plain) == "agrees");
  CHECK(verdict({1, 2, 4, 6, 16}) == "agrees");
  CHECK(verdict({1, 3, 4, 6, 8}) == "agrees");
  CHECK(verdict({1, 2, 4, 6, 12}) == contradiction("[1, 2, 4, 6, 12]"));
  CHECK(verdict({1, 20, 24}) == contradiction("[1, 20, 24]"));
}

using AllDims = std::vector<ObservedDims>;

CostEntry kernel(std::string name, std::string op, AllDims inputs, AllDims outputs, double us = 1) {
  return {.name = std::move(name),
          .op = std::move(op),
          .us = us,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs)};
}

std::string text_of(const ObservedDims& dims) {
  std::string text;
  for (const std::int64_t dim : dims) text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

// "c 2x8; N=2; not M; 1 differs: ...": the shapes, the dims of inputs, those that conflict, and how
// many kernels have other shapes, with the contradiction.
std::string seen(const char* model, std::vector<CostEntry> kernels, Layout layout = Layout::plain) {
  const Graph graph = graph_from_text(model);
  const CostEntries file{.path = "p",
                         .format = CostFormat::onnxruntime,
                         .entries = std::move(kernels),
                         .has_blocked_layout = layout == Layout::blocked};
  const ObservedShapes made = observe_shapes(file, match_costs(file, graph), graph);
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  for (const ObservedShape& shape : made.shapes) {
    add(std::string(graph.value(shape.value).name) + " " + text_of(shape.dims));
  }
  for (const InputDim& dim : made.dims) add(dim.name + "=" + std::to_string(dim.size));
  for (const std::string& name : made.conflicting_dims) add("not " + name);
  if (made.contradicted > 0) add(std::to_string(made.contradicted) + " differ");
  if (made.contradiction) add(made.contradiction->message);
  return text;
}

constexpr const char* kOpen = R"(
  input x: float32[N,3,?,9]
  param w: float32[8,3,3,3]
  c: float32[N,8,?,7] = Conv(x, w)
  r: float32[N,8,?,7] = Relu(c)
  u: float32 = Softmax(r)
)";

TEST_CASE("kernels give sizes to open dims of values and of the model's inputs") {
  const AllDims in = {{2, 3, 6, 9}, {8, 3, 3, 3}};
  CHECK(seen(kOpen, {kernel("c", "Conv", in, {{2, 8, 4, 7}})}) ==
        "c 2x8x4x7; x 2x3x6x9; N=2; x:2=6");
  CHECK(seen(kOpen, {kernel("r", "Relu", {}, {{5, 8, 4, 7}})}) == "r 5x8x4x7; N=5");
  // By the name of an output; the runtime leaves out the weights.
  CHECK(seen(kOpen, {kernel("c", "Conv", {{2, 3, 6, 9}}, {})}) == "x 2x3x6x9; N=2; x:2=6");
  // A shape without a rank, or with a size that is not known, is of no use.
  CHECK(seen(kOpen, {kernel("u", "Softmax", {}, {{2, 56}})}) == "u 2x56");
  CHECK(seen(kOpen, {kernel("u", "Softmax", {}, {{2, -1}})}).empty());
  CHECK(seen(kOpen, {kernel("u", "Softmax", {}, {{0, 56}})}) == "u 0x56");
  CHECK(seen(kOpen, {kernel("c", "Conv", {}, {{2, 8, -1, 7}})}) == "N=2");
  // Another number of outputs than the node has says nothing.
  CHECK(seen(kOpen, {kernel("c", "Conv", {}, {{9, 9}, {9, 9}})}).empty());
  CHECK(seen("input x: float32[4,3]\n a: float32[4,3] = Relu(x)",
             {kernel("a", "Relu", {{4, 3}}, {{4, 3}})})
            .empty());
}

TEST_CASE("each value is seen once, and a dim of which kernels saw several sizes is none") {
  CHECK(
      seen(kOpen, {kernel("c", "Conv", {}, {{2, 8, 4, 7}}), kernel("r", "Relu", {}, {{2, 8, 4, 7}}),
                   kernel("c", "Conv", {}, {{2, 8, 4, 7}})}) == "c 2x8x4x7; r 2x8x4x7; N=2");
  CHECK(seen(kOpen, {kernel("c", "Conv", {}, {{2, 8, 4, 7}}),
                     kernel("r", "Relu", {}, {{3, 8, 4, 7}})}) == "c 2x8x4x7; r 3x8x4x7; not N");
}

TEST_CASE("an input of the model that differs is a contradiction, whatever its time") {
  const std::vector<CostEntry> kernels = {kernel("r", "Relu", {}, {{2, 8, 4, 7}}, 1000),
                                          kernel("c", "Conv", {{2, 4, 6, 9}}, {{2, 8, 4, 7}}, 1)};
  CHECK(seen(kOpen, kernels) ==
        "r 2x8x4x7; c 2x8x4x7; N=2; 1 differ; node \"c\" read [2, 4, 6, 9] in the profile, but "
        "\"x\" is [N, 3, ?, 9] in the model");
}

TEST_CASE("other kernels contradict the model when they have over a tenth of the time") {
  const auto with = [](double us) {
    return seen(kOpen, {kernel("c", "Conv", {}, {{2, 8, 4, 7}}, 9),
                        kernel("r", "Relu", {}, {{2, 9, 4, 7}}, us)});
  };
  const std::string differs =
      "; node \"r\" made [2, 9, 4, 7] in the profile, but \"r\" is [N, 8, ?, 7] in the model";
  CHECK(with(1) == "c 2x8x4x7; N=2; 1 differ");
  CHECK(with(1.01) == "c 2x8x4x7; N=2; 1 differ" + differs);
  // A kernel that another op gave its name to says nothing of the node.
  CHECK(seen(kOpen, {kernel("r", "Gelu", {}, {{2, 9, 4, 7}})}).empty());
}

TEST_CASE("a fused kernel's input is that of the node before it whose op fits") {
  const std::string model = R"(
  input x: float32[N,3,?,9]
  param w: float32[8,3,3,3]
  c: float32 = Conv(x, w)
)";
  const auto chain = [&](int relus) {
    std::string text = model, last = "c";
    for (int i = 0; i < relus; ++i) {
      const std::string name = "r" + std::to_string(i);
      text.append("  ").append(name).append(": float32 = Relu(").append(last).append(")\n");
      last = name;
    }
    return seen(text.c_str(), {kernel(last + "_nchwc", "Conv", {{2, 3, 6, 9}, {8, 3, 3, 3}}, {})});
  };
  CHECK(chain(0) == "N=2; x:2=6");
  CHECK(chain(1) == "N=2; x:2=6");
  CHECK(chain(5) == "N=2; x:2=6");
  CHECK(chain(6).empty());
  // Where the shape contradicts the input's, or its channels may be padded, it binds nothing.
  CHECK(seen(kOpen, {kernel("c_nchwc", "Conv", {{2, 4, 6, 9}}, {})}).empty());
  CHECK(seen("input x: float32[N,M,4,9]\n param w\n c: float32 = Conv(x, w)",
             {kernel("c_nchwc", "Conv", {{2, 8, 4, 9}}, {})}, Layout::blocked)
            .empty());
  CHECK(seen("input x: float32[N,M,4]\n param w\n c: float32 = Conv(x, w)",
             {kernel("c_nchwc", "Conv", {{2, 8, 4}}, {})}, Layout::blocked) == "N=2; M=8");
}

TEST_CASE("dims in another order need each known size as often as the model has it") {
  const auto made = [](ObservedDims dims) {
    return seen("input x\n a: float32[N,3,3,5] = Relu(x)",
                {kernel("a", "Relu", {}, {std::move(dims)})});
  };
  CHECK(made({7, 3, 3, 5}) == "a 7x3x3x5");
  CHECK(made({3, 5, 3, 7}).empty());
  CHECK(made({3, 5, 7, 7}).starts_with("1 differ"));
  CHECK(made({5, 3, 7, 5}).starts_with("1 differ"));
}

}  // namespace
}  // namespace cleave
