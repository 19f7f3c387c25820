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

}  // namespace
}  // namespace cleave
