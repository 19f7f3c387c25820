// The settings of a split, each of them once. Options of the command line, the JSON of reports,
// baselines, comparisons and the schema are made from this table: a new setting is a member of
// SplitOptions and a row of the table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/split/options.h"
#include "formats/json/text.h"

namespace cleave {

// A value as JSON has it. null: without a limit.
using SettingValue = std::variant<std::nullptr_t, bool, std::uint64_t, std::string>;

enum class SettingForm : std::uint8_t {
  flag,   // true or false
  word,   // one of `words`
  count,  // a whole number; on the command line also one of `words`
  name,   // any text
  other,  // text that `refusal` describes
};

struct SplitSetting {
  std::string_view name;  // of the field in JSON; its option is called likewise: option_name()
  SettingForm form = SettingForm::flag;
  std::string_view help;
  std::span<const std::string_view> words = {};
  std::string_view placeholder = {};  // of the option's value, as COUNT; a word's are its words
  std::string_view refusal = {};      // what is wrong with a value that is not taken: "is no ..."
  std::string_view needs = {};        // the option that must be given, too; empty: none
  bool is_compared = true;            // false: it moves no node
  SettingValue (*get)(const SplitOptions&) = nullptr;
  bool (*set)(SplitOptions&, const SettingValue&) = nullptr;  // false: it takes no such value
};

// In the order of help and JSON.
std::span<const SplitSetting> split_settings();
// Null when there is none of the name, as in a report of a later version.
const SplitSetting* find_split_setting(std::string_view name);

// "--keep-qdq"
std::string option_name(const SplitSetting& setting);

// What is wrong with a value that set() does not take: "is not flops, time or nodes".
std::string refusal_of(const SplitSetting& setting);

// "yes", "3", "fewest"; "unlimited" for null.
std::string setting_text(const SettingValue& value);

// What differs between two settings of a split: `start: cpu, was acc`.
std::vector<std::string> changed_settings(const SplitOptions& before, const SplitOptions& now);

// The fields of "settings" in reports.
void write_settings(JsonText& json, const SplitOptions& options);

// What formats/schema/report.schema.json says of "settings": those of this table, and the shapes that
// the model was read under.
std::string settings_schema();

// "reference", "cpu", "acc", "fewest"
std::string_view start_side_name(StartSide side);
// "flops", "time", "nodes", "latency"
std::string_view keep_by_name(KeepBy by);

}  // namespace cleave
