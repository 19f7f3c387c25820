#include "cli/shell/shell_files.h"

#include <array>
#include <span>
#include <sstream>
#include <utility>

namespace cleave {
namespace {

OptionEntry entry_of(const Option& option, Commands command) {
  OptionEntry entry;
  for (const std::string_view name : split_names(option.names)) entry.names.emplace_back(name);
  entry.is_argument = option.is_argument();
  entry.help = option.help;
  entry.is_required = (option.more.required & command) != 0;
  if (option.is_flag() || entry.is_argument) return entry;
  const bool is_one_of_words = option.value_text().starts_with('{');
  if (!is_one_of_words) entry.value = option.value;
  for (const std::string_view word : option.words()) {
    if (is_one_of_words) entry.choices.emplace_back(word);
  }
  return entry;
}

CommandTable table_of(Commands command, std::string_view name, std::string_view help,
                      Commands built) {
  CommandTable table{std::string(name), std::string(help), {}};
  for (const Option& option : option_table()) {
    const bool is_built = option.more.shelf == 0 || (option.more.shelf & built) != 0;
    if ((option.in & command) != 0 && is_built) table.options.push_back(entry_of(option, command));
  }
  return table;
}

}  // namespace

std::vector<CommandTable> option_tables(Commands built) {
  std::vector<CommandTable> tables{table_of(of::program, "cleave", kProgramHelp, built)};
  for (const CommandRow& row : command_rows()) {
    if ((row.command & built) != 0) {
      tables.push_back(table_of(row.command, row.name, row.help, built));
    }
  }
  return tables;
}

namespace {

std::string joined(const std::vector<std::string>& items, std::string_view between) {
  std::string text;
  for (const std::string& item : items) {
    if (!text.empty()) text += between;
    text += item;
  }
  return text;
}

// In single quotes, for all three shells.
std::string quoted_for_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::span<const CommandTable> commands_of(const std::vector<CommandTable>& tables) {
  return std::span(tables).subspan(1);
}

// ---- bash ----

// Every name of every option, of one command.
std::string option_words(const CommandTable& table) {
  std::vector<std::string> words;
  for (const OptionEntry& option : table.options) {
    if (!option.is_argument) words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return joined(words, " ");
}

void add_bash_values(const CommandTable& table, std::string& script) {
  for (const OptionEntry& option : table.options) {
    if (!option.takes_value()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) {
      patterns.push_back("'" + table.name + " " + name + "'");
    }
    script += "    " + joined(patterns, "|") + ")\n";
    script += option.choices.empty() ? "      return ;;\n"
                                     : "      COMPREPLY=($(compgen -W " +
                                           quoted_for_shell(joined(option.choices, " ")) +
                                           " -- \"$word\"))\n" + "      return ;;\n";
  }
}

std::string bash_script(const std::vector<CommandTable>& tables) {
  std::vector<std::string> names;
  for (const CommandTable& table : commands_of(tables)) names.push_back(table.name);
  std::string script =
      "# bash completion for cleave\n"
      "_cleave() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local command= words= i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case \"${command:-cleave} $before\" in\n";
  for (const CommandTable& table : tables) add_bash_values(table, script);
  script +=
      "  esac\n"
      "  if [[ -n $command && $word != -* ]]; then return; fi\n"
      "  case $command in\n"
      "    '') words=" +
      quoted_for_shell(joined(names, " ") + " " + option_words(tables.front())) + " ;;\n";
  for (const CommandTable& table : commands_of(tables)) {
    script += "    " + table.name + ") words=" + quoted_for_shell(option_words(table)) + " ;;\n";
  }
  script +=
      "    *) return ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "}\n"
      "complete -o default -F _cleave cleave\n";
  return script;
}

// ---- zsh ----

// Brackets and colons separate the parts of a specification.
std::string zsh_help(std::string_view help) {
  std::string text;
  for (const char c : help) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string zsh_value(const OptionEntry& option) {
  if (!option.takes_value()) return {};
  if (option.choices.empty()) return ":" + zsh_help(option.value) + ":_files";
  return ":value:(" + joined(option.choices, " ") + ")";
}

void add_zsh_options(const CommandTable& table, std::string& script) {
  script += "_arguments";
  for (const OptionEntry& option : table.options) {
    if (option.is_argument) continue;
    for (const std::string& name : option.names) {
      script += " \\\n        " + quoted_for_shell("*" + name + "[" + zsh_help(option.help) + "]" +
                                                   zsh_value(option));
    }
  }
}

std::string zsh_script(const std::vector<CommandTable>& tables) {
  std::string script =
      "#compdef cleave\n"
      "_cleave() {\n"
      "  local -a commands=(\n";
  for (const CommandTable& table : commands_of(tables)) {
    script += "    " + quoted_for_shell(table.name + ":" + zsh_help(table.help)) + "\n";
  }
  script +=
      "  )\n"
      "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  case $words[2] in\n";
  for (const CommandTable& table : commands_of(tables)) {
    script += "    " + table.name + ")\n      shift words; (( CURRENT-- ))\n      ";
    add_zsh_options(table, script);
    script += " \\\n        '*:file:_files' ;;\n";
  }
  script += "    *)\n      ";
  add_zsh_options(tables.front(), script);
  script +=
      " ;;\n"
      "  esac\n"
      "}\n"
      "if [[ $funcstack[1] == _cleave ]]; then _cleave \"$@\"; else compdef _cleave cleave; fi\n";
  return script;
}

// ---- fish ----

void add_fish_options(const CommandTable& table, const std::string& when, std::string& script) {
  for (const OptionEntry& option : table.options) {
    if (option.is_argument) continue;
    script += "complete -c cleave -n " + when;
    for (const std::string& name : option.names) {
      script += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    script += " -d " + quoted_for_shell(option.help);
    if (!option.choices.empty()) {
      script += " -x -a " + quoted_for_shell(joined(option.choices, " "));
    } else if (option.takes_value()) {
      script += " -r";
    }
    script += "\n";
  }
}

std::string fish_script(const std::vector<CommandTable>& tables) {
  std::string script = "# fish completion for cleave\n";
  for (const CommandTable& table : commands_of(tables)) {
    script += "complete -c cleave -n __fish_use_subcommand -f -a " + table.name + " -d " +
              quoted_for_shell(table.help) + "\n";
  }
  add_fish_options(tables.front(), "__fish_use_subcommand", script);
  for (const CommandTable& table : commands_of(tables)) {
    add_fish_options(table, "'__fish_seen_subcommand_from " + table.name + "'", script);
  }
  return script;
}

}  // namespace

std::optional<Shell> shell_named(std::string_view name) {
  if (name == "bash") return Shell::bash;
  if (name == "zsh") return Shell::zsh;
  if (name == "fish") return Shell::fish;
  return std::nullopt;
}

std::string completion_script(Shell shell, const std::vector<CommandTable>& tables) {
  switch (shell) {
    case Shell::bash:
      return bash_script(tables);
    case Shell::zsh:
      return zsh_script(tables);
    case Shell::fish:
      return fish_script(tables);
  }
  return {};
}

namespace {

// Text for roff: escapes backslashes and dashes, and prevents accidental control lines.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  if (!escaped.empty() && (escaped.front() == '.' || escaped.front() == '\'')) {
    escaped.insert(0, "\\&");
  }
  return escaped;
}

// Where lines may be broken between choices.
constexpr const char* kChoiceEnd = "|\\:";

std::string value_of(const OptionEntry& option) {
  if (option.choices.empty()) return "\\fI" + roff(option.value) + "\\fR";
  std::string text;
  for (const std::string& choice : option.choices) {
    text += (text.empty() ? "" : kChoiceEnd) + roff(choice);
  }
  return text;
}

void add_option(const OptionEntry& option, std::string& page) {
  page += ".TP\n";
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ", ");
    names += (option.is_argument ? "\\fI" : "\\fB") + roff(name) + "\\fR";
  }
  if (option.takes_value()) names += " " + value_of(option);
  page += names + "\n" + roff(option.help) + (option.is_required ? " (required)" : "") + "\n";
}

