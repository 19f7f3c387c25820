#include "formats/run/jobs/split_request.h"

#include <algorithm>
#include <array>

#include "core/base/quantity.h"
#include "core/base/quotes.h"
#include "formats/base/text/utf8.h"

namespace cleave {
namespace {

Status<> set_link(SplitRequest& request, const std::string& text) {
  request.link = parse_link(text);
  if (request.link) return Done{};
  return Error{in_quotes(text) + bandwidth_refusal(text)};
}

Status<> add_target(SplitRequest& request, const std::string& text) {
  const auto target = parse_target(text);
  if (!target) return target.error();
  request.targets.push_back(*target);
  if (target->link) request.link = target->link;
  return Done{};
}

Status<> add_costs(SplitRequest& request, const std::string& text) {
  request.costs.push_back(cost_source_of(text));
  return Done{};
}

Status<> add_required(SplitRequest& request, const std::string& text) {
  request.require.push_back(text);
  return Done{};
}

// What is no setting of the table.
struct TextOption {
  std::string_view name;
  bool is_repeatable;
  Status<> (*set)(SplitRequest&, const std::string&);
};
constexpr std::array<TextOption, 4> kTextOptions = {{{"pcie_bw", false, set_link},
                                                     {"target", true, add_target},
                                                     {"costs", true, add_costs},
                                                     {"require", true, add_required}}};

const TextOption* find_text_option(std::string_view name) {
  const auto* const found = std::find_if(kTextOptions.begin(), kTextOptions.end(),
                                         [&](const auto& option) { return option.name == name; });
  return found == kTextOptions.end() ? nullptr : found;
}

// Options of the model and the lists, which are read before, and what is to be done instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kReadBefore = {{
    {"dims", "give ReadOptions::dims to Model::read()"},
    {"input_shapes", "give ReadOptions::input_shapes to Model::read()"},
    {"set_inputs", "give ReadOptions::input_values to Model::read()"},
    {"infer", "the library always reads a model with \"full\""},
    {"fold", "the library always reads a model with \"report\""},
    {"deny", "give ListsRequest::deny to SupportLists::read()"},
    {"verdicts", "give ListsRequest::verdicts to SupportLists::read()"},
    {"all_of", "give ListsRequest::all_of to SupportLists::read()"},
}};

Error unknown_option(std::string_view name) {
  for (const auto& [option, instead] : kReadBefore) {
    if (name != option) continue;
    return {escaped_in_quotes(name) + " is given where the model or the lists are read",
            std::nullopt,
            {std::string(instead)}};
  }
  std::vector<std::string_view> names;
  for (const SplitSetting& setting : split_settings()) names.push_back(setting.name);
  for (const TextOption& option : kTextOptions) names.push_back(option.name);
  const std::string nearest = nearest_name(name, names);
  std::vector<std::string> notes;
  if (!nearest.empty()) notes.push_back("did you mean " + escaped_in_quotes(nearest) + "?");
  return {escaped_in_quotes(name) + " is no setting of a split", std::nullopt, std::move(notes)};
}

// As the caller wrote it: true, -1, "gpu".
std::string as_written(const SettingValue& value) {
  if (const bool* const flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  const std::string* const text = std::get_if<std::string>(&value);
  return text == nullptr ? "null" : escaped_in_quotes(*text);
}

bool is_repeatable(std::string_view name) {
  const TextOption* const option = find_text_option(name);
  return option != nullptr && option->is_repeatable;
}

}  // namespace

Status<> set_in_request(SplitRequest& request, std::string_view name, const SettingValue& value) {
  if (const TextOption* const option = find_text_option(name)) {
    const std::string* const text = std::get_if<std::string>(&value);
    if (text == nullptr) return Error{as_written(value) + " is not a string"};
    return option->set(request, *text);
  }
  const SplitSetting* const setting = find_split_setting(name);
  if (setting == nullptr) return unknown_option(name);
  if (setting->set(request.options, value)) return Done{};
  return Error{as_written(value) + " " + refusal_of(*setting)};
}

Result<SplitRequest, JobFault> request_of(const NamedValues& values) {
  SplitRequest request;
  for (auto given = values.begin(); given != values.end(); ++given) {
    const auto& [name, value] = *given;
    const auto is_same = [&](const auto& other) { return other.first == given->first; };
    if (!is_repeatable(name) && std::any_of(values.begin(), given, is_same)) {
      return job_fault(FaultCause::request,
                       Error{"the setting " + escaped_in_quotes(name) + " is given twice"});
    }
    auto done = set_in_request(request, name, value);
    if (done) continue;
    Error error = std::move(done).error();
    const bool is_known = find_split_setting(name) != nullptr || find_text_option(name) != nullptr;
    if (is_known) error.message = escaped_in_quotes(name) + ": " + error.message;
    return job_fault(FaultCause::request, error);
  }
  return request;
}

}  // namespace cleave
