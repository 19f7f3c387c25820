#include "cli/options/options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "core/lists/support.h"
#include "formats/base/files.h"
#include "formats/report/drawings/pages.h"

namespace cleave {

// ---- values ----

void refuse_option(const std::string& option, const std::string& why) {
  throw OptionRefused{option, why};
}

namespace {

// "010" is no 8, and "0x10" no 16.
std::optional<std::uint64_t> whole_number(std::string_view text) {
  const bool is_octal = text.size() > 1 && text[0] == '0';
  const auto number = parse_number<std::int64_t>(text);
  if (!number || *number < 0 || is_octal) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

std::string range_text(const Option& option) {
  const auto text_of = [](double number) {
    return number < 1e6 ? shortest_text(number) : count_text(static_cast<std::size_t>(number));
  };
  const std::string least = text_of(option.more.least);
  if (option.more.most >= OptionMore{}.most) return " of " + least + " or more";
  return " from " + least + " to " + text_of(option.more.most);
}

// " is not a share from 0 to 1: did you mean 95%?"
std::string share_refusal(const std::string& text) {
  return " is not a share from 0 to 1: " +
         (parse_share(text + "%") ? "did you mean " + text + "%?" : "write 0.95 or 95%");
}

// What is wrong with the value; "" where nothing is. NaN is neither below nor above any number.
std::string refusal_of_value(const Option& option, const std::string& text) {
  const auto is_in_range = [&](std::optional<double> number) {
    return number && *number >= option.more.least && *number <= option.more.most;
  };
  switch (option.more.form) {
    case ValueForm::text:
      return {};
    case ValueForm::count: {
      const auto number = whole_number(text);
      if (number && is_in_range(static_cast<double>(*number))) return {};
      return " is not a whole number" + range_text(option);
    }
    case ValueForm::number:
      return is_in_range(parse_number<double>(text)) ? "" : " is not a number" + range_text(option);
    case ValueForm::share:
      return parse_share(text) ? "" : share_refusal(text);
    case ValueForm::time:
      return parse_duration(text).value_or(0) > 0
                 ? ""
                 : " is not a time above 0: write 20ms, 20s or 5min";
    case ValueForm::bytes: {
      const auto bytes = parse_bytes(text);
      if (bytes && is_in_range(static_cast<double>(*bytes))) return {};
      return " is not a size: write 64MiB, or a number of bytes";
    }
  }
  return {};
}

}  // namespace

std::string checked_value(const Option& option, const std::string& text) {
  const std::string name(option.name());
  const auto words = option.words();
  if (words.empty()) {
    const std::string refusal = refusal_of_value(option, text);
    if (!refusal.empty()) refuse_option(name, in_quotes(text) + refusal);
    return text;
  }
  const std::string word = lower_case(text);
  if (contains(words, word)) return word;
  refuse_option(name, in_quotes(text) + " is not one of " + joined(words, ","));
}

namespace {

template <class Bindings>
void override_with(Bindings& bindings, const Bindings& own) {
  for (const auto& binding : own) {
    std::erase_if(bindings, [&](const auto& other) { return other.first == binding.first; });
  }
  bindings.insert(bindings.end(), own.begin(), own.end());
}

}  // namespace

// ---- given ----

bool Given::take_limit(const std::string& text) {
  const std::string what = text.substr(0, text.find('='));
  // All names that are limits here, also those of models: a refusal proposes the nearest of all.
  std::vector<std::string_view> known;
  for (const LimitRow& row : limit_rows()) known.push_back(row.name);
  for (const Option& row : work_limits()) {
    if ((row.in & command_) == 0) continue;
    known.push_back(row.name());
    if (row.name() != what) continue;
    const std::string value = text.substr(std::min(what.size() + 1, text.size()));
    const std::string refusal = refusal_of_value(row, value);
    if (!refusal.empty()) refuse_option("--limit", what + ": " + in_quotes(value) + refusal);
    // A limit that is given twice: the last one counts.
    limits_.insert_or_assign(what, value);
    return true;
  }
  // No row of limit_rows() and no number, but taken with the limits of models.
  known.push_back("utf8");
  if (contains(known, what)) return false;
  const std::string nearest = nearest_name(what, known);
  refuse_option("--limit", in_quotes(what) + " is not a limit here: " +
                               (nearest.empty() ? "there are " + joined(known)
                                                : "did you mean " + nearest + "?"));
}

std::optional<double> Given::limit(std::string_view work) const {
  const auto given = limits_.find(work);
  if (given == limits_.end()) return std::nullopt;
  const auto row = std::ranges::find(work_limits(), work, &Option::name);
  // Always found: take_limit() keeps only names of rows, with values that were checked.
  return row->more.form == ValueForm::time ? parse_duration(given->second)
                                           : parse_number<double>(given->second);
}

void Given::take(const Option& option, std::vector<std::string> texts) {
  const std::string name(option.name());
  if (name == "--limit") {
    // Limits of work are kept here; what is left is of the model, and goes to the request as other settings do.
    std::erase_if(texts, [&](const std::string& text) { return take_limit(text); });
    if (texts.empty()) return;
  }
  for (std::string& text : texts) text = checked_value(option, text);
  if (option.more.setting.is_for_targets) {
    const auto is_for_all = [](const auto& text) { return list_source_of(text).target.empty(); };
    if (std::ranges::count_if(texts, is_for_all) > 1) {
      refuse_option(name, "is given twice: give NAME=VALUE for a target");
    }
  }
  for (const std::string& text : texts) {
    if (name == "--support" && list_source_of(text).path.empty()) {
      refuse_option(name, in_quotes(text) + " names no list: write NAME=LIST, or LIST");
    }
  }
  if (option.is_of_request()) {
    const auto set = [&](const SettingValue& value) {
      const auto done = set_in_request(split, option, value);
      if (!done) refuse_option(name, done.error().message);
    };
    if (option.is_flag()) set(true);
    for (const std::string& text : texts) set(text);
    // Refused here and not by the table: --dim itself is for all these commands, its ranges are for one.
    if (split.range && command_ != of::preview) {
      refuse_option(name, "a range of sizes, as of " + in_quotes(split.range->name) +
                              ", is for preview; give one size");
    }
  }
  if (name == "MODEL" && option.more.repeat == Repeat::never) split.model.path = texts.back();
  options_.push_back({&option, std::move(texts)});
}

const GivenOption* Given::find(std::string_view name) const {
  for (const GivenOption& given : options_) {
    if (given.option->name() == name) return &given;
  }
  if (find_option(name, ~Commands{0}) == nullptr) {
    throw std::logic_error("there is no option " + std::string(name));
  }
  return nullptr;
}

std::vector<std::string> Given::texts(std::string_view name) const {
  const GivenOption* const given = find(name);
  return given == nullptr ? std::vector<std::string>() : given->texts;
}

std::string Given::text(std::string_view name) const {
  const GivenOption* const given = find(name);
  if (given != nullptr) return given->texts.back();
  const Option* const option = find_option(name, command_);
  return option == nullptr ? std::string() : std::string(option->more.by_default);
}

std::string Given::file(std::string_view name) const {
  std::string path = text(name);
  return path == "-" ? std::string() : path;
}

std::optional<std::uint64_t> Given::if_count(std::string_view name) const {
  return whole_number(text(name));
}

std::optional<double> Given::if_number(std::string_view name) const {
  return parse_number<double>(text(name));
}

std::optional<std::size_t> Given::if_word(std::string_view name) const {
  const Option* const option = find_option(name, command_);
  if (option == nullptr) return std::nullopt;
  const auto words = option->words();
  const auto found = std::ranges::find(words, text(name));
  if (found == words.end()) return std::nullopt;
  return static_cast<std::size_t>(found - words.begin());
}

std::string Given::first_of(std::span<const std::string_view> names) const {
  for (const GivenOption& given : options_) {
    if (contains(names, given.option->name())) {
      return std::string(given.option->name());
    }
  }
  for (const auto& [work, value] : limits_) {
    std::string name = "--limit " + work;
    if (contains(names, name)) return name;
  }
  return {};
}

void Given::bind(ModelRequest& model) const {
  for (const ModelOptions& own : models) {
    if (!glob_match(plain_path(own.path), plain_path(model.path))) continue;
    override_with(model.bindings.dims, own.bindings.dims);
    override_with(model.bindings.inputs, own.bindings.inputs);
    override_with(model.bindings.values, own.bindings.values);
  }
}

NamedTexts named_texts(const Given& given, const std::string& option,
                       std::span<const std::string_view> keys) {
  NamedTexts named;
  for (const std::string& text : given.texts(option)) {
    for (const std::string_view entry : split_names(text)) {
      const std::size_t equals = std::min(entry.find('='), entry.size());
      const std::string_view key = entry.substr(0, equals);
      if (!contains(keys, key) || equals == entry.size()) {
        refuse_option(option, in_quotes(std::string(entry)) + " is none of " +
                                  joined(keys, "=..., ") + "=...");
      }
      named.insert_or_assign(std::string(key), std::string(entry.substr(equals + 1)));
    }
  }
  return named;
}

namespace {

// Whether the option only says how lists split.
bool is_of_lists(const Option& option) {
  return option.is_of_request() && option.group != OptionGroup::model;
}

}  // namespace

std::optional<ExitCode> refuse_idle(const Given& given, std::span<const std::string_view> more,
                                    const std::string& why, const std::string& instead) {
  std::string idle = given.first_of(more);
  for (const GivenOption& one : given.options()) {
    if (idle.empty() && is_of_lists(*one.option)) idle = one.option->name();
  }
  if (idle.empty()) return std::nullopt;
  print_error(idle + " " + why, {instead + ", or leave " + idle + " out"});
  return ExitCode::usage;
}

LayoutLimits layout_limits(const Given& given) {
  return {.seconds = given.limit("layout-time").value_or(LayoutLimits::kSeconds)};
}

OnnxWriteOptions onnx_options(const Given& given) {
  OnnxWriteOptions options;
  const auto word = given.if_word("--weights");  // without it each format has its own way
  if (word) options.root_weights = static_cast<RootWeights>(*word);
  options.annotate = given.flag("--annotate");
  return options;
}

PartFiles part_files(const Given& given) {
  return given.flag("--bundle") ? PartFiles::bundle : PartFiles::one_a_part;
}

TfliteLift tflite_lift(const Given& given) {
  return given.flag("--lift-state") ? TfliteLift::all : TfliteLift::shared;
}

// ---- files that are named ----

namespace {

namespace fs = std::filesystem;

struct NamedFile {
  std::string option;
  std::string path;
};

struct NamedFiles {
  std::vector<NamedFile> inputs, outputs;
};

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// The file of a value: --costs [TARGET=]FILE, -s [NAME=]LIST; "-" of --ci github.
std::string path_of(const Option& option, const std::string& text, const Given& given) {
  if (option.name() == "--costs") return cost_source_of(text, given.split.lists.targets()).path;
  if (option.name() == "--support") return list_source_of(text).path;
  if (option.name() == "--ci" && text == "github") return "-";
  return text;
}

NamedFiles files_of(const Given& given) {
  NamedFiles files;
  for (const auto& [option, texts] : given.options()) {
    const FileRole role = option->more.role;
    if (role == FileRole::none) continue;
    const std::string name(option->name());
    for (const std::string& text : texts) {
      const std::string path = path_of(*option, text, given);
      if (path == "-") continue;  // a standard stream
      (role == FileRole::input ? files.inputs : files.outputs).push_back({name, path});
      if (name == "--viewer" && !path.ends_with(".json")) {
        for (const std::string& file : model_explorer_file_names()) {
          files.outputs.push_back({name, path + "/" + file});
        }
      }
      if (option->more.beside.empty()) continue;
      files.outputs.push_back({name, without_slashes(path) + std::string(option->more.beside)});
    }
  }
  return files;
}

bool are_same(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error)) {
    const bool can_clash = fs::is_regular_file(a, error) || fs::is_directory(a, error);
    return can_clash && fs::equivalent(a, b, error);
  }
  const fs::path first = fs::weakly_canonical(fs::absolute(a), error);
  return !error && first == fs::weakly_canonical(fs::absolute(b), error) && !error;
}

std::string clash_with_input(const NamedFile& output, const std::vector<NamedFile>& inputs) {
  for (const NamedFile& input : inputs) {
    if (!are_same(output.path, input.path)) continue;
    return output.option + " " + output.path + " would overwrite an input (" + input.option +
           "): give another file";
  }
  return {};
}

std::string file_clash(const Given& given) {
  const NamedFiles files = files_of(given);
  for (auto output = files.outputs.begin(); output != files.outputs.end(); ++output) {
    if (std::string clash = clash_with_input(*output, files.inputs); !clash.empty()) return clash;
    for (auto other = files.outputs.begin(); other != output; ++other) {
      if (!are_same(output->path, other->path)) continue;
      return other->option + " and " + output->option + " write the same file, " + output->path +
             ": give each its own";
    }
  }
  return {};
}

std::string standard_input_twice(const Given& given) {
  std::vector<std::string> readers;
  for (const auto& [option, texts] : given.options()) {
    if (option->more.role != FileRole::input) continue;
    for (const std::string& text : texts) {
      if (text == "-") readers.emplace_back(option->name());
    }
  }
  if (readers.size() < 2) return {};
  return "standard input can be read once, and " + readers[0] + " and " + readers[1] +
         " both ask for it: give one of them a file";
}

}  // namespace