void add_command(const CommandTable& table, std::string& page) {
  page += ".SS " + roff(table.name) + "\n" + roff(table.help) + ".\n";
  for (const OptionEntry& option : table.options) {
    if (option.names.front() != "-h") add_option(option, page);
  }
}

}  // namespace

std::string man_page(const std::vector<CommandTable>& tables, const std::string& version) {
  const CommandTable& program = tables.front();
  std::string page = ".TH CLEAVE 1 \"\" \"cleave " + roff(version) + "\" \"User Commands\"\n";
  page += ".ad l\n";  // a long list of choices cannot be adjusted on both sides
  page += ".SH NAME\ncleave \\- split machine\\-learning model graphs\n";
  page += ".SH SYNOPSIS\n.B cleave\n.I command\n.RI [ options ]\n";
  page += ".SH DESCRIPTION\n" + roff(program.help) + "\n";
  page += ".SH OPTIONS\n";
  for (const OptionEntry& option : program.options) add_option(option, page);
  page += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < tables.size(); ++i) add_command(tables[i], page);
  page += ".SH EXIT STATUS\n";
  static constexpr std::array<std::pair<const char*, const char*>, 8> kStatuses = {{
      {"0", "done"},
      {"1", "a check did not hold, or no stage assignment meets the constraints"},
      {"2", "wrong usage"},
      {"3", "the input is not valid or not readable"},
      {"4", "an output could not be written"},
      {"5", "an external program failed"},
      {"70", "a bug in cleave"},
      {"71", "out of memory"},
  }};
  for (const auto& [status, meaning] : kStatuses) {
    page += std::string(".TP\n.B ") + status + "\n" + roff(meaning) + "\n";
  }
  return page;
}

}  // namespace cleave
