#include "formats/lists/options.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "core/base/words.h"
#include "core/split/split.h"
#include "formats/base/text.h"

namespace cleave {

// ---- option ----

std::string_view name_of(Commands command) {
  for (const CommandRow& row : command_rows()) {
    if (row.command == command) return row.name;
  }
  return "cleave";
}

std::string_view group_title(OptionGroup group) {
  constexpr std::array<std::string_view, 7> kTitles = {
      "Model", "Support lists", "Split", "Devices and times", "Output", "Compilers", "Terminal"};
  return kTitles[static_cast<std::size_t>(group)];
}

std::vector<std::string_view> split_names(std::string_view list) { return split_at(list, ','); }

std::string_view Option::name() const { return names.substr(names.rfind(',') + 1); }

std::string Option::key() const {
  std::string key(name());
  key.erase(0, key.find_first_not_of('-'));
  std::ranges::replace(key, '-', '_');
  return key;
}

std::vector<std::string_view> Option::words() const {
  if (value.starts_with('{')) return split_names(value.substr(1, value.size() - 2));
  return value.empty() ? std::vector(more.words.begin(), more.words.end())
                       : std::vector<std::string_view>();
}

std::string Option::value_text() const {
  if (!value.empty() || more.words.empty()) return std::string(value);
  return "{" + joined(more.words, ",") + "}";
}

const Option* find_option(std::string_view name, Commands in) {
  const auto table = option_table();
  const auto found = std::ranges::find_if(
      table, [&](const Option& option) { return (option.in & in) != 0 && option.name() == name; });
  return found == table.end() ? nullptr : &*found;
}

const Option* find_request_option(std::string_view key) {
  const auto table = option_table();
  const auto found = std::ranges::find_if(
      table, [&](const Option& option) { return option.is_of_request() && option.key() == key; });
  return found == table.end() ? nullptr : &*found;
}

// ---- settings in words ----

namespace {

// The schemas of settings of the model instead of the split: ShapeBindings in formats/model.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kModelSettings = {{
    {"infer",
     R"({"description": "Where types of an ONNX model come from; native JSON states them.", )"
     R"("enum": ["off", "file", "full"]})"},
    {"fold", R"({"description": "What is done with what is known before the model runs.", )"
             R"("enum": ["off", "report", "write"]})"},
    {"dims", R"({"description": "Symbolic dims that were bound.", "type": "object", )"
             R"("additionalProperties": {"type": "integer"}})"},
    {"input_shapes", R"({"description": "Shapes that inputs were given; null: a dim left open.", )"
                     R"("type": "object", "additionalProperties": )"
                     R"({"type": "array", "items": {"type": ["integer", "null"]}}})"},
    {"set_inputs", R"({"description": "Values that inputs of one element were given.", )"
                   R"("type": "object", "additionalProperties": {"type": "string"}})"},
    {"signature",
     R"({"description": "The signature of a TensorFlow Lite model, or the program of a torch.export archive, that was asked for.", )"
     R"("type": "string"})"},
    {"state",
     R"({"description": "Outputs of the model by the inputs whose next values they are, that were given.", )"
     R"("type": "object", "additionalProperties": {"type": "string"}})"},
}};

// JSON's null is the word "unlimited".
bool has_no_limit(const Option& option) {
  const auto& words = option.more.words;
  return contains(words, "unlimited");
}

// Calls `take` with each option that is a setting of SplitOptions.
template <class Take>
void each_setting(Take take) {
  for (const Option& option : option_table()) {
    if (option.is_setting()) take(option);
  }
}

void write_schema(JsonText& json, const Option& option) {
  json.begin_object(option.key(), JsonText::Layout::one_line);
  if (option.is_flag()) {
    json.text("type", "boolean");
  } else if (option.more.setting.is_count) {
    json.begin_list("type");
    json.text("integer");
    if (has_no_limit(option)) json.text("null");
    json.end_list();
    json.number("minimum", 0);
  } else if (option.words().empty()) {
    json.text("type", "string");
  } else {
    json.begin_list("enum");
    for (const std::string_view word : option.words()) json.text(word);
    json.end_list();
  }
  json.end_object();
}

}  // namespace

std::string refusal_of(const Option& option) {
  if (!option.more.setting.refusal.empty()) return std::string(option.more.setting.refusal);
  if (option.is_flag()) return "is neither true nor false";
  return option.words().empty() ? "is not a string" : "is not " + alternatives_text(option.words());
}

std::string setting_text(const SettingValue& value) {
  if (const bool* const flag = std::get_if<bool>(&value)) return *flag ? "yes" : "no";
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  const std::string* const text = std::get_if<std::string>(&value);
  return text == nullptr ? "unlimited" : *text;
}

