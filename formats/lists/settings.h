// The table of the settings of a split. Command-line options, the JSON of reports, baselines,
// comparisons, the schema and the library's request_of() are made from it. To add a setting, add a member to SplitOptions and a
// row to the table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/split/options.h"
#include "formats/base/json.h"

namespace cleave {

// A value as it is in JSON. null: no limit.
using SettingValue = std::variant<std::nullptr_t, bool, std::int64_t, std::string>;

enum class SettingForm : std::uint8_t {
  flag,   // true or false
  word,   // one of `words`
  count,  // a whole number; on the command line also one of `words`
  name,   // any text
  other,  // text that `refusal` describes
};

struct SplitSetting {
  std::string_view name;  // of the field in JSON; option_name() makes the option's from it
  SettingForm form = SettingForm::flag;
  std::string_view help;
  std::span<const std::string_view> words = {};
  std::string_view placeholder = {};  // for the value in help, as COUNT; a `word` lists its words
  std::string_view refusal = {};      // what is wrong with a refused value: "is not a ..."
  std::string_view needs = {};        // another option that must be given; empty: none
  bool is_compared = true;            // false: it does not affect the split
  bool is_for_targets = false;        // also takes NAME=VALUE, for one of several targets
  SettingValue (*get)(const SplitOptions&) = nullptr;
  bool (*set)(SplitOptions&, const SettingValue&) = nullptr;  // false: refuses the value
};

// All settings, in the order of help and JSON.
std::span<const SplitSetting> split_settings();
// Null if there is no setting of that name, as in a report of a later version.
const SplitSetting* find_split_setting(std::string_view name);

// "--keep-qdq"
std::string option_name(std::string_view name);

// What is wrong with a value that set() refuses: "is not flops, time or nodes".
std::string refusal_of(const SplitSetting& setting);

// "yes", "3", "fewest"; "unlimited" for null.
std::string setting_text(const SettingValue& value);

// What differs between two settings of a split: `start: cpu, was acc`.
std::vector<std::string> changed_settings(const SplitOptions& before, const SplitOptions& now,
                                          bool has_several_targets);

// The fields of "settings" in reports.
void write_settings(JsonText& json, const SplitOptions& options);

// The schema of "settings" for formats/report/schema/report.schema.json: this table, and the given shapes
// of the model.
std::string settings_schema();

// "reference", "cpu", "acc", "fewest"
std::string_view start_side_name(StartSide side);
// "flops", "time", "nodes", "latency"
std::string_view keep_by_name(KeepBy by);

}  // namespace cleave
