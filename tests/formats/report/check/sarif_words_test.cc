#include "formats/report/check/sarif_words.h"

#include <array>

#include "tests/catch2.h"

using namespace cleave;

namespace {

constexpr std::array<SarifRule, 1> kRules = {{{"gate", "GateFails", "A gate fails.", "Mend it."}}};

std::string file_with(std::size_t left_out) {
  JsonText json;
  begin_sarif(json, kRules);
  json.begin_object();
  json.text("ruleId", "gate");
  write_sarif_text(json, "message", "coverage is 3%");
  json.end_object();
  return end_sarif(std::move(json), left_out);
}

}  // namespace

TEST_CASE("a SARIF file has the tool, its rules and the results") {
  const std::string text = file_with(0);
  CHECK(text.find("\"id\": \"gate\"") < text.find("\"results\""));
  CHECK(text.find("\"help\": {\"text\": \"Mend it.\"}") != text.npos);
  CHECK(text.find("\"message\": {\"text\": \"coverage is 3%\"}") > text.find("\"results\""));
  CHECK(text.find("invocations") == text.npos);
}

TEST_CASE("a SARIF file says how many results are left out") {
  CHECK(file_with(1).find("\"message\": {\"text\": \"1 result is left out\"}") !=
        std::string::npos);
  CHECK(file_with(2).find("2 results are left out") != std::string::npos);
}
