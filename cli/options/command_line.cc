// The command line by CLI11, which no other source knows: declares the rows of the table of options, parses arguments
// and the configuration file, and words what is wrong with them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <istream>
#include <sstream>
#include <system_error>

#include "cli/options/config_file.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "formats/base/files.h"
#include "formats/lists/support_file.h"

namespace cleave {
namespace {

class ConfigFile : public CLI::ConfigTOML {
 public:
  // Throws CLI::ConfigError when faults() says why the file is refused. CLI11 refuses a table that is no command where
  // it finds "++".
  std::vector<CLI::ConfigItem> from_config(std::istream& stream) const override {
    text_.assign(kMostConfigBytes + 1, '\0');
    stream.read(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.resize(static_cast<std::size_t>(stream.gcount()));
    auto config = parse_config(text_);
    if (!config) {
      faults_ = std::move(config.error());
      throw CLI::ConfigError("the configuration file is refused");
    }
    config_ = *std::move(config);
    std::vector<CLI::ConfigItem> all;
    for (const ConfigItem& item : config_.items) {
      CLI::ConfigItem& to = all.emplace_back();
      if (!item.table.empty()) to.parents = {item.table};
      to.name = item.name.empty() ? "++" : item.name;
      to.inputs = item.texts;
    }
    return all;
  }

  // The faults of the file that from_config() read last.
  const Diagnostics& faults() const { return faults_; }
  const std::vector<ModelOptions>& models() const { return config_.models; }
  // The message at the place of the key; without a place when the file does not have it.
  Diagnostic fault_at(std::string_view key, const std::string& message) const {
    const auto found = config_.places.find(key);
    return found == config_.places.end() ? diagnostic_of("", message)
                                         : diagnostic_at("", text_, found->second, message);
  }

 private:
  // CLI11 reads by a function that is const.
  mutable std::string text_;
  mutable ConfigOptions config_;
  mutable Diagnostics faults_;
};

// The arguments in CLI11's order (last first), with underscores in option names turned into dashes:
// the reference system writes --min_acc_module_size.
std::vector<std::string> arguments_for_cli11(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.rfind("--", 0) != 0) continue;
    const auto name_end = argument.begin() + static_cast<std::ptrdiff_t>(
                                                 std::min(argument.find('='), argument.size()));
    std::replace(argument.begin(), name_end, '_', '-');
  }
  std::ranges::reverse(arguments);
  return arguments;
}

bool is_command(std::string_view word, Commands built) {
  const auto rows = command_rows();
  return std::ranges::any_of(
      rows, [&](const CommandRow& row) { return row.name == word && (row.command & built) != 0; });
}

// The first argument that is no option of the program as a whole; the end when there is none.
std::vector<std::string>::const_iterator first_word(const std::vector<std::string>& arguments) {
  static constexpr std::string_view kFlags[] = {"-q", "--quiet"};
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    constexpr std::string_view kWithValue[] = {"--config", "--log-level", "--color"};
    const auto is_it = [&](std::string_view name) { return *word == name; };
    const auto has_it = [&](std::string_view name) {
      return word->starts_with(std::string(name) + "=");
    };
    if (std::ranges::any_of(kWithValue, is_it) && word + 1 != arguments.end()) {
      ++word;
      continue;
    }
    const bool is_flag = contains(kFlags, *word);
    if (!is_flag && std::ranges::none_of(kWithValue, has_it)) return word;
  }
  return arguments.end();
}

// Whether the options of this command may be needed: making those of all commands takes longer than splitting a small
// model. An option may stand before the command's name, and then be the command's. A configuration file may have a
// table for each command.
bool concerns(std::string_view command, const std::vector<std::string>& arguments, Commands built) {
  const bool has_config = std::ranges::any_of(
      arguments, [](const std::string& text) { return text.starts_with("--config"); });
  if (has_config) return true;
  const auto first = first_word(arguments);
  if (first != arguments.end() && is_command(*first, built)) return *first == command;
  return contains(arguments, command);
}

// `cleave MODEL` is `cleave inspect MODEL`: the first word names a file or standard input, and no
// command. `cleave` alone asks for help. --config, which is the program's own, may also follow the
// command. `cleave help COMMAND` is `cleave COMMAND --help`.
std::vector<std::string> in_full(std::vector<std::string> arguments, Commands built) {
  if (arguments.empty()) return {"--help"};
  const auto first = first_word(arguments);
  if (first == arguments.end()) return arguments;
  if (*first == "help" && arguments.end() - first == 2 && is_command(first[1], built)) {
    return {first[1], "--help"};
  }
  std::error_code error;
  const bool is_model = *first == "-" || std::filesystem::is_regular_file(*first, error);
  if (!is_command(*first, built)) {
    if (is_model) arguments.insert(first, "inspect");
    return arguments;
  }
  const auto end = std::ranges::find(arguments, "--");
  const auto config = std::find_if(arguments.begin(), end, [](const std::string& text) {
    return text == "--config" || text.starts_with("--config=");
  });
  if (config == end) return arguments;
  const auto after = config + (*config == "--config" && config + 1 != end ? 2 : 1);
  std::rotate(arguments.begin(), config, after);
  return arguments;
}

