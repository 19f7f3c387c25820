#include "formats/report/ci/ci_report.h"

#include <algorithm>
#include <array>

#include "tests/catch2.h"

namespace cleave {

namespace {

constexpr std::array<CiRule, 2> kRules = {
    {{"gate", "GateFails", "A gate fails.", "Mend it."},
     {"node", "NodeMoved", "A node moved.", "Move it back."}}};

CiReport report_of(std::vector<CiCase> cases) {
  CiReport report{.program = "cleave test", .rules = kRules};
  report.suites.push_back({.name = "model with list", .cases = std::move(cases)});
  return report;
}

CiReport report_of_findings(std::size_t count) {
  CiReport report = report_of({});
  for (std::size_t i = 0; i < count; ++i) {
    report.findings.push_back({.rule = 1,
                               .level = "note",
                               .message = "message " + std::to_string(i),
                               .place = {"npu.json", 3, 5},
                               .model = "m.onnx",
                               .nodes = {"conv"}});
  }
  return report;
}

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string alerts(std::size_t count) {
  CiReport report = report_of({});
  for (std::size_t i = 0; i < count; ++i) report.alerts.push_back({{"npu.json"}, "title", "words"});
  return ci_annotations(report);
}

}  // namespace

TEST_CASE("JUnit counts tests by outcome, and says what failed and why") {
  const std::string text = ci_junit(report_of({{.name = "a", .class_name = "c"},
                                               {.name = "b",
                                                .class_name = "c",
                                                .outcome = CiCase::Outcome::skipped,
                                                .message = "nothing to compare with"},
                                               {.name = "d",
                                                .class_name = "c",
                                                .outcome = CiCase::Outcome::failure,
                                                .type = "limit",
                                                .message = "3 < 4",
                                                .details = "x\n"},
                                               {.name = "e",
                                                .class_name = "c",
                                                .outcome = CiCase::Outcome::error,
                                                .type = "crash",
                                                .message = "SIGSEGV",
                                                .seconds = 2}}));
  CHECK(text.find("<testsuites name=\"cleave test\" tests=\"4\" failures=\"1\" errors=\"1\">") !=
        text.npos);
  CHECK(text.find(
            "name=\"model with list\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\">") !=
        text.npos);
  CHECK(text.find("<testcase name=\"a\" classname=\"c\"/>") != text.npos);
  CHECK(text.find("<skipped message=\"nothing to compare with\"/>") != text.npos);
  CHECK(text.find("<failure message=\"3 &lt; 4\" type=\"limit\">x\n</failure>") != text.npos);
  CHECK(text.find("time=\"2.000000\">\n      <error message=\"SIGSEGV\" type=\"crash\"></error>") !=
        text.npos);
  CHECK(text.find("properties") == text.npos);
}

TEST_CASE("JUnit has the numbers of a suite as properties") {
  CiReport report = report_of({});
  report.suites[0].properties = {{"cpu_nodes", "3"}};
  CHECK(ci_junit(report).find("<properties>\n      <property name=\"cpu_nodes\" value=\"3\"/>\n") !=
        std::string::npos);
}

TEST_CASE("a SARIF file has the tool, its rules and the findings at their places") {
  CiReport report = report_of_findings(1);
  report.findings[0].key = "m.onnx conv";
  const std::string text = ci_sarif(report);
  CHECK(text.find("\"id\": \"gate\"") < text.find("\"results\""));
  CHECK(text.find("\"help\": {\"text\": \"Mend it.\"}") != text.npos);
  CHECK(text.find("\"message\": {\"text\": \"message 0\"}") > text.find("\"results\""));
  CHECK(text.find("\"ruleId\": \"node\"") != text.npos);
  CHECK(text.find("\"region\": {\"startLine\": 3, \"startColumn\": 5}") != text.npos);
  CHECK(text.find("\"fullyQualifiedName\": \"m.onnx/conv\"") != text.npos);
  CHECK(text.find("partialFingerprints") != text.npos);
  CHECK(text.find("invocations") == text.npos);
}

TEST_CASE("a model has no lines, and a finding without a key no fingerprint") {
  CiReport report = report_of_findings(1);
  report.findings[0].place = {.file = "m.onnx", .has_lines = false};
  const std::string text = ci_sarif(report);
  CHECK(text.find("region") == text.npos);
  CHECK(text.find("partialFingerprints") == text.npos);
  report.alerts.push_back({report.findings[0].place, "title", "words"});
  CHECK(ci_annotations(report) == "::error file=m.onnx,title=title::words\n");
}

TEST_CASE("a finding may have a rule elsewhere, and stand for several") {
  CiReport report = report_of_findings(1);
  CHECK(ci_sarif(report).find("relatedLocations") == std::string::npos);
  CHECK(ci_sarif(report).find("occurrenceCount") == std::string::npos);
  report.findings[0].rule_place = {.file = "rules.json", .line = 7};
  report.findings[0].occurrences = 12;
  const std::string text = ci_sarif(report);
  CHECK(text.find("\"uri\": \"rules.json\"") > text.find("relatedLocations"));
  CHECK(text.find("\"occurrenceCount\": 12") != text.npos);
}

TEST_CASE("a SARIF file has at most 5,000 findings and says how many are left out") {
  CHECK(ci_sarif(report_of_findings(5000)).find("left out") == std::string::npos);
  const std::string text = ci_sarif(report_of_findings(5001));
  CHECK(count_of(text, "\"ruleId\"") == 5000);
  CHECK(text.find("\"message\": {\"text\": \"1 result is left out\"}") != text.npos);
  CiReport report = report_of_findings(1);
  report.findings_left_out = 2;
  CHECK(ci_sarif(report).find("2 results are left out") != std::string::npos);
}

TEST_CASE("a finding names at most 20 nodes") {
  CiReport report = report_of_findings(1);
  report.findings[0].nodes.assign(30, "conv");
  CHECK(count_of(ci_sarif(report), "fullyQualifiedName") == 20);
}

TEST_CASE("ten annotations are shown, and of more the tenth counts the others") {
  CHECK(alerts(0).empty());
  CHECK(alerts(1) == "::error file=npu.json,line=1,title=title::words\n");
  CHECK(count_of(alerts(10), "title=title") == 10);
  CHECK(alerts(10).find("more") == std::string::npos);
  CHECK(count_of(alerts(11), "title=title") == 9);
  CHECK(alerts(11).ends_with("::error title=cleave test::and 2 more: see the report\n"));
}

TEST_CASE("Markdown begins with the verdict") {
  CiReport report = report_of({});
  report.title = "all gates hold";
  report.body = markdown_row({"a", "", "c"});
  CHECK(ci_markdown(report) == "## cleave test passed: all gates hold\n| a |  | c |\n");
  report.is_passed = false;
  CHECK(ci_markdown(report).starts_with("## cleave test FAILED: "));
}

}  // namespace cleave