std::vector<std::string> changed_settings(const SplitOptions& before, const SplitOptions& now,
                                          bool has_several_targets) {
  // With several targets, "priority" means that the first list that accepts a node gets it: their order.
  const auto text_of = [&](const Option& option, const SettingValue& value) {
    const std::string text = setting_text(value);
    const bool is_order = has_several_targets && option.name() == "--place" && text == "priority";
    return is_order ? std::string("order") : text;
  };
  std::vector<std::string> changes;
  each_setting([&](const Option& option) {
    if (!option.more.setting.is_compared) return;
    const SettingValue was = option.more.setting.get(before);
    const SettingValue is = option.more.setting.get(now);
    if (was == is) return;
    changes.push_back(std::string(option.name().substr(2)) + ": " + text_of(option, is) + ", was " +
                      text_of(option, was));
  });
  return changes;
}

void write_settings(JsonText& json, const SplitOptions& options) {
  each_setting([&](const Option& option) {
    json.key(option.key());
    const SettingValue value = option.more.setting.get(options);
    if (const bool* const flag = std::get_if<bool>(&value)) {
      json.flag(*flag);
    } else if (const auto* const number = std::get_if<std::int64_t>(&value)) {
      json.number(*number);
    } else if (const std::string* const text = std::get_if<std::string>(&value)) {
      json.text(*text);
    } else {
      json.null();
    }
  });
}

std::string settings_schema() {
  JsonText json;
  json.begin_object();
  json.text("type", "object");
  json.flag("additionalProperties", false);
  json.begin_list("required");
  json.text("infer");
  each_setting([&](const Option& option) { json.text(option.key()); });
  json.end_list();
  json.begin_object("properties");
  for (const auto& [name, schema] : kModelSettings) {
    json.key(name);
    json.document(schema);
  }
  each_setting([&](const Option& option) { write_schema(json, option); });
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

// ---- split request ----

namespace {

// "npu" of "npu=3"; "" when the text does not begin with a lower-case word and "=".
std::string_view target_named_in(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos || text[0] < 'a' || text[0] > 'z') return {};
  const std::string_view name = text.substr(0, equals);
  const bool is_word = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
  return is_word ? name : std::string_view();
}

// Where the text ends in a number after other text, as _run_on_acc_3 does: sets the number, and keeps the
// name, which run_split() compares with that of the subgraph.
bool set_extended_by_name(SplitRequest& request, const Option& option, const std::string& text) {
  const std::size_t digits = text.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits == text.size()) return false;
  if (!option.more.setting.set(request.options, text.substr(digits))) return false;
  request.target_settings.push_back({"", option.name(), text});
  return true;
}

// Options of the model and the lists, which are read before, and what is to be done instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kReadBefore = {{
    {"dims", "give ReadOptions::dims to Model::read()"},
    {"input_shapes", "give ReadOptions::input_shapes to Model::read()"},
    {"set_inputs", "give ReadOptions::input_values to Model::read()"},
    {"state", "the library finds state by names"},
    {"infer", "the library always reads a model with \"full\""},
    {"fold", "the library always reads a model with \"report\""},
    {"deny", "give ListsRequest::deny to SupportLists::read()"},
    {"verdicts", "give ListsRequest::verdicts to SupportLists::read()"},
    {"all_of", "give ListsRequest::all_of to SupportLists::read()"},
    {"as", "give ListsRequest::as to SupportLists::read()"},
}};

bool is_read_before(const Option& option) {
  return option.group == OptionGroup::model || option.group == OptionGroup::list;
}

Error unknown_option(std::string_view key) {
  const Option* const known = find_request_option(key);
  for (const auto& [option, instead] : kReadBefore) {
    if (key != option) continue;
    return {escaped_in_quotes(key) + " is given where the model or the lists are read",
            std::nullopt,
            {std::string(instead)}};
  }
  if (known != nullptr) {
    return {escaped_in_quotes(key) + " is given where the model or the lists are read",
            std::nullopt,
            {"give it to Model::read() or SupportLists::read()"}};
  }
  std::vector<std::string> keys;
  for (const Option& option : option_table()) {
    if (option.is_of_request() && !is_read_before(option)) keys.push_back(option.key());
  }
  const std::string nearest =
      nearest_name(key, std::vector<std::string_view>(keys.begin(), keys.end()));
  std::vector<std::string> notes;
  if (!nearest.empty()) notes.push_back("did you mean " + escaped_in_quotes(nearest) + "?");
  return {escaped_in_quotes(key) + " is no setting of a split", std::nullopt, std::move(notes)};
}

// As the caller wrote it: true, -1, "gpu".
std::string as_written(const SettingValue& value) {
  if (const bool* const flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* const number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  const std::string* const text = std::get_if<std::string>(&value);
  return text == nullptr ? "null" : escaped_in_quotes(*text);
}

}  // namespace

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
    if (!contains(names, name)) names.push_back(name);
  }
  if (names.empty()) names.emplace_back(kOnlyTarget);
  return names;
}

