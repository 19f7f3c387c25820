#include "formats/report/split/explain_text.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("each reason code has a page with a heading, a meaning and a way out") {
  const auto names = reason_code_names();
  REQUIRE(names.size() == kReasonCodeCount - 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string page = reason_page(static_cast<ReasonCode>(i + 1));
    INFO(page);
    CHECK(page.starts_with(names[i] + ": "));
    CHECK(page.find("\n\n  ") > names[i].size() + 10);
    CHECK(page.find("\n\nways out\n  - ") != page.npos);
  }
}

TEST_CASE("the page of a code belongs to that code") {
  CHECK(reason_page(ReasonCode::fusion_group).find("--skip-fusion") != std::string::npos);
  CHECK(reason_page(ReasonCode::over_cap).find("--keep-acc-subgraphs") != std::string::npos);
  CHECK(reason_page(ReasonCode::part_limit).find("max_inputs") != std::string::npos);
  CHECK(reason_page(ReasonCode::shared_memory).find("run_decompositions") != std::string::npos);
}

}  // namespace
}  // namespace cleave
