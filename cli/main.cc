// cleave: builds the command line, runs one command, and returns its exit code. Exceptions that no
// other code handles end here: out of memory, output that failed, an input that changed. Any other
// is a bug, and ends in set_up_signals()'s handler, which still sees where it was thrown.
// Libraries' exceptions are caught where the libraries are called.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <new>

#include "cli/commands/command.h"
#include "cli/options/config_file.h"
#include "cli/options/options.h"
#include "cli/shell/shell_files.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/base/process.h"

namespace cleave {
namespace {

// Prints in place of `--version`: CLI11 stops at this exception and prints its text.
[[noreturn]] void print_and_stop(const std::string& text) { throw CLI::CallForVersion(text, 0); }

void add_shell_options(CLI::App& app) {
  app.add_option_function<std::string>(
         "--completion",
         [&app](const std::string& name) {
           const auto shell = shell_named(name);
           if (!shell) {
             throw CLI::ValidationError("--completion",
                                        '"' + name + "\" is not one of bash,zsh,fish");
           }
           print_and_stop(completion_script(*shell, option_tables(app)));
         },
         "print a completion script for a shell")
      ->type_name("{bash,zsh,fish}");
  app.add_flag_callback(
      "--man-page", [&app] { print_and_stop(man_page(option_tables(app), CLEAVE_VERSION)); },
      "print the man page, for man -l -");
}

void add_terminal_options(CLI::App& app, TerminalOptions& terminal) {
  app.add_flag_callback(
      "-q,--quiet", [&terminal] { terminal.level = LogLevel::error; },
      "print only errors on standard error; reports are still printed");
  app.add_flag_callback(
      "-v,--verbose", [&terminal] { terminal.level = LogLevel::debug; },
      "print more details on standard error");
  add_choice(app, "--log-level", terminal.level,
             {{"error", LogLevel::error},
              {"warning", LogLevel::warning},
              {"info", LogLevel::info},
              {"debug", LogLevel::debug}},
             "how much to print on standard error");
}

// The first argument that is no option of the program as a whole; the end when there is none.
std::vector<std::string>::const_iterator first_word(const std::vector<std::string>& arguments) {
  static constexpr std::string_view kFlags[] = {"-q", "--quiet", "-v", "--verbose"};
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    const bool has_value_behind = *word == "--config" || *word == "--log-level";
    if (has_value_behind && word + 1 != arguments.end()) {
      ++word;
      continue;
    }
    const bool is_flag = std::find(std::begin(kFlags), std::end(kFlags), *word) != std::end(kFlags);
    const bool has_value = word->starts_with("--config=") || word->starts_with("--log-level=");
    if (!is_flag && !has_value) return word;
  }
  return arguments.end();
}

bool is_command(std::string_view word) {
  return std::any_of(commands().begin(), commands().end(),
                     [&](const CommandEntry& entry) { return word == entry.name; });
}

// Whether the options of all commands are needed: for a configuration file, which may have a table for
// each, and for completions and the man page.
bool concern_all(const std::vector<std::string>& arguments) {
  static constexpr std::string_view kOfAll[] = {"--config", "--completion", "--man"};
  return std::any_of(arguments.begin(), arguments.end(), [](const std::string& text) {
    return std::any_of(std::begin(kOfAll), std::end(kOfAll),
                       [&](std::string_view start) { return text.starts_with(start); });
  });
}

// Whether the options of this command may be needed: making those of all commands takes longer than
// splitting a small model. An option may stand before the command's name, and then be the command's.
bool concerns(std::string_view command, const std::vector<std::string>& arguments) {
  if (concern_all(arguments)) return true;
  const auto first = first_word(arguments);
  if (first != arguments.end() && is_command(*first)) return *first == command;
  return std::find(arguments.begin(), arguments.end(), command) != arguments.end();
}

// `cleave MODEL` is `cleave inspect MODEL`: the first word names a file or standard input, and no
// command. `cleave` alone asks for help. --config, which is the program's own, may also follow the
// command. `cleave help COMMAND` is `cleave COMMAND --help`.
std::vector<std::string> in_full(std::vector<std::string> arguments) {
  if (arguments.empty()) return {"--help"};
  const auto first = first_word(arguments);
  if (first == arguments.end()) return arguments;
  if (*first == "help" && arguments.end() - first == 2 && is_command(first[1])) {
    return {first[1], "--help"};
  }
  std::error_code error;
  const bool is_model = *first == "-" || std::filesystem::is_regular_file(*first, error);
  if (!is_command(*first)) {
    if (is_model) arguments.insert(first, "inspect");
    return arguments;
  }
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const auto config = std::find_if(arguments.begin(), end, [](const std::string& text) {
    return text == "--config" || text.starts_with("--config=");
  });
  if (config == end) return arguments;
  const auto after = config + (*config == "--config" && config + 1 != end ? 2 : 1);
  std::rotate(arguments.begin(), config, after);
  return arguments;
}

ExitCode parse_and_run(const std::vector<std::string>& given) {
  const std::vector<std::string> arguments = in_full(given);
  CLI::App app{"Splits machine-learning model graphs between an accelerator and the CPU.",
               "cleave"};
  app.set_version_flag("--version", "cleave " CLEAVE_VERSION "\nbuilt with " CLEAVE_LIBRARIES);
  add_shell_options(app);
  app.require_subcommand(1);
  TerminalOptions terminal;
  add_terminal_options(app, terminal);
  app.get_formatter()->column_width(34);
  CLI::Option* const config =
      app.set_config("--config", "", "TOML file of options: a table for each command, [check]");
  set_file_role(config->type_name("FILE"), FileRole::input);
  app.config_formatter(std::make_shared<ConfigFile>());
  app.allow_config_extras(CLI::config_extras_mode::error);
  std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> made;
  for (const CommandEntry& entry : commands()) {
    CLI::App* const sub = app.add_subcommand(entry.name, entry.help)->group(entry.group);
    if (!concerns(entry.name, arguments)) continue;
    made.emplace_back(sub, entry.make());
    made.back().second->add_options(*sub);
    add_terminal_options(*sub, terminal);
  }
  set_up_terminal(terminal);
  try {
    app.parse(arguments_for_cli11(arguments));
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error, arguments);
  }
  set_up_terminal(terminal);
  for (const auto& [sub, command] : made) {
    if (!sub->parsed()) continue;
    std::string fault = fault_of_values(*sub);
    if (fault.empty()) fault = file_clash(app, *sub);
    if (!fault.empty()) {
      print_error(fault, {"try: cleave " + sub->get_name() + " --help"});
      return ExitCode::usage;
    }
    if (const auto done = record_inputs(app, *sub); !done) return refuse(done.error());
    for (const std::string& path : missing_models(app)) {
      print_warning("a [[model]] of the configuration names " + escaped_in_quotes(path) +
                    ", which is no file: it sets nothing");
    }
    return command->run();
  }
  return ExitCode::usage;
}

ExitCode refuse_changed(const std::string& path) {
  return refuse({diagnostic_of(path, std::string(kInputChanged))});
}

ExitCode run_guarded(const std::vector<std::string>& arguments) {
  try {
    return parse_and_run(arguments);
  } catch (const InputChanged& input) {
    return refuse_changed(input.path);
  } catch (const OutputFailed& failed) {
    std::vector<std::string> notes;
    for (const std::string& path : failed.written) {
      notes.push_back(escaped_in_quotes(path) + " is complete");
    }
    print_error("standard output cannot be written: " + failed.why, notes);
    return ExitCode::cannot_write;
  } catch (const std::bad_alloc&) {
    std::fputs("cleave: error: out of memory\n", stderr);
    return ExitCode::out_of_memory;
  }
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) {
  cleave::keep_freed_memory();
  cleave::set_up_signals();
  return static_cast<int>(cleave::run_guarded({argv + 1, argv + argc}));
}
