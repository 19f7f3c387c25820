// 1. Settings by name become SplitOptions.
// 2. The texts of targets, the link and costs are parsed.
#include "formats/run/library/split_choices.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "core/base/quantity.h"
#include "formats/base/text/utf8.h"
#include "formats/lists/settings/split_settings.h"
#include "formats/run/jobs/split_job.h"

namespace cleave {
namespace {

JobFault request_fault(std::string message, std::vector<std::string> notes = {}) {
  return job_fault(FaultCause::request, {.message = std::move(message), .notes = std::move(notes)});
}

// Settings of the model in a manifest, and what is to be done instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kModelSettings = {{
    {"dims", "give ReadOptions::dims to Model::read()"},
    {"input_shapes", "give ReadOptions::input_shapes to Model::read()"},
    {"set_inputs", "give ReadOptions::input_values to Model::read()"},
    {"infer", "the library always reads a model with \"full\""},
    {"fold", "the library always reads a model with \"report\""},
}};

JobFault unknown_setting(const std::string& name) {
  for (const auto& [setting, instead] : kModelSettings) {
    if (name == setting) {
      return request_fault(escaped_in_quotes(name) + " is a setting of the model, not of a split",
                           {std::string(instead)});
    }
  }
  std::vector<std::string_view> names;
  for (const SplitSetting& setting : split_settings()) names.push_back(setting.name);
  const std::string nearest = nearest_name(name, names);
  std::vector<std::string> notes;
  if (!nearest.empty()) notes.push_back("did you mean " + escaped_in_quotes(nearest) + "?");
  return request_fault(escaped_in_quotes(name) + " is no setting of a split", std::move(notes));
}

// As the caller wrote it: true, -1, "gpu".
std::string text_of(const NamedSetting& given) {
  if (const bool* const flag = std::get_if<bool>(&given.value)) return *flag ? "true" : "false";
  if (const std::string* const text = std::get_if<std::string>(&given.value))
    return escaped_in_quotes(*text);
  return std::to_string(std::get<std::int64_t>(given.value));
}

// The value as the table takes it: whole numbers of 0 and more.
SettingValue value_of(const NamedSetting& given, SettingForm form) {
  if (const bool* const flag = std::get_if<bool>(&given.value)) return *flag;
  if (const std::string* const text = std::get_if<std::string>(&given.value)) return *text;
  const std::int64_t number = std::get<std::int64_t>(given.value);
  if (number < 0 || form == SettingForm::other) return std::to_string(number);
  return static_cast<std::uint64_t>(number);
}

// Names of partitions become names in ONNX and JSON, which only allow UTF-8.
bool is_wrong_name(const SplitSetting& setting, const SettingValue& value) {
  if (setting.form != SettingForm::name) return false;
  const std::string* const text = std::get_if<std::string>(&value);
  return text != nullptr && first_invalid_utf8(*text) != text->npos;
}

Result<SplitOptions, JobFault> options_of(const std::vector<NamedSetting>& settings) {
  SplitOptions options;
  for (auto given = settings.begin(); given != settings.end(); ++given) {
    const SplitSetting* const setting = find_split_setting(given->name);
    if (setting == nullptr) return unknown_setting(given->name);
    const auto is_same = [&](const NamedSetting& other) { return other.name == given->name; };
    if (std::any_of(settings.begin(), given, is_same)) {
      return request_fault("the setting " + escaped_in_quotes(given->name) + " is given twice");
    }
    const SettingValue value = value_of(*given, setting->form);
    if (is_wrong_name(*setting, value)) {
      return request_fault(escaped_in_quotes(given->name) + ": " + text_of(*given) +
                           " is not UTF-8");
    }
    if (!setting->set(options, value)) {
      return request_fault(escaped_in_quotes(given->name) + ": " + text_of(*given) + " " +
                           refusal_of(*setting));
    }
  }
  return options;
}

}  // namespace

Result<SplitRequest, JobFault> request_of(const SplitChoices& choices) {
  auto options = options_of(choices.settings);
  if (!options) return options.error();
  SplitRequest request;
  request.options = *std::move(options);
  for (const std::string& text : choices.targets) {
    const auto target = parse_target(text);
    if (!target)
      return request_fault("target " + escaped_in_quotes(text) + ": " + target.error().message);
    request.targets.push_back(*target);
    if (target->link) request.link = target->link;
  }
  if (!choices.link.empty()) {
    request.link = parse_link(choices.link);
    if (!request.link)
      return request_fault(escaped_in_quotes(choices.link) + bandwidth_refusal(choices.link));
  }
  for (const std::string& text : choices.costs) request.costs.push_back(cost_source_of(text));
  request.require = choices.require;
  return request;
}

}  // namespace cleave
