// A command of the tool: one file each, <name>.cc; commands.cc has the table of them.
#pragma once

#include <memory>
#include <span>

#include "cli/terminal/terminal.h"

namespace CLI {
class App;
}

namespace cleave {

class Command {
 public:
  virtual ~Command() = default;
  // Declares options and arguments, bound to members. Touches no file.
  virtual void add_options(CLI::App& app) = 0;
  // Does the work. Everything, errors included, is printed when it returns.
  virtual ExitCode run() = 0;
};

struct CommandEntry {
  const char* name;
  const char* help;   // one line
  const char* group;  // its heading in help: what the user wants to do
  std::unique_ptr<Command> (*make)();
};

// All commands, in the order of help.
std::span<const CommandEntry> commands();

std::unique_ptr<Command> make_split_command();
std::unique_ptr<Command> make_preview_command();
std::unique_ptr<Command> make_stage_command();
std::unique_ptr<Command> make_draw_command();
std::unique_ptr<Command> make_advise_command();
std::unique_ptr<Command> make_check_command();
std::unique_ptr<Command> make_diff_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_convert_command();
std::unique_ptr<Command> make_cut_command();
std::unique_ptr<Command> make_tune_command();
std::unique_ptr<Command> make_inspect_command();
std::unique_ptr<Command> make_lists_command();
std::unique_ptr<Command> make_help_command();

}  // namespace cleave
