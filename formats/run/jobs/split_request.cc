#include "formats/run/jobs/split_request.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/quantity.h"
#include "core/base/quotes.h"
#include "core/split/targets.h"
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
  return Done{};
}

Status<> add_costs(SplitRequest& request, const std::string& text) {
  request.costs.push_back(cost_source_of(text));
  return Done{};
}

Status<> add_required(SplitRequest& request, const std::string& text) {
  if (text.empty()) return Error{"names no node: the text is empty"};
  request.require.push_back(text);
  return Done{};
}

// "npu" of "npu=3"; "" when the text does not begin with a lower-case word and "=".
std::string_view target_named_in(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos || text[0] < 'a' || text[0] > 'z') return {};
  const std::string_view name = text.substr(0, equals);
  const bool is_word = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
  return is_word ? name : std::string_view();
}

void add_target_setting(SplitRequest& request, std::string_view setting, std::string_view text) {
  const std::string_view target = target_named_in(text);
  request.target_settings.push_back(
      {std::string(target), setting, std::string(text.substr(target.size() + 1))});
}

constexpr std::string_view kPrefix = "prefix";

// Where the text ends in a number after other text, as _run_on_acc_3 does: sets the number, and keeps the
// name, which targets_of() compares with that of the subgraph.
bool set_extended_by_name(SplitRequest& request, const SplitSetting& setting,
                          const std::string& text) {
  const std::size_t digits = text.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == text.size()) return false;
  if (!setting.set(request.options, text.substr(digits))) return false;
  request.target_settings.push_back({"", setting.name, text});
  return true;
}

Status<> add_prefix(SplitRequest& request, const std::string& text) {
  if (target_named_in(text).empty()) {
    return Error{in_quotes(text) + " names no target: write npu=_npu_"};
  }
  add_target_setting(request, kPrefix, text);
  return Done{};
}

Status<> add_link(SplitRequest& request, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string names = text.substr(0, equals);
  const std::string rate = equals == text.npos ? "" : text.substr(equals + 1);
  const std::size_t dash = names.find('-');
  if (rate.empty() || dash == 0 || dash == names.npos || dash + 1 == names.size()) {
    return Error{in_quotes(text) + " is no link of two targets: write npu-gpu=16GB/s, or " +
                 "npu-gpu=shared where they share their memory"};
  }
  LinkSpec link{names.substr(0, dash), names.substr(dash + 1),
                std::numeric_limits<double>::infinity()};
  if (rate != "shared") {
    const auto parsed = parse_link(rate);
    if (!parsed) return Error{in_quotes(rate) + bandwidth_refusal(rate)};
    link.bytes_per_second = parsed->bytes_per_second;
  }
  request.links.push_back(std::move(link));
  return Done{};
}

Status<> set_overlap(SplitRequest& request, const std::string& text) {
  if (text != "on" && text != "off") return Error{in_quotes(text) + " is not off or on"};
  request.overlap = text == "on";
  return Done{};
}

// What is no setting of the table.
struct TextOption {
  std::string_view name;
  bool is_repeatable;
  Status<> (*set)(SplitRequest&, const std::string&);
};
constexpr std::array<TextOption, 7> kTextOptions = {{{"pcie_bw", false, set_link},
                                                     {"target", true, add_target},
                                                     {"costs", true, add_costs},
                                                     {"require", true, add_required},
                                                     {kPrefix, true, add_prefix},
                                                     {"link", true, add_link},
                                                     {"overlap", false, set_overlap}}};

const TextOption* find_text_option(std::string_view name) {
  const auto* const found = std::find_if(kTextOptions.begin(), kTextOptions.end(),
                                         [&](const auto& option) { return option.name == name; });
  return found == kTextOptions.end() ? nullptr : found;
}

// Options of the model and the lists, which are read before, and what is to be done instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kReadBefore = {{
    {"dims", "give ReadOptions::dims to Model::read()"},
    {"input_shapes", "give ReadOptions::input_shapes to Model::read()"},
    {"set_inputs", "give ReadOptions::input_values to Model::read()"},
    {"infer", "the library always reads a model with \"full\""},
    {"fold", "the library always reads a model with \"report\""},
    {"deny", "give ListsRequest::deny to SupportLists::read()"},
    {"verdicts", "give ListsRequest::verdicts to SupportLists::read()"},
    {"all_of", "give ListsRequest::all_of to SupportLists::read()"},
    {"as", "give ListsRequest::as to SupportLists::read()"},
}};