// Why a word that looks like a path is no model: `cleave MODEL` takes files only.
std::string what_path_is_not(const std::string& path) {
  if (!is_folder(path)) return " is neither a file nor a command";
  return " is a folder: cleave check takes folders, the other commands a model's file";
}

// Names that the user may have meant by an unknown word.
std::vector<std::string> known_words(const CLI::App& app, const CLI::App& command) {
  std::vector<std::string> words;
  if (&app == &command) {
    for (const CLI::App* sub : app.get_subcommands({})) words.push_back(sub->get_name());
  }
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

std::string first_unknown(const CLI::App& app, const CLI::App& command) {
  for (const CLI::App* at : {&command, &app}) {
    const auto left = at->remaining(false);
    if (!left.empty()) return left.front();
  }
  return {};
}

// The unknown key of a configuration file, `check.min-coverag`; empty for another error.
std::string unknown_key(const CLI::ParseError& error) {
  // CLI11's words, also for TOML
  constexpr std::string_view kSaying = "INI was not able to parse ";
  const std::string_view what = error.what();
  return std::string(what.starts_with(kSaying) ? what.substr(kSaying.size()) : std::string_view());
}

// The table of a configuration file that the key is in, when there is no such command.
std::string unknown_table(const CLI::App& app, const std::string& key) {
  const std::string table = key.substr(0, std::min(key.find('.'), key.size()));
  if (table.size() == key.size()) return {};
  for (const CLI::App* const sub : app.get_subcommands({})) {
    if (sub->get_name() == table) return {};
  }
  return table;
}

std::string suggestion(const CLI::App& app, const CLI::App& command, const std::string& word) {
  const auto words = known_words(app, command);
  const std::string near = nearest_name(word.substr(0, word.find('=')),
                                        std::vector<std::string_view>(words.begin(), words.end()));
  return near.empty() ? std::string() : "did you mean " + near + "?";
}

// Where a list is missing: those that are known by name. Where a model is inspected with one: the
// command that takes it. Else empty.
std::string list_hint(const CLI::App& command, const CLI::ParseError& error,
                      std::string_view unknown) {
  const std::string_view option = unknown.substr(0, unknown.find('='));
  if (command.get_name() == "inspect" && (option == "-s" || option == "--support")) {
    return "cleave preview MODEL -s LIST reports the split by a list";
  }
  constexpr std::string_view kRequired = "--support is required";
  if (error.get_name() != "RequiredError" || error.what() != kRequired) return {};
  const std::vector<std::string> lists = known_lists();
  const std::string names = capped_list(
      lists, lists.size(), [](const std::string& path) { return escaped(known_list_name(path)); });
  return "give a file, -s LIST" +
         (names.empty() ? "" : ", or a list that is known by name: " + names);
}

// Whether the option was given before the command's name.
bool stands_before(const std::string& option, const std::string& command,
                   const std::vector<std::string>& arguments) {
  const auto name = std::ranges::find(arguments, command);
  return option.starts_with('-') && name != arguments.end() &&
         std::find(arguments.begin(), name, option) != name;
}

}  // namespace

struct CommandLine::Parser {
  std::vector<std::string> arguments;
  Commands built;
  OptionAnswer answer;
  CLI::App app{"", "cleave"};
  std::shared_ptr<ConfigFile> config = std::make_shared<ConfigFile>();
  Given of_program{of::program};
  std::vector<std::pair<CLI::App*, std::unique_ptr<Given>>> commands = {};

  // ---- declarations ----

  void take(CLI::App& to, Given& given, const Option& row, std::vector<std::string> texts) const {
    if (row.more.ends) {  // CLI11 stops at this exception and prints its text
      throw CLI::CallForVersion(answer(given.command(), row), 0);
    }
    for (const Option& other : option_table()) {
      if (other.more.unless.empty() || (other.in & given.command()) == 0) continue;
      const auto unless = split_names(other.more.unless);
      const bool frees = contains(unless, row.name());
      if (frees) to.get_option(std::string(other.name()))->required(false);
    }
    given.take(row, std::move(texts));
  }

