// In this order:
// 1. The words of settings that take one of a few.
// 2. Functions that get and set a setting in SplitOptions, one pair for each form.
// 3. The table of settings.
// 4. Functions that use the table.
#include "formats/lists/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "formats/base/text.h"

namespace cleave {

namespace {

// ---- words ----

template <class Value, std::size_t Count>
using Words = std::array<std::pair<std::string_view, Value>, Count>;

constexpr Words<StartSide, 4> kStartSides = {{{"reference", StartSide::reference},
                                              {"cpu", StartSide::cpu},
                                              {"acc", StartSide::acc},
                                              {"fewest", StartSide::fewest}}};
constexpr Words<PackBy, 2> kPackBy = {{{"early", PackBy::early}, {"bytes", PackBy::bytes}}};
constexpr Words<KeepBy, 4> kKeepBy = {{{"flops", KeepBy::flops},
                                       {"time", KeepBy::time},
                                       {"nodes", KeepBy::nodes},
                                       {"latency", KeepBy::latency}}};
constexpr Words<PlaceBy, 3> kPlaceBy = {
    {{"priority", PlaceBy::priority}, {"order", PlaceBy::priority}, {"cost", PlaceBy::cost}}};
constexpr Words<PlaceGoal, 2> kPlaceGoals = {
    {{"latency", PlaceGoal::latency}, {"energy", PlaceGoal::energy}}};
constexpr Words<Residency, 2> kResidency = {{{"off", Residency::off}, {"on", Residency::on}}};
constexpr std::array<std::string_view, 1> kAuto = {"auto"};
constexpr std::array<std::string_view, 2> kUnlimitedOrAuto = {"unlimited", "auto"};

template <class Value, std::size_t Count>
constexpr std::array<std::string_view, Count> words_of(const Words<Value, Count>& table) {
  std::array<std::string_view, Count> words;
  for (std::size_t i = 0; i < Count; ++i) words[i] = table[i].first;
  return words;
}
template <const auto& table>
constexpr auto kWordsOf = words_of(table);

template <const auto& table, class Value>
std::string_view word_of(Value value) {
  const auto* const found = std::find_if(table.begin(), table.end(),
                                         [&](const auto& word) { return word.second == value; });
  return found == table.end() ? std::string_view() : found->first;
}

// ---- forms ----

template <auto member>
constexpr SplitSetting flag_setting(std::string_view name, std::string_view help) {
  return {.name = name,
          .form = SettingForm::flag,
          .help = help,
          .get = [](const SplitOptions& options) -> SettingValue { return options.*member; },
          .set =
              [](SplitOptions& options, const SettingValue& value) {
                const bool* const flag = std::get_if<bool>(&value);
                if (flag != nullptr) options.*member = *flag;
                return flag != nullptr;
              }};
}

template <auto member, const auto& table>
constexpr SplitSetting word_setting(std::string_view name, std::string_view help,
                                    std::string_view needs = {}) {
  return {.name = name,
          .form = SettingForm::word,
          .help = help,
          .words = kWordsOf<table>,
          .needs = needs,
          .get = [](const SplitOptions& options) -> SettingValue {
            return std::string(word_of<table>(options.*member));
          },
          .set =
              [](SplitOptions& options, const SettingValue& value) {
                const std::string* const word = std::get_if<std::string>(&value);
                if (word == nullptr) return false;
                const auto* const found =
                    std::find_if(table.begin(), table.end(),
                                 [&](const auto& known) { return known.first == *word; });
                if (found == table.end()) return false;
                options.*member = found->second;
                return true;
              }};
}

template <auto member>
constexpr SplitSetting prefix_setting(std::string_view name, std::string_view help) {
  return {.name = name,
          .form = SettingForm::name,
          .help = help,
          .refusal = "is not UTF-8 text, as names of partitions must be",
          .is_compared = false,
          .get = [](const SplitOptions& options) -> SettingValue { return options.*member; },
          .set =
              [](SplitOptions& options, const SettingValue& value) {
                const std::string* const text = std::get_if<std::string>(&value);
                if (text == nullptr || first_invalid_utf8(*text) != text->npos) return false;
                options.*member = *text;
                return true;
              }};
}

std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return number;
}

bool is_word(const SettingValue& value, std::string_view word) {
  const std::string* const text = std::get_if<std::string>(&value);
  return text != nullptr && *text == word;
}

// The value as a count: a number, or a text that is one.
std::optional<std::size_t> count_of(const SettingValue& value) {
  if (const auto* const number = std::get_if<std::int64_t>(&value)) {
    return *number < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(*number));
  }
  const std::string* const text = std::get_if<std::string>(&value);
  return text == nullptr ? std::nullopt : whole_number(*text);
}

SettingValue value_of_count(std::size_t count) { return static_cast<std::int64_t>(count); }

