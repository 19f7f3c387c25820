// A command of the tool: one file each, <name>.cc; commands.cc has the table of them.
#pragma once

#include <memory>
#include <span>

#include "cli/options/options.h"
#include "cli/terminal/terminal.h"

namespace cleave {

class Command {
 public:
  virtual ~Command() = default;
  // Does the work. Everything, errors included, is printed when it returns.
  virtual ExitCode run() = 0;
};

// What makes the command of what was given, which must outlive it. Touches no file; throws OptionRefused.
struct CommandEntry {
  Commands command;
  std::unique_ptr<Command> (*make)(const Given& given);
};

// The commands that this program is built with: a row for each, and all as one set.
std::span<const CommandEntry> commands();
Commands built_commands();

std::unique_ptr<Command> make_split_command(const Given& given);
std::unique_ptr<Command> make_preview_command(const Given& given);
std::unique_ptr<Command> make_stage_command(const Given& given);
std::unique_ptr<Command> make_draw_command(const Given& given);
std::unique_ptr<Command> make_advise_command(const Given& given);
std::unique_ptr<Command> make_check_command(const Given& given);
std::unique_ptr<Command> make_diff_command(const Given& given);
std::unique_ptr<Command> make_explain_command(const Given& given);
std::unique_ptr<Command> make_convert_command(const Given& given);
std::unique_ptr<Command> make_cut_command(const Given& given);
std::unique_ptr<Command> make_tune_command(const Given& given);
std::unique_ptr<Command> make_inspect_command(const Given& given);
std::unique_ptr<Command> make_lists_command(const Given& given);
std::unique_ptr<Command> make_run_command(const Given& given);
std::unique_ptr<Command> make_help_command(const Given& given);

}  // namespace cleave
