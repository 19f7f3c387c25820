// cleave: builds the command line, runs one command, and returns its exit code. Exceptions that no
// other code handles end here: out of memory, output that failed, an input that changed. Any other
// is a bug, and ends in set_up_signals()'s handler, which still sees where it was thrown.
// Libraries' exceptions are caught where the libraries are called.
#include <algorithm>
#include <cstdio>
#include <new>

#include "cli/commands/command.h"
#include "cli/options/options.h"
#include "cli/shell/shell_files.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/base/process.h"

namespace cleave {
namespace {

std::string help_of(Commands command, Commands built, bool is_brief) {
  const std::vector<CommandTable> tables = option_tables(built);
  // What follows `to` is the second side of diff, which has no help of its own.
  const Commands wanted = command == of::to ? of::diff : command;
  const auto table = std::ranges::find(tables, wanted, &CommandTable::command);
  std::string text = wanted == of::program ? program_help(tables)
                     : is_brief            ? brief_help(*table)
                                           : full_help(*table);
  text.pop_back();  // a line end is printed behind it
  return text;
}

// What an option prints that ends the program.
std::string answer_of(Commands command, const Option& option, Commands built) {
  if (option.name() == "--version") {
    return "cleave " CLEAVE_VERSION "\nbuilt with " CLEAVE_LIBRARIES;
  }
  if (option.name() == "-h") return help_of(command, built, true);
  return help_of(command, built, false);
}

TerminalOptions terminal_of(const Given& given) {
  constexpr LogLevel kLevels[] = {LogLevel::error, LogLevel::warning, LogLevel::info,
                                  LogLevel::debug};
  return {.level = given.flag("--quiet") ? LogLevel::error
                                         : kLevels[given.if_word("--log-level").value_or(2)],
          .colour = given.word("--color", Colour::automatic),
          .is_document = given.flag("--json")};
}

ExitCode parse_and_run(const std::vector<std::string>& arguments) {
  set_up_terminal({});
  const Commands built = built_commands();
  CommandLine line(arguments, built, [built](Commands command, const Option& option) {
    return answer_of(command, option, built);
  });
  const auto parsed = line.parse();
  if (!parsed) return parsed.error();
  const Given& given = **parsed;
  set_up_terminal(terminal_of(given));
  if (const std::string fault = fault_of_values(given); !fault.empty()) {
    print_error(fault, {"try: cleave " + std::string(name_of(given.command())) + " --help"});
    return ExitCode::usage;
  }
  if (const auto done = record_inputs(given); !done) return refuse(done.error());
  for (const std::string& path : missing_models(given)) {
    print_warning("a [[model]] of the configuration names " + escaped_in_quotes(path) +
                  ", which is no file: it sets nothing");
  }
  const ListsRequest& lists = given.split.lists;
  if (given.text("--place") == "order" && lists.paths.size() > 1 && lists.targets().size() == 1) {
    print_warning("--place order: the " + std::to_string(lists.paths.size()) +
                  " lists are of one accelerator, on which any of them may accept a node; name "
                  "them where they are of several: -s npu=LIST -s gpu=LIST");
  }
  for (const CommandEntry& entry : commands()) {
    if (entry.command != given.command()) continue;
    try {
      return entry.make(given)->run();
    } catch (const OptionRefused& refused) {
      return line.refuse(refused);
    }
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