bool set_min_size(SplitOptions& options, const SettingValue& value) {
  options.is_min_automatic = is_word(value, "auto");
  if (options.is_min_automatic) return true;
  const auto size = count_of(value);
  if (size) options.min_acc_size = *size;
  return size.has_value();
}

SettingValue most_kept(const SplitOptions& options) {
  if (options.most_kept == SplitOptions::kUnlimited) return nullptr;
  return value_of_count(options.most_kept);
}

bool set_most_kept(SplitOptions& options, const SettingValue& value) {
  if (is_word(value, "auto")) {
    options.keep_only_gaining = true;
    return true;
  }
  const bool is_unlimited =
      is_word(value, "unlimited") || std::holds_alternative<std::nullptr_t>(value);
  const auto count = is_unlimited ? SplitOptions::kUnlimited : count_of(value);
  if (count) options.most_kept = *count;
  return count.has_value();
}

SettingValue min_gain(const SplitOptions& options) {
  if (!options.min_gain) return "auto";
  const std::string percent = percent_text(*options.min_gain);
  return parse_share(percent) == options.min_gain ? percent : shortest_text(*options.min_gain);
}

bool set_min_gain(SplitOptions& options, const SettingValue& value) {
  options.min_gain.reset();
  if (is_word(value, "auto")) return true;
  const std::string* const text = std::get_if<std::string>(&value);
  if (text != nullptr) options.min_gain = parse_share(*text);
  return options.min_gain.has_value();
}

SettingValue extended(const SplitOptions& options) {
  switch (options.extend.which) {
    case ExtendOptions::Which::none:
      return "none";
    case ExtendOptions::Which::one:
      return std::to_string(options.extend.subgraph);
    case ExtendOptions::Which::all:
      return "all";
    case ExtendOptions::Which::automatic:
      break;
  }
  return "auto";
}

// A name is resolved where the prefix of names is known: set_in_request().
bool set_extended(SplitOptions& options, const SettingValue& value) {
  using Which = ExtendOptions::Which;
  const std::string* const text = std::get_if<std::string>(&value);
  if (text == nullptr) {
    const auto number = count_of(value);
    if (number) options.extend = {.which = Which::one, .subgraph = *number};
    return number.has_value();
  }
  for (const auto& [word, which] :
       Words<Which, 3>{{{"none", Which::none}, {"all", Which::all}, {"auto", Which::automatic}}}) {
    if (*text != word) continue;
    options.extend = {.which = which};
    return true;
  }
  const auto number = whole_number(*text);
  if (number) options.extend = {.which = Which::one, .subgraph = *number};
  return number.has_value();
}

// ---- the table ----

constexpr SplitSetting kSettings[] = {
    {.name = "min_acc_module_size",
     .form = SettingForm::count,
     .help =
         "smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference",
     .words = kAuto,
     .placeholder = "NODES",
     .refusal = "is not a whole number of 0 or more",
     .is_for_targets = true,
     .get = [](const SplitOptions& options) -> SettingValue {
       return value_of_count(options.min_acc_size);
     },
     .set = set_min_size},
    flag_setting<&SplitOptions::skip_fusion>("skip_fusion", "form no fusion groups"),
    flag_setting<&SplitOptions::allow_non_tensor>(
        "allow_non_tensor", "let non-tensor data cross between accelerator and CPU"),
    flag_setting<&SplitOptions::move_non_tensor>(
        "move_non_tensor",
        "move nodes whose non-tensor data leaves an accelerator partition to the one partition "
        "that "
        "reads it, as FX's move_non_tensor_nodes_on_boundary"),
    flag_setting<&SplitOptions::keep_qdq>(
        "keep_qdq",
        "keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one "
        "partition"),
    flag_setting<&SplitOptions::host_shapes>(
        "host_shapes",
        "let shape computations follow the nodes that use them, whatever the support list says, so "
        "that a Reshape does not cut a partition"),
    word_setting<&SplitOptions::place, kPlaceBy>(
        "place",
        "put nodes on the accelerator wherever the lists allow it (priority), on the first of "
        "several targets that takes them (order), or so that an inference is fastest (cost)"),
    word_setting<&SplitOptions::place_goal, kPlaceGoals>(
        "place_goal", "what --place cost makes small with several targets: latency or energy"),
    {.name = "min_gain",
     .form = SettingForm::other,
     .help = "with --place cost: move nodes to the CPU only if an inference takes at least this "
             "much less time; "
             "auto: 3%, and 0% where all times are measured",
     .placeholder = "PERCENT",
     .refusal = "is not a share: write 3% or 0.03",
     .get = min_gain,
     .set = set_min_gain},
    word_setting<&SplitOptions::residency, kResidency>(
        "residency",
        "whether the accelerator keeps values that it made or received until their last reader "
        "there has run"),
    word_setting<&SplitOptions::start, kStartSides>(
        "start", "side to start on: reference, cpu, acc, or the one with the fewest subgraphs"),
    word_setting<&SplitOptions::pack, kPackBy>(
        "pack",
        "where a node goes that fits in several accelerator subgraphs: in the first (early), or "
        "where "
        "the fewest bytes cross the link, with as many subgraphs (bytes)"),
    {.name = "keep_acc_subgraphs",
     .form = SettingForm::count,
     .help = "keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; "
             "or auto: those that make an inference faster",
     .words = kUnlimitedOrAuto,
     .placeholder = "COUNT",
     .refusal = "is not a count: give a whole number, auto, or unlimited",
     .is_for_targets = true,
     .get = most_kept,
     .set = set_most_kept},
    word_setting<&SplitOptions::keep_by, kKeepBy>(
        "keep_by",
        "what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link "
        "takes; its nodes; or the time that an inference gains by it",
        "--keep-acc-subgraphs"),
    {.name = "extend",
     .form = SettingForm::other,
     .help = "extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto "
             "(only where fewer bytes cross the link)",
     .placeholder = "WHICH",
     .refusal = "is not a subgraph's number or name, all or auto",
     .get = extended,
     .set = set_extended},
    prefix_setting<&SplitOptions::acc_prefix>("acc_prefix",
                                              "name prefix of accelerator partitions"),
    prefix_setting<&SplitOptions::non_acc_prefix>("non_acc_prefix",
                                                  "name prefix of CPU partitions"),
};

