#include "cli/options/options.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <system_error>

#include <CLI/CLI.hpp>

#include "cli/options/config_file.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/lists/support_file.h"

namespace cleave {

namespace {

const CLI::App& parsed_command(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  return subcommands.empty() ? app : *subcommands.front();
}

// Why a word that looks like a path is no model: `cleave MODEL` takes files only.
std::string what_path_is_not(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return " is neither a file nor a command";
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

// The path of the configuration file; empty: none.
std::string config_path(const CLI::App& app) {
  const auto& given = app.get_config_ptr()->results();
  return given.empty() ? std::string() : given.back();
}

// Prints faults of the configuration file, which do not name it.
ExitCode refuse_config(const CLI::App& app, Diagnostics faults) {
  for (Diagnostic& fault : faults) fault.file = config_path(app);
  return refuse(faults);
}

// The key whose value an error message is about: it begins with the option's name. For example
// "check.min-coverage"; empty: the option is on the command line, or in no file.
std::string key_of_value(const CLI::App& app, const CLI::App& command, std::string_view message,
                         const std::vector<std::string>& arguments) {
  const std::string_view name = message.substr(0, message.find(':'));
  if (config_path(app).empty() || !name.starts_with("--")) return {};
  const auto names_it = [&](const std::string& argument) {
    return argument == name || argument.starts_with(std::string(name) + "=");
  };
  if (std::any_of(arguments.begin(), arguments.end(), names_it)) return {};
  return command.get_name() + "." + std::string(name.substr(2));
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
  std::string names;
  for (const std::string& path : known_lists()) {
    names += (names.empty() ? "" : ", ") + escaped(known_list_name(path));
  }
  return "give a file, -s LIST" +
         (names.empty() ? "" : ", or a list that is known by name: " + names);
}

// An error message if two options read standard input; otherwise empty.
std::string standard_input_twice(CLI::App& command) {
  std::vector<std::string> readers;
  for (CLI::Option* const option : command.get_options()) {
    if (file_role(*option) != FileRole::input) continue;
    for (const std::string& value : option->results()) {
      if (value == "-") readers.push_back(option->get_name());
    }
  }
  if (readers.size() < 2) return {};
  return "standard input can be read once, and " + readers[0] + " and " + readers[1] +
         " both ask for it: give one of them a file";
}

// Whether the option was given before the command's name.
bool stands_before(const std::string& option, const std::string& command,
                   const std::vector<std::string>& arguments) {
  const auto name = std::find(arguments.begin(), arguments.end(), command);
  return option.starts_with('-') && name != arguments.end() &&
         std::find(arguments.begin(), name, option) != name;
}

}  // namespace

std::vector<std::string> arguments_for_cli11(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    if (argument.rfind("--", 0) != 0) continue;
    const auto name_end = argument.begin() + static_cast<std::ptrdiff_t>(
                                                 std::min(argument.find('='), argument.size()));
    std::replace(argument.begin(), name_end, '_', '-');
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

std::string fault_of_values(CLI::App& command) {
  if (std::string fault = standard_input_twice(command); !fault.empty()) return fault;
  for (CLI::Option* const option : command.get_options()) {
    const auto role = file_role(*option);
    if (!role) continue;
    const auto& values = option->results();
    const bool is_output = *role == FileRole::output || *role == FileRole::output_folder;
    if (is_output && values == std::vector<std::string>{"-"}) {
      return option->get_name() + " writes a file, not to standard output: give its name";
    }
    if (std::find(values.begin(), values.end(), "") == values.end()) continue;
    return option->get_name() + " is given an empty name: give a " +
           (*role == FileRole::output_folder ? "folder's" : "file's");
  }
  return {};
}

ExitCode report_usage(const CLI::App& app, const CLI::ParseError& error,
                      const std::vector<std::string>& arguments) {
  if (error.get_exit_code() == 0) {  // --help or --version
    std::ostringstream out, ignored;
    app.exit(error, out, ignored);
    write_stdout(out.str());
    return ExitCode::done;
  }
  const CLI::App& command = parsed_command(app);
  if (error.get_name() == "FileError") {
    if (const auto file = open_side_file(config_path(app)); !file) {
      return refuse(file.error());
    }
  }
  const ConfigFile* const config = config_of(app);
  if (config && !config->faults().empty()) return refuse_config(app, config->faults());
  const std::string unknown = first_unknown(app, command);
  std::vector<std::string> notes;
  std::string message = error.what();
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
    key = key_of_value(app, command, message, arguments);
  }
  if (!unknown.empty()) {
    const bool option = unknown.rfind('-', 0) == 0;
    message = std::string(option             ? "unknown option "
                          : &command == &app ? "unknown command "
                                             : "unexpected argument ") +
              escaped_in_quotes(unknown);
    if (!option && &command == &app && unknown.find_first_of("./") != unknown.npos) {
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
    Diagnostic fault = config ? config->fault_at(key, message) : diagnostic_of("", message);
    fault.notes = std::move(notes);
    return refuse_config(app, {fault});
  }
  return ExitCode::usage;
}

}  // namespace cleave
