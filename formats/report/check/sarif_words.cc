#include "formats/report/check/sarif_words.h"

#include <utility>

#include "formats/base/text/number_text.h"

namespace cleave {
namespace {

void write_tool(JsonText& json, std::span<const SarifRule> rules) {
  json.begin_object("tool");
  json.begin_object("driver");
  json.text("name", "cleave");
  json.begin_list("rules");
  for (const SarifRule& rule : rules) {
    json.begin_object();
    json.text("id", rule.id);
    json.text("name", rule.name);
    write_sarif_text(json, "shortDescription", rule.text);
    write_sarif_text(json, "fullDescription", rule.text);
    write_sarif_text(json, "help", rule.help);
    json.end_object();
  }
  json.end_list();
  json.end_object();
  json.end_object();
}

void write_notification(JsonText& json, std::size_t left_out) {
  json.begin_list("invocations");
  json.begin_object();
  json.flag("executionSuccessful", true);
  json.begin_list("toolExecutionNotifications");
  json.begin_object();
  json.text("level", "note");
  write_sarif_text(json, "message", counted(left_out, "result is", "results are") + " left out");
  json.end_object();
  json.end_list();
  json.end_object();
  json.end_list();
}

}  // namespace

void begin_sarif(JsonText& json, std::span<const SarifRule> rules) {
  json.begin_object();
  json.text("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
  json.text("version", "2.1.0");
  json.begin_list("runs");
  json.begin_object();
  write_tool(json, rules);
  json.begin_list("results");
}

std::string end_sarif(JsonText&& json, std::size_t left_out) {
  json.end_list();
  if (left_out > 0) write_notification(json, left_out);
  json.text("columnKind", "unicodeCodePoints");
  json.end_object();
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

void write_sarif_text(JsonText& json, std::string_view key, std::string_view text) {
  json.begin_object(key, JsonText::Layout::one_line);
  json.text("text", text);
  json.end_object();
}

}  // namespace cleave