// The schemas of settings of the model instead of the split: ShapeBindings in formats/model.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kModelSettings = {{
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
}};

// "a, b or c"
std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// JSON's null is the word "unlimited".
bool has_no_limit(const SplitSetting& setting) {
  return std::find(setting.words.begin(), setting.words.end(), "unlimited") != setting.words.end();
}

void write_schema(JsonText& json, const SplitSetting& setting) {
  json.begin_object(setting.name, JsonText::Layout::one_line);
  switch (setting.form) {
    case SettingForm::flag:
      json.text("type", "boolean");
      break;
    case SettingForm::word:
      json.begin_list("enum");
      for (const std::string_view word : setting.words) json.text(word);
      json.end_list();
      break;
    case SettingForm::count:
      json.begin_list("type");
      json.text("integer");
      if (has_no_limit(setting)) json.text("null");
      json.end_list();
      json.number("minimum", 0);
      break;
    case SettingForm::name:
    case SettingForm::other:
      json.text("type", "string");
      break;
  }
  json.end_object();
}

}  // namespace

std::span<const SplitSetting> split_settings() { return kSettings; }

const SplitSetting* find_split_setting(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kSettings), std::end(kSettings),
                   [&](const SplitSetting& setting) { return setting.name == name; });
  return found == std::end(kSettings) ? nullptr : found;
}

std::string option_name(std::string_view name) {
  std::string option = "--" + std::string(name);
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

std::string refusal_of(const SplitSetting& setting) {
  if (!setting.refusal.empty()) return std::string(setting.refusal);
  if (setting.form == SettingForm::flag) return "is neither true nor false";
  return setting.words.empty() ? "is not a string" : "is not " + listed(setting.words);
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
  const auto text_of = [&](const SplitSetting& setting, const SettingValue& value) {
    const std::string text = setting_text(value);
    const bool is_order = has_several_targets && setting.name == "place" && text == "priority";
    return is_order ? std::string("order") : text;
  };
  std::vector<std::string> changes;
  for (const SplitSetting& setting : kSettings) {
    if (!setting.is_compared) continue;
    const SettingValue old_value = setting.get(before);
    const SettingValue new_value = setting.get(now);
    if (old_value == new_value) continue;
    changes.push_back(option_name(setting.name).substr(2) + ": " + text_of(setting, new_value) +
                      ", was " + text_of(setting, old_value));
  }
  return changes;
}

void write_settings(JsonText& json, const SplitOptions& options) {
  for (const SplitSetting& setting : kSettings) {
    json.key(setting.name);
    const SettingValue value = setting.get(options);
    if (const bool* const flag = std::get_if<bool>(&value)) {
      json.flag(*flag);
    } else if (const auto* const number = std::get_if<std::int64_t>(&value)) {
      json.number(*number);
    } else if (const std::string* const text = std::get_if<std::string>(&value)) {
      json.text(*text);
    } else {
      json.null();
    }
  }
}

std::string settings_schema() {
  JsonText json;
  json.begin_object();
  json.text("type", "object");
  json.flag("additionalProperties", false);
  json.begin_list("required");
  json.text("infer");
  for (const SplitSetting& setting : kSettings) json.text(setting.name);
  json.end_list();
  json.begin_object("properties");
  for (const auto& [name, schema] : kModelSettings) {
    json.key(name);
    json.document(schema);
  }
  for (const SplitSetting& setting : kSettings) write_schema(json, setting);
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

std::string_view start_side_name(StartSide side) { return word_of<kStartSides>(side); }
std::string_view keep_by_name(KeepBy by) { return word_of<kKeepBy>(by); }

}  // namespace cleave
