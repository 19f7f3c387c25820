#include "formats/report/ci/ci_report.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/json.h"
#include "formats/base/text.h"

namespace cleave {

namespace {

using Layout = JsonText::Layout;

// ---- JUnit ----

struct CaseCounts {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;

  void add(const CiSuite& suite) {
    for (const CiCase& test : suite.cases) {
      ++tests;
      failures += test.outcome == CiCase::Outcome::failure ? 1U : 0U;
      errors += test.outcome == CiCase::Outcome::error ? 1U : 0U;
      skipped += test.outcome == CiCase::Outcome::skipped ? 1U : 0U;
    }
  }
  // Jenkins's schema has no `skipped` in the totals of all suites.
  std::string text() const {
    return xml_attribute("tests", std::to_string(tests)) +
           xml_attribute("failures", std::to_string(failures)) +
           xml_attribute("errors", std::to_string(errors));
  }
};

std::string case_text(const CiCase& test) {
  std::string text = "    <testcase" + xml_attribute("name", test.name) +
                     xml_attribute("classname", test.class_name);
  if (test.seconds) text += xml_attribute("time", std::to_string(*test.seconds));
  if (test.outcome == CiCase::Outcome::passed) return text + "/>\n";
  const std::string message = xml_attribute("message", test.message);
  if (test.outcome == CiCase::Outcome::skipped) {
    return text + ">\n      <skipped" + message + "/>\n    </testcase>\n";
  }
  const std::string element = test.outcome == CiCase::Outcome::failure ? "failure" : "error";
  return text + ">\n      <" + element + message + xml_attribute("type", test.type) + ">" +
         xml_lines(test.details) + "</" + element + ">\n    </testcase>\n";
}

std::string suite_text(const CiSuite& suite) {
  CaseCounts counts;
  counts.add(suite);
  std::string text = "  <testsuite" + xml_attribute("name", suite.name) + counts.text() +
                     xml_attribute("skipped", std::to_string(counts.skipped)) + ">\n";
  if (!suite.properties.empty()) text += "    <properties>\n";
  for (const auto& [name, value] : suite.properties) {
    text +=
        "      <property" + xml_attribute("name", name) + xml_attribute("value", value) + "/>\n";
  }
  if (!suite.properties.empty()) text += "    </properties>\n";
  for (const CiCase& test : suite.cases) text += case_text(test);
  return text + "  </testsuite>\n";
}

// ---- SARIF ----

void write_message(JsonText& json, std::string_view key, std::string_view text) {
  json.begin_object(key, Layout::one_line);
  json.text("text", text);
  json.end_object();
}

void write_rules(JsonText& json, std::span<const CiRule> rules) {
  json.begin_object("tool");
  json.begin_object("driver");
  json.text("name", "cleave");
  json.begin_list("rules");
  for (const CiRule& rule : rules) {
    json.begin_object();
    json.text("id", rule.id);
    json.text("name", rule.name);
    write_message(json, "shortDescription", rule.text);
    write_message(json, "fullDescription", rule.text);
    write_message(json, "help", rule.help);
    json.end_object();
  }
  json.end_list();
  json.end_object();
  json.end_object();
}

void write_place(JsonText& json, const FilePlace& place) {
  json.begin_object("physicalLocation");
  json.begin_object("artifactLocation", Layout::one_line);
  json.text("uri", uri_text(place.file));
  json.end_object();
  if (place.has_lines) {
    json.begin_object("region", Layout::one_line);
    json.number("startLine", std::max(place.line, 1U));
    if (place.column > 0) json.number("startColumn", place.column);
    json.end_object();
  }
  json.end_object();
}

void write_nodes(JsonText& json, const CiFinding& finding) {
  if (finding.nodes.empty()) return;
  CappedList list(20);
  json.begin_list("logicalLocations");
  for (const std::string& node : finding.nodes) {
    if (!list.shows_next()) continue;
    json.begin_object(Layout::one_line);
    json.text("name", node);
    json.text("fullyQualifiedName", finding.model + "/" + node);
    json.text("kind", "element");
    json.end_object();
  }
  json.end_list();
}

void write_finding(JsonText& json, std::span<const CiRule> rules, const CiFinding& finding) {
  json.begin_object();
  json.text("ruleId", rules[finding.rule].id);
  json.number("ruleIndex", finding.rule);
  json.text("level", finding.level);
  write_message(json, "message", finding.message);
  json.begin_list("locations");
  json.begin_object();
  write_place(json, finding.place);
  write_nodes(json, finding);
  json.end_object();
  json.end_list();
  if (!finding.rule_place.file.empty()) {
    json.begin_list("relatedLocations");
    json.begin_object();
    write_place(json, finding.rule_place);
    json.end_object();
    json.end_list();
  }
  if (finding.occurrences > 1) json.number("occurrenceCount", finding.occurrences);
  if (!finding.key.empty()) {
    json.begin_object("partialFingerprints", Layout::one_line);
    json.text("primaryLocationLineHash", fingerprint_text(fingerprint(finding.key)));
    json.end_object();
  }
  json.end_object();
}

void write_left_out(JsonText& json, const CappedList& list) {
  if (list.left_out() == 0) return;
  json.begin_list("invocations");
  json.begin_object();
  json.flag("executionSuccessful", true);
  json.begin_list("toolExecutionNotifications");
  json.begin_object();
  json.text("level", "note");
  write_message(json, "message", list.rest("# result is left out", "# results are left out"));
  json.end_object();
  json.end_list();
  json.end_object();
  json.end_list();
}

// ---- annotations ----

std::string annotation(const CiAlert& alert) {
  constexpr std::string_view kInProperties = "%\r\n:,";
  constexpr std::string_view kInMessages = "%\r\n";
  const FilePlace& place = alert.place;
  std::string text = "::error file=" + github_text(place.file, kInProperties);
  if (place.has_lines) text += ",line=" + std::to_string(std::max(place.line, 1U));
  if (place.column > 0) text += ",col=" + std::to_string(place.column);
  return text + ",title=" + github_text(alert.title, kInProperties) +
         "::" + github_text(alert.message, kInMessages) + "\n";
}

}  // namespace

std::string ci_junit(const CiReport& report) {
  CaseCounts all;
  for (const CiSuite& suite : report.suites) all.add(suite);
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                     xml_attribute("name", report.program) + all.text() + ">\n";
  for (const CiSuite& suite : report.suites) text += suite_text(suite);
  return text + "</testsuites>\n";
}

std::string ci_sarif(const CiReport& report) {
  JsonText json;
  json.begin_object();
  json.text("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  json.text("version", "2.1.0");
  json.begin_list("runs");
  json.begin_object();
  write_rules(json, report.rules);
  json.begin_list("results");
  CappedList list(5000);
  list.leave_out(report.findings_left_out);
  for (const CiFinding& finding : report.findings) {
    if (list.shows_next()) write_finding(json, report.rules, finding);
  }
  json.end_list();
  write_left_out(json, list);
  json.text("columnKind", "unicodeCodePoints");
  json.end_object();
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

std::string ci_markdown(const CiReport& report) {
  return "## " + report.program + (report.is_passed ? " passed: " : " FAILED: ") + report.title +
         "\n" + report.body;
}

std::string ci_annotations(const CiReport& report) {
  // GitHub shows ten annotations of a kind for each step, and drops the others without a word. So
  // the last of ten says how many more there are.
  constexpr std::size_t kMost = 10;
  CappedList list(report.alerts.size() > kMost ? kMost - 1 : kMost);
  std::string text;
  for (const CiAlert& alert : report.alerts) {
    if (list.shows_next()) text += annotation(alert);
  }
  return text + list.rest("::error title=" + report.program +
                          "::" + std::string(report.more_alerts) + "\n");
}

std::string markdown_row(std::initializer_list<std::string> cells) {
  std::string row = "|";
  for (const std::string& cell : cells) row += " " + cell + " |";
  return row + "\n";
}

std::string markdown_mark(bool is_passed) { return is_passed ? "ok" : "**FAIL**"; }

}  // namespace cleave