Error unknown_option(std::string_view name) {
  for (const auto& [option, instead] : kReadBefore) {
    if (name != option) continue;
    return {escaped_in_quotes(name) + " is given where the model or the lists are read",
            std::nullopt,
            {std::string(instead)}};
  }
  const std::string nearest = nearest_name(name, request_settings());
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

std::vector<std::string_view> request_settings() {
  std::vector<std::string_view> names;
  for (const SplitSetting& setting : split_settings()) names.push_back(setting.name);
  for (const TextOption& option : kTextOptions) names.push_back(option.name);
  return names;
}

ListSource list_source_of(std::string_view text) {
  const std::string_view target = target_named_in(text);
  if (target.empty()) return {"", std::string(text)};
  return {std::string(target), std::string(text.substr(target.size() + 1))};
}

std::vector<std::string> ListsRequest::targets() const {
  std::vector<std::string> names;
  for (const std::string& text : paths) {
    std::string name = list_source_of(text).target;
    if (name.empty()) name = kOnlyTarget;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  if (names.empty()) names.emplace_back(kOnlyTarget);
  return names;
}

Error no_such_target(std::string_view option, std::string_view name,
                     const std::vector<std::string>& targets) {
  std::string known;
  for (const std::string& target : targets) known += (known.empty() ? "" : ", ") + target;
  return {std::string(option) + ": " + in_quotes(name) + " is no target",
          std::nullopt,
          {"-s " + std::string(name) + "=LIST makes one; there are: " + known}};
}

Status<> check_targets(const ListsRequest& request) {
  const std::vector<std::string> names = request.targets();
  if (std::find(names.begin(), names.end(), "cpu") != names.end()) {
    return Error{
        "\"cpu\" is the host, which takes what is left and has no list",
        std::nullopt,
        {"name an accelerator, as in -s npu=LIST; a file whose own name begins with cpu= is "
         "written ./cpu=..."}};
  }
  if (names.size() > kMostTargets) {
    return Error{std::to_string(names.size()) + " targets are too many",
                 std::nullopt,
                 {"at most " + std::to_string(kMostTargets) + " are asked"}};
  }
  return Done{};
}

const TargetSpec* link_spec_of(const SplitRequest& request, std::string_view target) {
  const TargetSpec* found = nullptr;
  for (const TargetSpec& spec : request.targets) {
    const bool is_own = spec.name == target;
    if (spec.target != TargetName::acc || !spec.link || (!is_own && spec.name != kOnlyTarget)) {
      continue;
    }
    if (is_own || found == nullptr || found->name != target) found = &spec;
  }
  return found;
}

Diagnostics idle_request_warnings(const SplitRequest& request) {
  Diagnostics warnings;
  const auto warn = [&](const char* option, std::string message) {
    warnings.push_back(
        {.severity = Severity::warning, .file = option, .message = std::move(message)});
  };
  const std::vector<std::string> targets = request.lists.targets();
  for (const std::string& target : targets) {
    const TargetSpec* const spec = request.link ? link_spec_of(request, target) : nullptr;
    if (spec == nullptr) continue;
    warn("--pcie-bw", "is not used" + (targets.size() > 1 ? " for " + target : std::string()) +
                          ": --target " + spec->name + ":link=" + spec->link->name +
                          " is the link");
  }
  const auto has_energy = [](const TargetSpec& spec) { return spec.energy.has_value(); };
  if (targets.size() < 2 &&
      std::any_of(request.targets.begin(), request.targets.end(), has_energy)) {
    warn("--target", "energy= is for several targets, and there is one: nothing is said of energy");
  }
  return warnings;
}

std::vector<CostSource> costs_of(const SplitRequest& request) {
  const std::vector<std::string> targets = request.lists.targets();
  std::vector<CostSource> sources = request.costs;
  for (CostSource& source : sources) {
    if (source.target == CostTarget::cpu) source = cost_source_of(source.path, targets);
  }
  return sources;
}

Status<> set_in_request(SplitRequest& request, std::string_view name, const SettingValue& value) {
  if (const TextOption* const option = find_text_option(name)) {
    const std::string* const text = std::get_if<std::string>(&value);
    if (text == nullptr) return Error{as_written(value) + " is not a string"};
    return option->set(request, *text);
  }
  const SplitSetting* const setting = find_split_setting(name);
  if (setting == nullptr) return unknown_option(name);
  const std::string* const text = std::get_if<std::string>(&value);
  if (setting->is_for_targets && text != nullptr && !target_named_in(*text).empty()) {
    SplitOptions tried;
    const std::string own = text->substr(target_named_in(*text).size() + 1);
    if (!setting->set(tried, own)) return Error{in_quotes(own) + " " + refusal_of(*setting)};
    add_target_setting(request, setting->name, *text);
    return Done{};
  }
  if (setting->name == "extend" && text != nullptr &&
      set_extended_by_name(request, *setting, *text)) {
    return Done{};
  }
  if (setting->set(request.options, value)) return Done{};
  return Error{as_written(value) + " " + refusal_of(*setting)};
}

Result<SplitRequest, Fault> request_of(const NamedValues& values) {
  SplitRequest request;
  for (auto given = values.begin(); given != values.end(); ++given) {
    const auto& [name, value] = *given;
    const auto is_same = [&](const auto& other) { return other.first == given->first; };
    const std::string* const text = std::get_if<std::string>(&value);
    const bool is_of_target = text != nullptr && !target_named_in(*text).empty();
    if (!is_repeatable(name) && !is_of_target && std::any_of(values.begin(), given, is_same)) {
      return fault_of(FaultCause::request,
                      Error{"the setting " + escaped_in_quotes(name) + " is given twice"});
    }
    auto done = set_in_request(request, name, value);
    if (done) continue;
    Error error = std::move(done).error();
    const bool is_known = find_split_setting(name) != nullptr || find_text_option(name) != nullptr;
    if (is_known) error.message = escaped_in_quotes(name) + ": " + error.message;
    return fault_of(FaultCause::request, error);
  }
  return request;
}

}  // namespace cleave
