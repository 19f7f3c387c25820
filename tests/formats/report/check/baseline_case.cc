#include "tests/formats/report/check/baseline_case.h"

#include "tests/catch2.h"

namespace cleave {

EarlierResult earlier(const ReportCase& result) {
  auto baseline = parse_baseline(
      "main.json", baseline_json({{"m.json", "npu.txt", report_json(result.report())}}));
  if (!baseline) FAIL(format_diagnostic(baseline.error().front()));
  const EarlierResult* const found = baseline->find("m.json", "npu.txt");
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace cleave