  // Without texts for help, which is made of the table.
  CLI::Option* declare(CLI::App& to, Given& given, const Option& row) {
    const std::string names(row.names);
    if (row.is_flag()) {
      const auto raise = [this, &to, &given, &row](std::int64_t count) {
        if (count > 0) take(to, given, row, {});
      };
      CLI::Option* const flag = to.add_flag_function(names, raise);
      return row.more.ends ? flag->trigger_on_parse() : flag;
    }
    CLI::Option* option = nullptr;
    if (row.more.repeat == Repeat::never && !row.more.setting.is_for_targets) {
      const auto set = [this, &to, &given, &row](const std::string& text) {
        take(to, given, row, {text});
      };
      option = to.add_option_function<std::string>(names, set);
    } else {
      const auto add = [this, &to, &given, &row](const std::vector<std::string>& texts) {
        take(to, given, row, texts);
      };
      option = to.add_option_function<std::vector<std::string>>(names, add);
      option->delimiter('\0')->allow_extra_args(row.more.repeat == Repeat::spread);
    }
    if (row.more.may_be_bare) option->expected(0, 1);
    if (!row.value_text().empty()) option->type_name(row.value_text());
    option->required((row.more.required & given.command()) != 0);
    return option;
  }

  void declare_all(CLI::App& to, Given& given) {
    std::vector<std::pair<const Option*, CLI::Option*>> tied;
    for (const Option& row : option_table()) {
      const bool is_built = row.more.shelf == 0 || (row.more.shelf & built) != 0;
      if ((row.in & given.command()) == 0 || !is_built) continue;
      if (row.name() == "--config") continue;
      CLI::Option* const option = declare(to, given, row);
      if (!row.more.needs.empty() || !row.more.excludes.empty()) tied.emplace_back(&row, option);
    }
    for (const auto& one : tied) {
      CLI::Option* const option = one.second;
      const auto each = [&](std::string_view names, const auto& tie) {
        for (const std::string_view name : split_names(names)) {
          CLI::Option* const other = to.get_option_no_throw(std::string(name));
          if (other != nullptr) tie(other);
        }
      };
      each(one.first->more.needs, [&](CLI::Option* other) { option->needs(other); });
      each(one.first->more.excludes, [&](CLI::Option* other) { option->excludes(other); });
    }
  }

  void declare_program() {
    app.require_subcommand(1);
    app.set_help_flag();  // -h and --help are rows of the table
    declare_all(app, of_program);
    app.set_config("--config")->type_name(std::string(find_option("--config", of::program)->value));
    app.config_formatter(config);
    app.allow_config_extras(CLI::config_extras_mode::error);
    for (const CommandRow& row : command_rows()) {
      if ((row.command & built) == 0) continue;
      CLI::App* const sub = app.add_subcommand(std::string(row.name));
      sub->set_help_flag();
      if (!concerns(row.name, arguments, built)) continue;
      Given& given = *commands.emplace_back(sub, std::make_unique<Given>(row.command)).second;
      declare_all(*sub, given);
      if (row.command != of::diff) continue;
      given.to = std::make_unique<Given>(of::to);
      CLI::App* const to = sub->add_subcommand("to");  // options that differ from the first's
      to->set_help_flag();
      declare_all(*to, *given.to);
      to->fallthrough();
    }
  }

  // ---- parsing ----

  std::string config_path() const {
    const auto& given = app.get_config_ptr()->results();
    return given.empty() ? std::string() : given.back();
  }

  // Gives the second side each option that was only given for the first.
  static void inherit(Given& given) {
    for (const auto& [option, texts] : given.options()) {
      const Option* const same = find_option(option->name(), of::to);
      if (same == nullptr || option->is_argument() || given.to->has(option->name())) continue;
      given.to->take(*same, texts);
    }
  }

  void parse() {
    app.parse(arguments_for_cli11(arguments));
    for (const auto& [sub, given] : commands) {
      if (!sub->parsed()) continue;
      for (const auto& [option, texts] : of_program.options()) given->take(*option, texts);
      if (!config_path().empty()) {
        given->take(*find_option("--config", of::program), {config_path()});
      }
      given->models = config->models();
      given->bind(given->split.model);
      if (given->to == nullptr) continue;
      if (sub->get_subcommand("to")->parsed()) {
        const bool is_any = !given->to->options().empty();
        given->after_to = is_any ? Given::AfterTo::options : Given::AfterTo::nothing;
      }
      inherit(*given);
    }
  }

  // ---- errors ----

  const CLI::App& parsed_command() const {
    const auto subcommands = app.get_subcommands();
    return subcommands.empty() ? app : *subcommands.front();
  }

  // Prints faults of the configuration file, which do not name it.
  ExitCode refuse_config(Diagnostics faults) const {
    for (Diagnostic& fault : faults) fault.file = config_path();
    return cleave::refuse(faults);
  }

