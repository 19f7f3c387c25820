// Texts for the shell: help, completions and the man page, from the table of all options.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/lists/options.h"

namespace cleave {

// The table of commands and options: see formats/lists/options.h. Completions and the man page are made from it.
struct CommandTable {
  Commands command = of::program;
  std::string name;  // "cleave" for the program itself
  std::string help;
  std::string_view group = {};              // its heading in help
  std::string_view examples = {};           // a line each
  std::vector<const Option*> options = {};  // in the order of help
};

// The program first, then its commands, in the order of help.
// `built`: those that this program has.
std::vector<CommandTable> option_tables(Commands built);

// What `cleave --help` prints of the program (the first table): its commands in groups, its options.
std::string program_help(const std::vector<CommandTable>& tables);
// `cleave COMMAND -h`: one screen of 24 lines, with examples and the options that most use.
std::string brief_help(const CommandTable& table);
// `cleave COMMAND --help`: all options, in groups.
std::string full_help(const CommandTable& table);

// Command-line completion for bash, zsh and fish: commands, options, the values of options that
// take one of a few words, and otherwise files.
enum class Shell { bash, zsh, fish };

// "bash", "zsh", "fish".
std::optional<Shell> shell_named(std::string_view name);

// A script for the shell, made from the tables; the first one is the program's.
std::string completion_script(Shell shell, const std::vector<CommandTable>& tables);

// The man page, made from the same tables as the parser.

// cleave(1) in roff's man macros; the first table is the program's.
std::string man_page(const std::vector<CommandTable>& tables, const std::string& version);

}  // namespace cleave
