#include "formats/report/drawings/html_data.h"

#include "tests/catch2.h"
#include "tests/formats/report/report_case.h"

#include <nlohmann/json.hpp>

namespace cleave {
namespace {

TEST_CASE("the page lists reasons by count, and those of one count in the order of their codes") {
  const ReportCase made = make_report_case(R"(
    input x: float32[4]
    n: scalar = size(x)
    a = Relu(x, n)
    m: scalar = Tanh(x)
    b = Odd(x)
    c = Odd(m)
    output a, b, c)",
                                           "Relu\nTanh\n");
  const Report report = made.report();
  const Views views = make_views(report.model.graph, report.split.partition, {});
  const auto data = nlohmann::json::parse(html_data(report, views, {""}));
  std::string text;
  for (const auto& reason : data["reasons"]) {
    text += reason["code"].get<std::string>() + " " + reason["count"].dump() + "\n";
  }
  CHECK(text == "no_rule 3\nnon_tensor_input 1\nnon_tensor_output 1\n");
}

}  // namespace
}  // namespace cleave