std::string fault_of_values(const Given& given) {
  constexpr Commands kOfOneTarget = of::convert | of::tune | of::reduce;
  const std::vector<std::string> targets = given.split.lists.targets();
  if ((given.command() & kOfOneTarget) != 0 && targets.size() > 1) {
    return "--support: cleave " + std::string(name_of(given.command())) +
           " is for one target, and " + in_quotes(targets[0]) + " and " + in_quotes(targets[1]) +
           " are two: run it for each";
  }
  if (std::string fault = standard_input_twice(given); !fault.empty()) return fault;
  for (const auto& [option, texts] : given.options()) {
    const FileRole role = option->more.role;
    const std::string name(option->name());
    if (role == FileRole::none) continue;
    const bool is_output = role == FileRole::output || role == FileRole::output_folder;
    if (is_output && texts == std::vector<std::string>{"-"}) {
      return name + " writes a file, not to standard output: give its name";
    }
    if (!contains(texts, "")) continue;
    return name + " is given an empty name: give a " +
           (role == FileRole::output_folder ? "folder's" : "file's");
  }
  return file_clash(given);
}

Status<Diagnostics> record_inputs(const Given& given) {
  for (const NamedFile& input : files_of(given).inputs) {
    record_input(input.path);
    if (!input.option.starts_with('-') || !is_folder(input.path)) continue;
    if (auto done = record_inputs_below(input.path); !done) return done;
  }
  return Done{};
}

std::vector<std::string> missing_models(const Given& given) {
  std::vector<std::string> missing;
  for (const ModelOptions& model : given.models) {
    std::error_code error;
    const bool is_path = model.path != "-" && !is_glob(model.path);
    if (is_path && !fs::exists(model.path, error)) missing.push_back(model.path);
  }
  return missing;
}

}  // namespace cleave
