#include "cli/shell/option_table.h"

#include <CLI/CLI.hpp>
#include <sstream>

namespace cleave {
namespace {

// "{reference,cpu,acc}" at the end of a type's name.
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> choices;
  const std::size_t open = type.find('{');
  const std::size_t close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return choices;
  std::istringstream items(type.substr(open + 1, close - open - 1));
  for (std::string item; std::getline(items, item, ',');) choices.push_back(item);
  return choices;
}

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  entry.is_argument = entry.names.empty();
  if (entry.is_argument) entry.names.push_back(option.get_name(true));
  entry.help = option.get_description();
  entry.is_required = option.get_required();
  const bool is_flag = option.get_items_expected_max() == 0;
  if (is_flag || entry.is_argument) return entry;
  const std::string type = option.get_type_name();
  entry.choices = choices_of(type);
  if (entry.choices.empty()) entry.value = type.empty() ? "VALUE" : type;
  return entry;
}

CommandTable table_of(const CLI::App& app) {
  CommandTable table{app.get_name(), app.get_description(), {}};
  for (const CLI::Option* option : app.get_options()) table.options.push_back(entry_of(*option));
  return table;
}

}  // namespace

std::vector<CommandTable> option_tables(const CLI::App& app) {
  std::vector<CommandTable> tables{table_of(app)};
  for (const CLI::App* command : app.get_subcommands({})) tables.push_back(table_of(*command));
  return tables;
}

}  // namespace cleave
