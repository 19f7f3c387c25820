#include "formats/report/split/split_texts.h"

#include <array>

#include "formats/lists/support_file.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

// What inspect prints of the graph with a list "npu" of these ops, one a line.
std::string inspected(std::string_view graph, std::string_view ops) {
  const LoadedModel model{
      SourceFile::from_text("m.json", ""), GraphJsonOrigin{}, graph_from_text(graph), {}, {}};
  auto list = parse_support("npu.txt", ops);
  if (!list) FAIL(format_diagnostic(list.error().front()));
  list->list.name = "npu";
  const std::vector<SupportList> lists = {std::move(list->list)};
  return inspect_text(model, lists);
}

TEST_CASE("inspection lists the ops, the work, and what a known list accepts of both") {
  CHECK(inspected(R"(
    input x: float32[4,8]
    param w: float32[8,8]
    a: float32[4,8] = MatMul(x, w)
    b: float32[4,8] = Relu(a)
    output b)",
                  "MatMul\n") == R"(m: 2 nodes, 544 FLOP, 1 parameter of 256 B
  input x: float32[4, 8]
  output b: float32[4, 8]

op      nodes      work  makes
MatMul      1  512 FLOP  float32
Relu        1   32 FLOP  float32

known list   nodes        work
npu         1 of 2  50%  94.1%
)");
}

TEST_CASE("a list that refuses the opset alone has a row, and the reason below the table") {
  const std::string text = inspected(
      "opset \"\" 21\n input x: float32[4]\n a: float32[4] = Relu(x)\n output a",
      R"({"format": "cleave.support", "version": 1, "allow": [{"op": "Relu", "opset": [9, 20]}]})");
  CHECK(text.find("npu         0 of 1  0%") != std::string::npos);
  CHECK(text.find("npu refuses 1 node for the opset alone, ai.onnx 21") != std::string::npos);
}

TEST_CASE("lists are tried at the first sizes of open dims, and those are named that need them") {
  const LoadedModel model{SourceFile::from_text("m.json", ""),
                          GraphJsonOrigin{},
                          graph_from_text("input x: float32[N,8]\n param w: float32[8,8]\n "
                                          "a: float32[N,8] = MatMul(x, w)\n output a"),
                          {},
                          {}};
  const std::vector<SupportList> lists = {
      parse_support("npu.json", R"({"format": "cleave.support", "version": 1, "name": "npu",
        "allow": [{"op": "MatMul", "shapes": {"0": {"static": true}}}]})")
          ->list};
  CHECK(inspect_text(model, lists).find("npu  ") == std::string::npos);
  ShapeOverlay shapes;
  for (const char* const name : {"x", "a"}) {
    shapes.add(value_named(model.graph, name), std::array<std::int64_t, 2>{1, 8});
  }
  const Graph at_first = model.graph.with_shapes(shapes);
  const std::string text = inspect_text(model, lists, nullptr, &at_first);
  CHECK(text.find("npu         1 of 1  100%  100%") != std::string::npos);
  CHECK(text.find("take as many only where the sizes are given (--dim, --input-shape): npu") !=
        std::string::npos);
}

TEST_CASE("the share of the work is not known when no node has FLOPs") {
  CHECK(inspected("input x: float32[4]\n a: float32[4] = Reshape(x)\n output a", "Reshape\n") ==
        R"(m: 1 node, 0 FLOP, 0 parameters of 0 B
  input x: float32[4]
  output a: float32[4]

op       nodes    work  makes
Reshape      1  0 FLOP  float32

known list   nodes             work
npu         1 of 1  100%  not known
)");
}

TEST_CASE("unknown shapes are counted when all FLOPs are known, with the dims to give") {
  CHECK(inspected("input x: float32[N]\n a: float32[N] = Reshape(x)\n output a", "Odd\n") ==
        R"(m: 1 node, 0 FLOP, 0 parameters of 0 B
  input x: float32[N]
  output a: float32[N]

op       nodes    work  makes
Reshape      1  0 FLOP  float32

not known: shapes of 1 tensor
  to know more give --dim N=SIZE

no node is accepted by a list that is known by name
)");
}

TEST_CASE("nodes of unknown FLOPs are counted when all shapes are known") {
  CHECK(inspected("input x: float32[4]\n a: float32[4] = Odd(x)\n output a", "Odd\n") ==
        R"(m: 1 node, FLOPs not known, 0 parameters of 0 B
  input x: float32[4]
  output a: float32[4]

op   nodes       work  makes
Odd      1  not known  float32

not known: FLOPs of 1 node

known list   nodes             work
npu         1 of 1  100%  not known
)");
}

}  // namespace

}  // namespace cleave