  // The key whose value an error message is about: it begins with the option's name, perhaps with a word behind that.
  // For example "check.min"; empty: the option is on the command line, or in no file.
  std::string key_of_value(const CLI::App& command, std::string_view message) const {
    const std::string_view name = message.substr(0, message.find_first_of(": "));
    if (config_path().empty() || !name.starts_with("--")) return {};
    const auto names_it = [&](const std::string& argument) {
      return argument == name || argument.starts_with(std::string(name) + "=");
    };
    if (std::ranges::any_of(arguments, names_it)) return {};
    return command.get_name() + "." + std::string(name.substr(2));
  }

  // Prints help or version if asked for; otherwise an error on standard error, with the nearest
  // option or command, or the line of the configuration file.
  ExitCode report(const CLI::ParseError& error) const {
    if (error.get_exit_code() == 0) {  // --help or --version
      std::ostringstream out, ignored;
      app.exit(error, out, ignored);
      write_stdout(out.str());
      return ExitCode::done;
    }
    const CLI::App& command = parsed_command();
    if (error.get_name() == "FileError") {
      if (const auto file = open_side_file(config_path()); !file) {
        return cleave::refuse(file.error());
      }
    }
    if (!config->faults().empty()) return refuse_config(config->faults());
    const std::string unknown = first_unknown(app, command);
    std::vector<std::string> notes;
    std::string message = error.what();
    // CLI11's words for an option that is given twice
    if (const auto words = message.find(": At Most 1 required"); words != message.npos) {
      message = message.substr(0, words) + " is given twice";
    }
    std::string key = unknown_key(error);
    if (!key.empty()) {
      const std::string table = unknown_table(app, key);
      message = table.empty() ? escaped_in_quotes(key) + " is not an option"
                              : "table " + escaped_in_quotes(table) + " is the name of no command";
      const std::string name = table.empty() ? "--" + key.substr(key.rfind('.') + 1) : table;
      const bool is_option = table.empty() && command.get_option_no_throw(name) != nullptr;
      const std::string near =
          is_option ? std::string() : suggestion(app, table.empty() ? command : app, name);
      if (!near.empty()) notes.push_back(near);
      if (key.find('.') == key.npos && (!near.empty() || is_option)) {
        notes.push_back("options of a command belong in its table, below a line [" +
                        command.get_name() + "]");
      }
      if (!table.empty()) key = table;
    } else {
      key = key_of_value(command, message);
    }
    if (!unknown.empty()) {
      const bool option = unknown.rfind('-', 0) == 0;
      message = std::string(option             ? "unknown option "
                            : &command == &app ? "unknown command "
                                               : "unexpected argument ") +
                escaped_in_quotes(unknown);
      const bool is_path = unknown.find_first_of("./") != unknown.npos || is_folder(unknown);
      if (!option && &command == &app && is_path) {
        message = escaped_in_quotes(unknown) + what_path_is_not(unknown);
      }
      if (const std::string near = suggestion(app, command, unknown); !near.empty()) {
        notes.push_back(near);
      }
    } else if (&command == &app && error.get_name() == "RequiredError") {
      message = "a command is missing";
    }
    if (&command != &app && stands_before(unknown, command.get_name(), arguments)) {
      notes.push_back("options of a command stand behind its name: cleave " + command.get_name() +
                      " " + escaped(unknown) + " ...");
    } else if (std::string hint = list_hint(command, error, unknown); !hint.empty()) {
      notes.push_back(std::move(hint));
    }
    const std::string name = &command == &app ? "cleave" : "cleave " + command.get_name();
    notes.push_back("try: " + name + " --help");
    if (key.empty()) {
      print_error(message, notes);
    } else {
      Diagnostic fault = config->fault_at(key, message);
      fault.notes = std::move(notes);
      return refuse_config({fault});
    }
    return ExitCode::usage;
  }
};

CommandLine::CommandLine(std::vector<std::string> arguments, Commands built, OptionAnswer answer)
    : parser_(new Parser{in_full(std::move(arguments), built), built, std::move(answer)}) {
  parser_->declare_program();
}

CommandLine::~CommandLine() = default;

Result<const Given*, ExitCode> CommandLine::parse() {
  try {
    parser_->parse();
  } catch (const CLI::ParseError& error) {
    return parser_->report(error);
  } catch (const OptionRefused& refused) {
    return refuse(refused);
  }
  for (const auto& [sub, given] : parser_->commands) {
    if (!sub->parsed()) continue;
    return given.get();
  }
  return ExitCode::usage;
}

ExitCode CommandLine::refuse(const OptionRefused& refused) const {
  return parser_->report(CLI::ValidationError(refused.option, refused.why));
}

}  // namespace cleave
