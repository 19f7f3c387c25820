#include "formats/lists/costs/observed_shapes.h"

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

}  // namespace
}  // namespace cleave
