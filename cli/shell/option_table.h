// The table of commands and options, taken from CLI11: what completions and the man page are made
// from, so that they never differ from what is parsed.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace cleave {

struct OptionEntry {
  std::vector<std::string> names;    // "-s", "--support"; of an argument its name alone: "MODEL"
  std::string value;                 // what it takes: "LIST"; empty for a flag, and for choices
  std::vector<std::string> choices;  // the values there are, when there are few
  std::string help;
  bool is_argument = false;  // no option
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
