#include "cli/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/terminal.h"

namespace cleave {
namespace {

const CLI::App& parsed_command(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  return subcommands.empty() ? app : *subcommands.front();
}

// Names that the user may have meant by a word that nothing takes.
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

// The key of a configuration file that is no option, `check.min-coverag`; empty: that is not it.
std::string unknown_key(const CLI::ParseError& error) {
  constexpr std::string_view kSaying = "INI was not able to parse ";  // CLI11's, of TOML too
  const std::string_view what = error.what();
  return std::string(what.starts_with(kSaying) ? what.substr(kSaying.size()) : std::string_view());
}

std::string suggestion(const CLI::App& app, const CLI::App& command, const std::string& word) {
  const auto words = known_words(app, command);
  const std::string near = nearest_name(word.substr(0, word.find('=')),
                                        std::vector<std::string_view>(words.begin(), words.end()));
  return near.empty() ? std::string() : "did you mean " + near + "?";
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

std::string fault_of_values(const CLI::App& command) {
  for (const CLI::Option* const option : command.get_options()) {
    const std::string type = option->get_type_name();
    if (type != "FILE" && type != "DIR" && type != "LIST") continue;
    const auto& values = option->results();
    if (std::find(values.begin(), values.end(), "") == values.end()) continue;
    return option->get_name() + " is given an empty name: give a " +
           (type == "DIR" ? "folder's" : "file's");
  }
  return {};
}

ExitCode report_usage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // --help or --version
    std::ostringstream out, ignored;
    app.exit(error, out, ignored);
    write_stdout(out.str());
    return ExitCode::done;
  }
  const CLI::App& command = parsed_command(app);
  const std::string unknown = first_unknown(app, command);
  std::vector<std::string> notes;
  std::string message = error.what();
  if (const std::string key = unknown_key(error); !key.empty()) {
    message = "the configuration file has " + cleave::quoted(key) + ", which is no option";
    if (const std::string near = suggestion(app, command, "--" + key.substr(key.rfind('.') + 1));
        !near.empty()) {
      notes.push_back(near);
    }
  }
  if (!unknown.empty()) {
    const bool option = unknown.rfind('-', 0) == 0;
    message = std::string(option             ? "unknown option "
                          : &command == &app ? "unknown command "
                                             : "unexpected argument ") +
              cleave::quoted(unknown);
    if (const std::string near = suggestion(app, command, unknown); !near.empty()) {
      notes.push_back(near);
    }
  } else if (&command == &app && error.get_name() == "RequiredError") {
    message = "a command is missing";
  }
  const std::string name = &command == &app ? "cleave" : "cleave " + command.get_name();
  notes.push_back("try: " + name + " --help");
  print_error(message, notes);
  return ExitCode::usage;
}

}  // namespace cleave
