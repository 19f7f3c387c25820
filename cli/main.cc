// cleave: load, pass, write, exit code. The only place that catches exceptions.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <new>

#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/usage.h"

namespace cleave {
namespace {

ExitCode parse_and_run(std::vector<std::string> arguments) {
  CLI::App app{"Splits machine-learning model graphs between an accelerator and the CPU.",
               "cleave"};
  app.set_version_flag("--version", "cleave " CLEAVE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  TerminalOptions terminal;
  std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> made;
  for (const CommandEntry& entry : commands()) {
    CLI::App* const sub = app.add_subcommand(entry.name, entry.help);
    made.emplace_back(sub, entry.make());
    made.back().second->add_options(*sub);
    sub->add_flag("-q,--quiet", terminal.quiet, "print errors only");
    sub->add_flag("-v,--verbose", terminal.verbose, "say more of what is done");
  }
  set_up_terminal(terminal);
  try {
    app.parse(arguments_for_cli11(std::move(arguments)));
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  }
  set_up_terminal(terminal);
  for (const auto& [sub, command] : made) {
    if (sub->parsed()) return command->run();
  }
  return ExitCode::usage;
}

ExitCode run_guarded(std::vector<std::string> arguments) {
  try {
    return parse_and_run(std::move(arguments));
  } catch (const OutputClosed&) {
    return ExitCode::done;
  } catch (const OutputFailed& failed) {
    print_error("standard output cannot be written: " + failed.why);
    return ExitCode::cannot_write;
  } catch (const std::bad_alloc&) {
    std::fputs("cleave: error: out of memory\n", stderr);
    return ExitCode::out_of_memory;
  } catch (const std::exception& error) {
    print_error(std::string("this is a bug in cleave: ") + error.what());
    return ExitCode::bug;
  }
}

}  // namespace
}  // namespace cleave

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed reader is an error of write(), see terminal.h
  return static_cast<int>(cleave::run_guarded({argv + 1, argv + argc}));
}
