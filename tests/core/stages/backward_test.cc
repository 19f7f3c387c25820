#include "core/stages/backward.h"

#include <algorithm>

#include "core/stages/stage_boundary.h"
#include "core/stages/stages.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

std::string gradient_text(GradientId id) {
  return id == kNone<GradientId> ? "null" : "g" + std::to_string(index(id));
}

// A line a step: "2(loss:null! a:g0!) -> g1=x g2=w", "!" at outputs that carry gradient; "a: g1 +
// g3 = g4".
std::string backward(std::string_view text, std::string_view digits, std::string_view loss,
                     Sharing sharing = Sharing::replicate) {
  const Graph graph = graph_from_text(text);
  PerNode<std::uint32_t> stage_of(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    stage_of[node] = static_cast<std::uint32_t>(digits[index(node)] - '0');
  }
  const Partition partition = form_stages(graph, stage_of);
  const auto boundaries =
      find_stage_boundaries(graph, partition, {.sharing = sharing, .sharing_of = {}});
  const auto plan = plan_backward(graph, partition, boundaries->root, value_named(graph, loss));
  if (!plan) return plan.error().message;
  const auto name_of = [&](ValueId value) { return std::string(graph.value(value).name); };
  std::string out;
  for (const auto& step : plan->steps) {
    if (const auto* const sum = std::get_if<AccumulateGradient>(&step)) {
      out += name_of(sum->value) + ": " + gradient_text(sum->before) + " + " +
             gradient_text(sum->more) + " = " + gradient_text(sum->sum) + "\n";
      continue;
    }
    const auto& call = std::get<StageBackward>(step);
    out += std::to_string(index(call.stage)) + "(";
    const auto outputs = boundaries->root.outputs[call.stage];
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      const auto& with = call.outputs_with_gradients;
      const bool carries = std::find(with.begin(), with.end(), i) != with.end();
      out += (i == 0 ? "" : " ") + name_of(outputs[i]) + ":" +
             gradient_text(call.output_gradients[i]) + (carries ? "!" : "");
    }
    out += ") ->";
    const auto inputs = boundaries->root.inputs[call.stage];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto id = id_at<GradientId>(index(call.first) + i);
      CHECK(plan->value_of[index(id)] == inputs[i]);
      out += " " + gradient_text(id) + "=" + name_of(inputs[i]);
    }
    out += "\n";
  }
  return out;
}

TEST_CASE("A chain of stages is called backwards from the loss, whose own gradient is null") {
  CHECK(backward("input x\n a = f(x)\n b = f(a)\n loss = f(b)\n output loss", "012", "loss") ==
        "2(loss:null!) -> g0=b\n1(b:g0!) -> g1=a\n0(a:g1!) -> g2=x\n");
}

TEST_CASE("Gradients of a value that several stages read are added") {
  CHECK(backward("input x\n a = f(x)\n b = f(a)\n loss = f(b, a)\n output loss", "012", "loss") ==
        "2(loss:null!) -> g0=b g1=a\n1(b:g0!) -> g2=a\na: g1 + g2 = g3\n0(a:g3!) -> g4=x\n");
}

TEST_CASE("Gradients of a graph input are not added") {
  CHECK(backward("input x\n a = f(x)\n loss = f(a, x)\n output loss", "01", "loss") ==
        "1(loss:null!) -> g0=a g1=x\n0(a:g0!) -> g2=x\n");
}

TEST_CASE("Stages and outputs that the loss does not depend on carry no gradient") {
  CHECK(backward(R"(
    input x
    a = f(x)
    p = f(x)
    b = f(p)
    loss = f(a)
    c = f(b, loss)
    output loss, c)",
                 "00123", "loss") == "2(loss:null!) -> g0=a\n0(p:null a:g0!) -> g1=x\n");
}

TEST_CASE("A stage is called backwards as a whole: all its inputs get a gradient") {
  CHECK(backward("input x\n a = f(x)\n b = f(x)\n loss = f(a)\n c = f(b)\n output loss, c", "0011",
                 "loss") == "1(loss:null! c:null) -> g0=a g1=b\n0(a:g0! b:g1!) -> g2=x\n");
}

TEST_CASE("A transmitted parameter gets the sum of its readers' gradients") {
  CHECK(backward("input x\n param w\n a = f(x, w)\n b = f(a, w)\n loss = f(b, w)\n output loss",
                 "012", "loss", Sharing::transmit) ==
        "2(loss:null!) -> g0=b g1=w\n1(b:g0!) -> g2=a g3=w\nw: g1 + g3 = g4\n"
        "0(a:g2! w:g4!) -> g5=x\n");
}

TEST_CASE("A loss that no stage computes is refused") {
  CHECK(backward("input x\n a = f(x)\n output a, x", "0", "x") ==
        "the loss \"x\" is an input of the model: no stage computes it");
  CHECK(backward("input x\n param w\n a = f(x)\n output a, w", "0", "w") ==
        "the loss \"w\" is a parameter: no stage computes it");
}

}  // namespace
}  // namespace cleave
