// What a command tells a CI server: what failed, where, and why. A command fills in the facts, and the
// functions below write them in the four forms that servers read.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave {

// A place in a file that the user wrote, or a model, which has no lines.
struct FilePlace {
  std::string file;
  std::uint32_t line = 0;  // 0: the file as a whole
  std::uint32_t column = 0;
  bool has_lines = true;
};

// A test of JUnit: a gate, or a partition that a compiler was given.
struct CiCase {
  enum class Outcome : std::uint8_t { passed, skipped, failure, error };
  std::string name;
  std::string class_name;
  Outcome outcome = Outcome::passed;
  std::string type = {};     // of the failure
  std::string message = {};  // of the failure, or why it is skipped
  std::string details = {};  // of the failure, in lines
  std::optional<double> seconds = {};
};

struct CiSuite {
  std::string name;
  std::vector<std::pair<std::string, std::string>> properties = {};
  std::vector<CiCase> cases = {};
};

// A message at a place, for a person who looks at the change.
struct CiAlert {
  FilePlace place;
  std::string title, message;
};

// What a code scanner shows for a kind of finding. `help` says how to be rid of it.
struct CiRule {
  std::string_view id, name, text, help;
};

struct CiFinding {
  std::size_t rule = 0;    // index of CiReport::rules
  std::string_view level;  // "error", "warning", "note"
  std::string message;
  FilePlace place;
  FilePlace rule_place = {};  // of the rule to blame; no file: there is none, or not in the project
  std::size_t occurrences = 1;  // that it stands for
  std::string model = {};
  std::vector<std::string> nodes = {};  // of the model
  std::string key = {};                 // identifies it from run to run; "": nothing does
};

struct CiReport {
  std::string program;  // "cleave check"
  bool is_passed = true;
  std::vector<CiSuite> suites = {};
  std::vector<CiAlert> alerts = {};
  std::string_view more_alerts = "and # more: see the report";  // see CappedList::rest()
  std::span<const CiRule> rules = {};
  std::vector<CiFinding> findings = {};
  std::size_t findings_left_out = 0;  // that are not in `findings`, with their occurrences
  std::string title = {};             // Markdown: what follows "passed: "
  std::string body = {};              // Markdown: all below
};

// JUnit XML: the field list is of github.com/testmoapp/junitxml.
std::string ci_junit(const CiReport& report);

// SARIF 2.1.0. At most 5,000 findings, as GitHub keeps; a notification counts the others. Of a finding
// at most 20 nodes are named.
std::string ci_sarif(const CiReport& report);

// Markdown, for a step summary or a pull request.
std::string ci_markdown(const CiReport& report);

// Commands of GitHub's runners, one for each alert; GitHub shows ten, so the tenth counts the others if
// there are more.
std::string ci_annotations(const CiReport& report);

// A row of a table in Markdown.
std::string markdown_row(std::initializer_list<std::string> cells);
// "ok" or "FAIL" in such a row.
std::string markdown_mark(bool is_passed);

}  // namespace cleave
