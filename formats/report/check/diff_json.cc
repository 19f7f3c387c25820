#include "formats/base/json/text.h"
#include "formats/report/check/diff.h"
#include "formats/report/check/move_json.h"
#include "formats/report/words/report_values.h"

namespace cleave {
namespace {

using Layout = JsonText::Layout;

void write_side(JsonText& json, std::string_view key, const DiffSide& side) {
  json.begin_object(key);
  json.text("model", side.model);
  json.text("list", side.list);
  write_opsets(json, side.opsets);
  write_measures(json, side.measures);
  json.end_object();
}

}  // namespace

std::string diff_json(const Diff& diff) {
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.diff");
  json.number("version", 1);
  write_side(json, "before", diff.before);
  write_side(json, "after", diff.after);
  json.flag("model_changed", !diff.is_same_model);
  json.flag("list_changed", !diff.is_same_list);
  json.begin_list("settings_changed");
  for (const std::string& setting : diff.settings) json.text(setting);
  json.end_list();
  json.begin_list("moves");
  for (const std::vector<CheckedMove>* const moves :
       {&diff.to_cpu, &diff.to_acc, &diff.moved, &diff.added}) {
    for (const CheckedMove& move : *moves) {
      json.begin_object();
      write_move(json, move, diff.targets);
      json.end_object();
    }
  }
  json.end_list();
  json.begin_list("removed");
  for (const Diff::Removed& removed : diff.removed) {
    json.begin_object(Layout::one_line);
    json.text("node", removed.node);
    json.text("from", place_name(removed.from, diff.targets));
    json.end_object();
  }
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace cleave
