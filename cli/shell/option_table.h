// The table of commands and options, taken from CLI11. Completions and the man page are made from
// it, so that they never differ from the parser.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cleave {

struct OptionEntry {
  std::vector<std::string> names;    // "-s", "--support"; for an argument its name: "MODEL"
  std::string value;                 // what it takes: "LIST"; empty for a flag, and with choices
  std::vector<std::string> choices;  // the valid values, if there are few
  std::string help;
  bool is_argument = false;  // not an option
  bool is_required = false;

  bool takes_value() const { return !value.empty() || !choices.empty(); }
};

struct CommandTable {
  std::string name;  // "cleave" for the program itself
  std::string help;
  std::vector<OptionEntry> options;  // as declared
};

// The program first, then its commands, in the order of help.
std::vector<CommandTable> option_tables(const CLI::App& app);

}  // namespace cleave