Error no_such_target(std::string_view option, std::string_view name,
                     const std::vector<std::string>& targets) {
  return {std::string(option) + ": " + in_quotes(name) + " is no target",
          std::nullopt,
          {"-s " + std::string(name) + "=LIST makes one; there are: " + joined(targets)}};
}

Status<> check_targets(const ListsRequest& request) {
  const std::vector<std::string> names = request.targets();
  if (contains(names, "cpu")) {
    return Error{"\"cpu\" is the host, which takes what is left and has no list",
                 std::nullopt,
                 {"name an accelerator, as in -s npu=LIST; a file whose own name begins with cpu= "
                  "is written ./cpu=..."}};
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
  if (targets.size() < 2 && std::ranges::any_of(request.targets, has_energy)) {
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

Status<> set_in_request(SplitRequest& request, const Option& option, const SettingValue& value) {
  const std::string* const text = std::get_if<std::string>(&value);
  if (option.more.put != nullptr && option.is_flag()) {
    const bool* const flag = std::get_if<bool>(&value);
    if (flag == nullptr) return Error{as_written(value) + " " + refusal_of(option)};
    return *flag ? option.more.put(request, "") : Status<>(Done{});
  }
  if (option.more.put != nullptr) {
    if (text == nullptr) return Error{as_written(value) + " is not a string"};
    const auto words = option.words();
    if (!words.empty() && !contains(words, *text)) {
      return Error{in_quotes(*text) + " " + refusal_of(option)};
    }
    return option.more.put(request, *text);
  }
  const SplitSetting& setting = option.more.setting;
  if (setting.is_for_targets && text != nullptr && !target_named_in(*text).empty()) {
    SplitOptions tried;
    ListSource own = list_source_of(*text);
    if (!setting.set(tried, own.path)) return Error{in_quotes(own.path) + " " + refusal_of(option)};
    request.target_settings.push_back({std::move(own.target), option.name(), std::move(own.path)});
    return Done{};
  }
  if (option.name() == "--extend" && text != nullptr &&
      set_extended_by_name(request, option, *text)) {
    return Done{};
  }
  if (setting.set(request.options, value)) return Done{};
  return Error{as_written(value) + " " + refusal_of(option)};
}

Result<std::vector<SplitRequest>> phase_requests(const SplitRequest& request) {
  std::vector<SplitRequest> requests;
  std::set<std::string_view> names;
  const std::vector<std::string> targets = request.lists.targets();
  for (const PhaseSpec& phase : request.phases) {
    if (!names.insert(phase.name).second) {
      return Error{"--phase: two phases are named " + in_quotes(phase.name)};
    }
    SplitRequest one = request;
    one.phases = {};
    auto& dims = one.model.bindings.dims;
    std::erase_if(dims, [&](const auto& dim) {
      return std::ranges::any_of(phase.dims,
                                 [&](const auto& own) { return own.first == dim.first; });
    });
    dims.insert(dims.end(), phase.dims.begin(), phase.dims.end());
    const auto is_on = [&](const std::string& target) { return contains(phase.targets, target); };
    for (const std::string& named : phase.targets) {
      if (named != "cpu" && !contains(targets, named)) {
        return no_such_target("--phase", named, targets);
      }
    }
    for (const std::string& target : targets) {
      if (phase.targets.empty() || is_on(target)) continue;
      one.lists.deny.push_back(target == kOnlyTarget ? "*" : target + ":*");
    }
    requests.push_back(std::move(one));
  }
  return requests;
}

Result<SplitRequest, Fault> request_of(const NamedValues& values) {
  SplitRequest request;
  for (auto given = values.begin(); given != values.end(); ++given) {
    const auto& [key, value] = *given;
    const Option* const option = find_request_option(key);
    if (option == nullptr || is_read_before(*option)) {
      return fault_of(FaultCause::request, unknown_option(key));
    }
    const auto is_same = [&](const auto& other) { return other.first == given->first; };
    const std::string* const text = std::get_if<std::string>(&value);
    const bool is_of_target = text != nullptr && !target_named_in(*text).empty();
    if (option->more.repeat == Repeat::never && !is_of_target &&
        std::any_of(values.begin(), given, is_same)) {
      return fault_of(FaultCause::request,
                      Error{"the setting " + escaped_in_quotes(key) + " is given twice"});
    }
    auto done = set_in_request(request, *option, value);
    if (done) continue;
    Error error = std::move(done).error();
    error.message = escaped_in_quotes(key) + ": " + error.message;
    return fault_of(FaultCause::request, error);
  }
  return request;
}

}  // namespace cleave
