#include "formats/report/drawings/node_heat.h"

#include "formats/report/drawings/dot.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/report/report_case.h"

namespace cleave {
namespace {

constexpr std::string_view kModel = R"(
  input x: float32[100,100]
  a: float32[100,100] = MatMul(x, x)
  b: float32[100,100] = Relu(a)
  c: float32[?,100] = Mystery(b)
  output b, c
)";

TEST_CASE("nodes are classed by their share of the total, unknown ones apart") {
  const ReportCase made = make_report_case(kModel, "MatMul\n");
  const Report report = made.report();
  const HeatMap heat = make_heat(report, ColorBy::flops);
  const Graph& graph = made.model.graph;
  CHECK(heat.total == 2e6 + 1e4);
  CHECK(heat_class(heat, heat.amounts[node_named(graph, "a")]) == 0);
  CHECK(heat_class(heat, heat.amounts[node_named(graph, "b")]) == 3);
  CHECK(heat_class(heat, heat.amounts[node_named(graph, "c")]) == kHeatClasses - 1);
  CHECK(heat_text(heat, 2e6) == "2 MFLOP");  // c may have more
  CHECK(heat_text(heat, -1) == "FLOPs not known");
  CHECK(heat_class_name(heat, 0) == "over 10% of the known FLOPs");
  const std::vector<NodeId> both = {node_named(graph, "b"), node_named(graph, "c")};
  CHECK(heat_of(heat, both) == 1e4);
  CHECK(heat_text(heat, both) == "10 kFLOP+");
}

TEST_CASE("shares are given when all amounts are known") {
  const ReportCase made = make_report_case(R"(
    input x: float32[100,100]
    a: float32[100,100] = MatMul(x, x)
    b: float32[100,100] = Relu(a)
    output b
  )",
                                           "MatMul\n");
  const HeatMap heat = make_heat(made.report(), ColorBy::flops);
  CHECK(heat_text(heat, 2e6) == "2 MFLOP, 99.5% of the FLOPs");
  CHECK(heat_class_name(heat, 0) == "over 10% of the FLOPs");
}

TEST_CASE("a drawing by FLOPs has their legend in place of that of support") {
  const ReportCase made = make_report_case(kModel, "MatMul\n");
  const Report report = made.report();
  const HeatMap heat = make_heat(report, ColorBy::flops);
  for (const std::string& drawing :
       {draw_support(report, 100, &heat), draw_support(report, 1, &heat),
        draw_preview(report, &heat), draw_part(report, PartId{0}, 100, &heat)}) {
    CHECK(drawing.find("over 10% of the known FLOPs") != std::string::npos);
    CHECK(drawing.find("unsupported\"") == std::string::npos);
    CHECK(drawing.find("#b2182b") != std::string::npos);
  }
}

TEST_CASE("without times no node's time is known") {
  const ReportCase made = make_report_case(kModel, "MatMul\n");
  const HeatMap heat = make_heat(made.report(), ColorBy::time);
  CHECK(heat.total == 0);
  CHECK(heat_class(heat, heat.amounts[NodeId{0}]) == kHeatClasses - 1);
}

TEST_CASE("a class begins at its least share, and shares below all are the last") {
  HeatMap heat{.by = ColorBy::bytes, .amounts = {}, .total = 1000};
  CHECK(heat_class(heat, 100) == 0);
  CHECK(heat_class(heat, 99.9) == 1);
  CHECK(heat_class(heat, 30) == 1);
  CHECK(heat_class(heat, 29.9) == 2);
  CHECK(heat_class(heat, 10) == 2);
  CHECK(heat_class(heat, 9.9) == 3);
  CHECK(heat_class(heat, 3) == 3);
  CHECK(heat_class(heat, 2.9) == 4);
  CHECK(heat_class(heat, 0) == 4);
  CHECK(heat_class(heat, -1) == 5);
  heat.total = 0;
  CHECK(heat_class(heat, 0) == 4);
  CHECK(heat_text(heat, 0) == "0 B, 0% of the bytes");
  std::string names;
  for (std::size_t i = 0; i < kHeatClasses; ++i) names += heat_class_name(heat, i) + "; ";
  CHECK(names == "over 10% of the bytes; 3% to 10%; 1% to 3%; 0.3% to 1%; less; bytes not known; ");
  heat.by = ColorBy::time;
  CHECK(heat_text(heat, 5) == "5 us, 0% of the time");
}

TEST_CASE("several nodes have the sum of what is known, and nothing where nothing is") {
  HeatMap heat{.by = ColorBy::bytes, .amounts = PerNode<double>(4, -1), .total = 30};
  heat.amounts[NodeId{0}] = 10;
  heat.amounts[NodeId{1}] = 20;
  heat.amounts[NodeId{2}] = 0;
  const auto of = [&](std::vector<NodeId> nodes) { return heat_of(heat, nodes); };
  CHECK(of({NodeId{0}, NodeId{1}}) == 30);
  CHECK(of({NodeId{0}, NodeId{3}}) == 10);
  CHECK(of({NodeId{2}}) == 0);
  CHECK(of({NodeId{2}, NodeId{3}}) == -1);
  CHECK(of({NodeId{3}}) == -1);
  CHECK(heat_text(heat, std::vector<NodeId>{NodeId{3}}) == "bytes not known");
  CHECK(heat_text(heat, std::vector<NodeId>{NodeId{0}}) == "10 B, 33.3% of the bytes");
}

}  // namespace
}  // namespace cleave
